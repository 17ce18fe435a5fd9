/* fixtures/ISA/simulate.txt: one line a case, what it begins with -> what it changes. The notation is at the
 * top of the files. With XOLSIM_GOLDEN=1 the right-hand sides are written anew. */
#include <stdlib.h>
#include <string.h>

#include "test_sim.h"

/* "[0x1000]=0011" */
static bool set_memory(sim_case *c, char *text, sim_why *why)
{
    uint64_t addr;
    char *close = strstr(text, "]=");
    if (!close) return sim_refuse(why, "'%s' is not [ADDR]=HEX", text);
    *close = '\0';
    if (!sim_number(text + 1, &addr)) return sim_refuse(why, "'%s' is no address", text + 1);
    return sim_memory_add(&c->memory, addr, close + 2, why);
}

static bool set_token(sim_case *c, char *token, sim_why *why)
{
    if (*token == '[') return set_memory(c, token, why);
    char *equals = strchr(token, '=');
    if (!equals) return sim_state_set(&c->before, token, "1", why);
    *equals = '\0';
    if (strcmp(token, "quirk") == 0) return sim_quirk(c->machine, &c->insn, equals + 1, &c->quirks, why);
    return sim_state_set(&c->before, token, equals + 1, why);
}

/* TARGET WORD TOKEN... */
static void run_case(const char *path, unsigned line, char *left, char text[SIM_TEXT])
{
    static sim_case c;
    char *save = NULL, *target = strtok_r(left, " ", &save), *word = strtok_r(NULL, " ", &save);
    sim_why why;
    ck_assert_msg(word != NULL, "%s:%u: no word", path, line);
    sim_case_init(&c, machine_of(target), word_named(word).word);
    for (char *t = strtok_r(NULL, " ", &save); t; t = strtok_r(NULL, " ", &save))
        ck_assert_msg(set_token(&c, t, &why), "%s:%u: %s", path, line, why.text);
    sim_case_run(&c);
    sim_case_text(&c, text);
}

/* A line as it should be: its left side and remark, and the answer between them. */
static void check_line(const char *path, unsigned number, const char *line, FILE *out)
{
    char left[1024], right[SIM_TEXT], got[SIM_TEXT];
    const char *arrow = strstr(line, " ->"), *remark = strstr(line, " ; ");
    if (*line == '#' || *line == '\0') {
        fprintf(out, "%s\n", line);
        return;
    }
    ck_assert_msg(arrow && (!remark || remark > arrow), "%s:%u: no '->', or a remark before it", path,
                  number);
    int right_len = (int)(remark ? remark - arrow : (long)strlen(arrow)) - 3;
    snprintf(left, sizeof left, "%.*s", (int)(arrow - line), line);
    snprintf(right, sizeof right, "%.*s", right_len, arrow + 3);
    fprintf(out, "%s ->", left);
    run_case(path, number, left, got);
    fprintf(out, "%s%s\n", got, remark ? remark : "");
    if (strcmp(got, right) != 0 && !getenv("XOLSIM_GOLDEN"))
        wrong("%s:%u: %.*s ->\n  is %s\n  want%s", path, number, (int)(arrow - line), line, got, right);
}

START_TEST(cases)
{
    static const char *const paths[] = {"fixtures/arm64/simulate.txt", "fixtures/riscv/simulate.txt"};
    size_t len, size;
    unsigned number = 0;
    char *text = read_file(paths[_i], &len), *all = NULL, *next;
    FILE *out = open_memstream(&all, &size);
    ck_assert_ptr_nonnull(out);
    for (char *line = text; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = '\0';
        check_line(paths[_i], ++number, line, out);
    }
    ck_assert_int_eq(fclose(out), 0);
    golden(paths[_i], all);
    free(all);
    free(text);
    all_right();
}
END_TEST

void add_sim_cases(Suite *s)
{
    TCase *t = tcase_create("cases");
    tcase_add_loop_test(t, cases, 0, 2);
    suite_add_tcase(s, t);
}
