/* The program as its users see it: what it prints and how it exits. A line of fixtures/cli/cases.tsv is
 * a run; its whole output is fixtures/cli/NAME.txt, rewritten by make golden. Instruction text is the
 * table's own in these runs, so that they do not depend on Capstone's version. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests.h"

#ifndef XOLSIM_PROGRAM
#error "XOLSIM_PROGRAM is the path of the program under test"
#endif

enum { OUTPUT_MAX = 1 << 20 };

/* Run a shell command; its output goes to *text (free it). Returns its exit code, or -1 for a crash. */
static int run(const char *command, char **text)
{
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    *text = calloc(1, OUTPUT_MAX);
    ck_assert_ptr_nonnull(*text);
    size_t got = fread(*text, 1, OUTPUT_MAX - 1, f);
    (*text)[got] = '\0';
    while (fgetc(f) != EOF) continue;
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* NAME STATUS ARGUMENTS [INPUT]; standard error comes after standard output. */
static void check_case(const row *r, void *arg)
{
    (void)arg;
    char command[2048], path[256], *text;
    ck_assert_msg(r->count == 3 || r->count == 4, "%s:%u: 3 or 4 fields", r->path, r->line);
    snprintf(command, sizeof command, "printf '%%b' '%s' | { " XOLSIM_PROGRAM " %s; s=$?; exec >&2; exit $s; } 2>&1",
             r->count == 4 ? r->field[3] : "", r->field[2]);
    int status = run(command, &text);
    if (status != atoi(r->field[1]))
        wrong("%s:%u: %s: exit %d, not %s\n%s", r->path, r->line, r->field[2], status, r->field[1], text);
    size_t size = strlen(text) + strlen(r->field[2]) + 64;
    char *transcript = malloc(size);
    ck_assert_ptr_nonnull(transcript);
    snprintf(transcript, size, "$ xolsim %s\n%s[exit %d]\n", r->field[2], text, status);
    snprintf(path, sizeof path, "fixtures/cli/%s.txt", r->field[0]);
    golden(path, transcript);
    free(transcript);
    free(text);
}

START_TEST(transcripts)
{
    each_row("fixtures/cli/cases.tsv", check_case, NULL);
    all_right();
}
END_TEST

/* Runs whose output depends on Capstone's version or is large: only the exit code, and that a line of
 * the output has this in it. */
static const struct {
    const char *arguments;
    int status;
    const char *contains;
} checks[] = {
    {"--version", 0, "Capstone"},
    {"--help", 0, "usage: xolsim classify"},
    {"classify --help", 0, "usage: xolsim classify"},
    {"classify fixtures/programs/hello-arm64", 0, "function entries"},
    {"classify fixtures/programs/hello-arm64 --color always", 0, "\033[33mslot"},
    {"classify fixtures/programs/hello-arm64 --format json", 0, "\"stp_x29_x30\":3"},
    {"explain a9bf7bfd", 0, "stp x29, x30, [sp, #-0x10]!"},
    {"table dump arm64/7.3", 0, "d503201f d503201f simulate simulate_nop"},
    {"table dump riscv32/7.3", 0, "2001 2001 simulate simulate_c_jal"},
    {"table show arm64/ideal", 0, "ldr.lit.sd"},
    {"table list", 0, "stp-2024"},
    {"classify --words d503201f -o /nonexistent/x", 3, "cannot be written"},
    {"classify --words d503201f > /dev/full", 4, "could not be written"},
};

START_TEST(exit_codes)
{
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        char command[512], *text;
        snprintf(command, sizeof command, "{ " XOLSIM_PROGRAM " %s; } 2>&1", checks[i].arguments);
        int status = run(command, &text);
        if (status != checks[i].status || !strstr(text, checks[i].contains))
            wrong("xolsim %s: exit %d, not %d, or no '%s' in\n%.2000s", checks[i].arguments, status,
                  checks[i].status, checks[i].contains, text);
        free(text);
    }
    all_right();
}
END_TEST

/* Several files at once print what one after the other does. */
START_TEST(jobs)
{
    static const char *const formats[] = {"text", "json", "jsonl", "tsv"};
    for (size_t i = 0; i < 4; i++) {
        char command[512], *one, *many;
        const char *files = "fixtures/programs/hello-arm64 fixtures/programs/tiny-riscv32 fixtures/programs/hello-riscv64";
        snprintf(command, sizeof command, XOLSIM_PROGRAM " classify --jobs 1 --format %s %s", formats[i], files);
        ck_assert_int_eq(run(command, &one), 0);
        snprintf(command, sizeof command, XOLSIM_PROGRAM " classify --jobs 3 --format %s %s", formats[i], files);
        ck_assert_int_eq(run(command, &many), 0);
        ck_assert_str_eq(one, many);
        free(one);
        free(many);
    }
}
END_TEST

Suite *cli_suite(void)
{
    Suite *s = suite_create("cli");
    TCase *t = tcase_create("program");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, transcripts);
    tcase_add_test(t, exit_codes);
    tcase_add_test(t, jobs);
    suite_add_tcase(s, t);
    return s;
}
