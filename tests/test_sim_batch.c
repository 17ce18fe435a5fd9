/* xolsim simulate --batch, as a program at the other end of two pipes sees it. */
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_sim.h"

/* ---- a run of the program --------------------------------------------------------------------------- */

static void exec_batch(const char *options, FILE *in, FILE *out)
{
    enum { ARGUMENTS = 16 };
    char words[256], *argv[ARGUMENTS] = {"xolsim", "simulate", "--batch"}, *save = NULL;
    size_t count = 3;
    snprintf(words, sizeof words, "%s", options);
    for (char *w = strtok_r(words, " ", &save); w && count + 1 < ARGUMENTS; w = strtok_r(NULL, " ", &save))
        argv[count++] = w;
    dup2(fileno(in), STDIN_FILENO);
    dup2(fileno(out), STDOUT_FILENO);
    fclose(stderr);
    execv(XOLSIM_PROGRAM, argv);
    _exit(127);
}

/* The answers to requests (free them), and the exit code. */
static char *answers(const char *requests, const char *options, int *status)
{
    char *text = NULL;
    size_t size = 0;
    int code;
    FILE *in = tmpfile(), *out = tmpfile();
    ck_assert(in && out && fputs(requests, in) >= 0 && fflush(in) == 0);
    rewind(in);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) exec_batch(options, in, out);
    ck_assert_int_eq(waitpid(child, &code, 0), child);
    *status = WIFEXITED(code) ? WEXITSTATUS(code) : -1;
    rewind(out);
    if (getdelim(&text, &size, EOF, out) < 0) *(text = realloc(text, 1)) = '\0';
    fclose(in);
    fclose(out);
    return text;
}

/* ---- fixtures/cli/simulate.tsv: OPTIONS REQUEST ANSWER, each line a run and all of them one ------------ */

static void check_alone(const row *r, void *arg)
{
    int status;
    (void)arg;
    ck_assert_msg(r->count == 3, "%s:%u: not three fields", r->path, r->line);
    const char *options = strcmp(r->field[0], "-") == 0 ? "" : r->field[0];
    bool malformed = strncmp(r->field[2], "{\"error\"", 8) == 0;
    char *text = answers(r->field[1], options, &status);
    text[strcspn(text, "\n")] = '\0';
    if (strcmp(text, r->field[2]) != 0 || status != (malformed ? 3 : 0))
        wrong("%s:%u: %s\n  is   %s, exit %d\n  want %s", r->path, r->line, r->field[1], text, status,
              r->field[2]);
    free(text);
}

START_TEST(lines)
{
    each_row("fixtures/cli/simulate.tsv", check_alone, NULL);
    all_right();
}
END_TEST

/* ---- order, and that a bad line is alone in being bad ---------------------------------------------------
 */

START_TEST(order_and_errors)
{
    enum { LINES = 3000 };
    char *requests = NULL, *save = NULL;
    size_t size;
    int status;
    FILE *f = open_memstream(&requests, &size);
    for (unsigned i = 0; i < LINES; i++)
        if (i % 7 == 3)
            fprintf(f, "%s\n", i % 2 ? "{\"word\":" : "");
        else
            fprintf(f, "{\"word\":\"0xd503201f\",\"pc\":\"0x%x\"}\n", i * 4);
    fclose(f);
    requests[size - 1] = '\0'; /* the last line has no end */
    char *text = answers(requests, "", &status), *line = strtok_r(text, "\n", &save);
    for (unsigned i = 0; i < LINES; i++, line = strtok_r(NULL, "\n", &save)) {
        char want[128], number[32];
        ck_assert_msg(line != NULL, "%u answers", i);
        snprintf(want, sizeof want, "{\"status\":\"ok\",\"pc\":\"0x%x\",\"regs\":{},\"mem\":[]}", i * 4 + 4);
        snprintf(number, sizeof number, "\"line\":%u}", i + 1);
        if (i % 7 == 3)
            ck_assert_msg(strncmp(line, "{\"error\":", 9) == 0 && strstr(line, number), "%u: %s", i, line);
        else
            ck_assert_str_eq(line, want);
    }
    ck_assert_ptr_null(line);
    ck_assert_int_eq(status, 3);
    free(text);
    free(requests);
}
END_TEST

/* A question is answered before the next one is asked. */
START_TEST(conversation)
{
    int to[2], from[2], status;
    char line[256];
    ck_assert(pipe(to) == 0 && pipe(from) == 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        execl(XOLSIM_PROGRAM, "xolsim", "simulate", "--batch", (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    FILE *in = fdopen(from[0], "r");
    for (unsigned i = 0; i < 3; i++) {
        const char *question = "{\"word\":\"0x14000001\",\"pc\":\"0x100\"}\n";
        ck_assert_int_eq(write(to[1], question, strlen(question)), (ssize_t)strlen(question));
        ck_assert_ptr_nonnull(fgets(line, sizeof line, in));
        ck_assert_str_eq(line, "{\"status\":\"ok\",\"pc\":\"0x104\",\"regs\":{},\"mem\":[]}\n");
    }
    close(to[1]);
    ck_assert_ptr_null(fgets(line, sizeof line, in));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    fclose(in);
}
END_TEST

/* ---- random requests against direct calls -----------------------------------------------------------------
 */

typedef struct random_run {
    rng r;
    FILE *requests, *want;
    unsigned count;
} random_run;

/* The state of a request, in both forms. */
static void random_state(random_run *run, sim_case *c, const char *target)
{
    char name[8];
    bool narrow = c->machine->xlen == 32;
    uint64_t pc = rng_value(&run->r) & (narrow ? 0xfffffffe : ~UINT64_C(3));
    fprintf(run->requests,
            "{\"target\":\"%s\",\"word\":\"0x%08" PRIx32 "\",\"pc\":\"0x%" PRIx64 "\",\"regs\":{", target,
            c->insn.word, pc);
    sim_case_set(c, "pc", pc);
    for (unsigned i = 1; i < 30; i++) {
        uint64_t value = narrow ? (uint32_t)rng_value(&run->r) : rng_value(&run->r);
        snprintf(name, sizeof name, "x%u", i);
        fprintf(run->requests, "%s\"%s\":\"0x%" PRIx64 "\"", i > 1 ? "," : "", name, value);
        sim_case_set(c, name, value);
    }
    if (c->machine->is_arm) {
        uint64_t flags = rng_next(&run->r) & 0xf0000000;
        fprintf(run->requests, ",\"sp\":\"0x8010\",\"nzcv\":\"0x%" PRIx64 "\"", flags);
        sim_case_set(c, "sp", 0x8010);
        sim_case_set(c, "nzcv", flags);
    }
    fputs("},\"mem\":[{\"addr\":\"0x7f00\",\"bytes\":\"", run->requests);
    for (unsigned i = 0; i < 512; i++)
        fprintf(run->requests, "%02x", c->memory.piece[0].bytes[i] = (uint8_t)rng_next(&run->r));
    fputs("\"}]}\n", run->requests);
}

static void add_request(const sim_machine *m, const xs_entry *entry, void *arg)
{
    static sim_case c;
    static uint8_t memory[512];
    random_run *run = arg;
    const char *target = target_name(m->decoder);
    for (unsigned i = 0; i < 12; i++) {
        char text[SIM_TEXT];
        sim_case_init(&c, m, rng_word(&run->r, entry->rule));
        c.memory.piece[c.memory.pieces++] = (sim_piece){0x7f00, sizeof memory, memory};
        random_state(run, &c, target);
        sim_case_run(&c);
        sim_case_text(&c, text);
        fprintf(run->want, "%s\n", text);
        run->count++;
    }
}

static const char *string_of(json_object *o, const char *key)
{
    json_object *value = json_object_object_get(o, key);
    ck_assert_msg(value != NULL, "no %s in %s", key, json_object_to_json_string(o));
    return json_object_get_string(value);
}

static size_t put_fault(json_object *answer, char *text)
{
    json_object *fault = json_object_object_get(answer, "fault");
    const char *status = string_of(answer, "status");
    if (strcmp(status, "ok") == 0) return 0;
    if (strcmp(status, "no-handler") == 0)
        return (size_t)snprintf(text, SIM_TEXT, " %s:%s", status, string_of(answer, "class"));
    if (!fault) return (size_t)snprintf(text, SIM_TEXT, " %s", status);
    const char *size = string_of(fault, "size");
    bool access = strcmp(size, "0") != 0;
    return (size_t)snprintf(text, SIM_TEXT, " %s@%s%s%s", status, string_of(fault, "addr"), access ? "/" : "",
                            access ? size : "");
}

/* An answer in the form of sim_case_text. */
static void text_of_answer(json_object *answer, char text[SIM_TEXT])
{
    size_t at = put_fault(answer, text);
    at += (size_t)snprintf(text + at, SIM_TEXT - at, " pc=%s", string_of(answer, "pc"));
    json_object_object_foreach(json_object_object_get(answer, "regs"), key, value) at +=
        (size_t)snprintf(text + at, SIM_TEXT - at, " %s=%s", key, json_object_get_string(value));
    if (json_object_object_get(answer, "btype"))
        at += (size_t)snprintf(text + at, SIM_TEXT - at, " btype=%s", string_of(answer, "btype"));
    json_object *mem = json_object_object_get(answer, "mem");
    for (size_t i = 0; i < json_object_array_length(mem); i++) {
        json_object *piece = json_object_array_get_idx(mem, i);
        at += (size_t)snprintf(text + at, SIM_TEXT - at, " [%s]=%s", string_of(piece, "addr"),
                               string_of(piece, "bytes"));
    }
}

static void compare_answers(char *got, char *want, unsigned count)
{
    char *save = NULL, *save_want = NULL, *line = strtok_r(got, "\n", &save);
    for (unsigned i = 0; i < count; i++, line = strtok_r(NULL, "\n", &save)) {
        char text[SIM_TEXT];
        const char *wanted = strtok_r(want, "\n", &save_want);
        want = NULL;
        json_object *answer = line ? json_tokener_parse(line) : NULL;
        ck_assert_msg(answer != NULL, "answer %u: %s", i, line ? line : "none");
        text_of_answer(answer, text);
        if (strcmp(text, wanted) != 0) wrong("request %u:\n  is  %s\n  want%s", i + 1, text, wanted);
        json_object_put(answer);
    }
    ck_assert_ptr_null(line);
}

START_TEST(equals_direct_calls)
{
    static const char *const targets[] = {"arm64/7.3/kprobe", "arm64/stp-2024", "arm64/ideal",
                                          "riscv64/7.3",      "riscv32/7.3",    "riscv64/ideal"};
    char *requests = NULL, *want = NULL;
    size_t size, want_size;
    int status;
    random_run run = {rng_new("batch"), open_memstream(&requests, &size), open_memstream(&want, &want_size),
                      0};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        each_simulated(machine_of(targets[i]), add_request, &run);
    fclose(run.requests);
    fclose(run.want);
    ck_assert_uint_gt(run.count, 1000);
    char *got = answers(requests, "", &status);
    ck_assert_int_eq(status, 0);
    compare_answers(got, want, run.count);
    free(got);
    free(requests);
    free(want);
    all_right();
}
END_TEST

void add_sim_batch(Suite *s)
{
    TCase *t = tcase_create("batch");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, lines);
    tcase_add_test(t, order_and_errors);
    tcase_add_test(t, conversation);
    tcase_add_test(t, equals_direct_calls);
    suite_add_tcase(s, t);
}
