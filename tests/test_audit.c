/* The audit: what it must find, what it must not, that nothing is left out, and that its proofs hold. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../cli/audit.h"
#include "generate.h"
#include "tests.h"

/* ---- an audit and its end ------------------------------------------------------------------------ */

static view v;
static audit a;
static const options plain = {.table_text = true, .cls = -1, .sites = SITES_ALL};

static void open_audit(const char *target, bool prove)
{
    ck_assert_int_eq(view_open_target(&v, &plain, target), STATUS_OK);
    ck_assert(audit_find(&a, &v, audit_side_of(&v)));
    audit_kernels(&a);
    if (prove) ck_assert_int_eq(audit_prove(&a, &plain, false), STATUS_OK);
}

static void close_audit(void)
{
    audit_close(&a);
    view_close(&v);
}

/* ---- judged facts -------------------------------------------------------------------------------- */

/* A finding that there must be: how many encodings, and what became of it in Unicorn. */
static const struct {
    const char *target, *severity, *rule, *kernels;
    uint64_t encodings;
    audit_verdict verdict;
} judged[] = {
    {"arm64/7.1/uprobe", "corrupts", "ldr.lit.sd", "4.10..7.3, 5.10.y, 6.1.y, 6.12.y, 7.3.y", 2u << 24,
     PROOF_DIFFERS},
    {"arm64/7.1/uprobe", "corrupts", "ldr.lit.q", "4.10..7.3, 5.10.y, 6.1.y, 6.12.y, 7.3.y", 1u << 24,
     PROOF_DIFFERS},
    {"arm64/7.1/kprobe", "corrupts", "ldr.lit.sd", "4.10..7.3, 5.10.y, 6.1.y, 6.12.y, 7.3.y", 2u << 24,
     PROOF_DIFFERS},
    {"arm64/7.1/uprobe", "corrupts", "cb.imm", "4.10..7.3, 5.10.y, 6.1.y, 6.12.y, 7.3.y", 12u << 20,
     PROOF_NOT_RUN},
    {"arm64/7.1/uprobe", "corrupts", "retasppc", "4.10..7.3, 5.10.y, 6.1.y, 6.12.y, 7.3.y", 1u << 17,
     PROOF_NOT_RUN},
    {"arm64/7.1/uprobe", "needlessly-refused", "casp", "4.10..7.3, 5.10.y, 6.1.y, 6.12.y, 7.3.y", 1u << 18,
     PROOF_EQUAL},
    {"arm64/7.1/uprobe", "needlessly-refused", "cfinv", "4.10..7.3, 5.10.y, 6.1.y, 6.12.y, 7.3.y", 1,
     PROOF_EQUAL},
    {"arm64/6.12/uprobe", "corrupts", "bc.cond", "4.10..7.0, 5.10.y, 6.1.y", 1u << 23, PROOF_DIFFERS},
    {"arm64/6.12/uprobe", "unsafe", "mops", "4.10..6.12, 5.10.y, 6.1.y", 1u << 24, PROOF_NOT_RUN},
    {"arm64/6.12/uprobe", "corrupts", "ldr.lit.q", "4.10..7.3, 5.10.y, 6.1.y, 6.12.y, 7.3.y", 1u << 24,
     PROOF_DIFFERS},
    {"arm64/4.10/uprobe", "corrupts", "blra", "4.10..5.9", 1u << 12, PROOF_DIFFERS},
    {"riscv64/6.1/uprobe", "needlessly-refused", "c.mv", "5.12..6.1", 480, PROOF_EQUAL},
    {"riscv64/6.1/uprobe", "needlessly-refused", "c.add", "5.12..6.1", 480, PROOF_EQUAL},
    {"riscv64/6.1/uprobe", "needlessly-refused", "c.addiw", "5.12..6.2, 6.1.y", 2048, PROOF_EQUAL},
    {"riscv64/6.1/uprobe", "hangs", "auipc", "5.15..6.6", 1u << 20, PROOF_DIFFERS},
    {"riscv64/6.1/uprobe", "hangs", "beqi", "5.15..7.3, 6.1.y, 6.12.y, 7.2.y", 1u << 22, PROOF_NOT_RUN},
    {"riscv64/6.1/uprobe", "wrong-result", "jalr", "5.12..6.1", 31u << 12, PROOF_DIFFERS},
    {"riscv64/6.1/uprobe", "may-livelock", "lr", "5.12..7.3, 6.1.y, 6.12.y, 7.2.y", 1u << 15, PROOF_NOT_RUN},
    {"riscv64+zcmp+zcmt/7.3/uprobe", "corrupts", "cm.jt", "5.12..7.3, 6.1.y, 6.12.y, 7.2.y", 256,
     PROOF_NOT_RUN},
    {"riscv64+zcmp+zcmt/7.3/uprobe", "corrupts", "cm.popret", "5.12..7.3, 6.1.y, 6.12.y, 7.2.y", 48,
     PROOF_NOT_RUN},
    {"arm64/stp-2024/uprobe", "wrong-result", "stp.push", "stp-2024", 128, PROOF_DIFFERS},
};

static const finding *find_named(const char *severity, const char *rule)
{
    for (size_t i = 0; i < a.count; i++)
        if (strcmp(a.findings[i].told->name, rule) == 0 &&
            strcmp(xs_hazard_name(a.findings[i].hazard), severity) == 0)
            return &a.findings[i];
    return NULL;
}

START_TEST(judged_facts)
{
    for (size_t i = 0; i < sizeof judged / sizeof *judged; i++) {
        if (i == 0 || strcmp(judged[i].target, judged[i - 1].target) != 0) {
            if (i) close_audit();
            open_audit(judged[i].target, true);
        }
        const finding *f = find_named(judged[i].severity, judged[i].rule);
        if (!f)
            wrong("%s: no finding %s %s", judged[i].target, judged[i].severity, judged[i].rule);
        else if (audit_encodings(f) != judged[i].encodings || f->proof.verdict != judged[i].verdict ||
                 strcmp(f->kernels, judged[i].kernels) != 0)
            wrong("%s %s: %llu words, %s, in %s", judged[i].target, judged[i].rule,
                  (unsigned long long)audit_encodings(f), audit_verdict_name(f->proof.verdict), f->kernels);
    }
    close_audit();
    all_right();
}
END_TEST

/* What a fix has taken away is gone, and ideal has nothing against itself. */
START_TEST(fixed_facts)
{
    open_audit("arm64/7.1/uprobe", false);
    ck_assert(!find_named("corrupts", "bc.cond") && !find_named("unsafe", "mops"));
    close_audit();
    open_audit("riscv64/6.6/uprobe", false);
    ck_assert(!find_named("needlessly-refused", "c.mv") && !find_named("wrong-result", "jalr"));
    close_audit();
    open_audit("arm64/ideal", true);
    ck_assert_uint_eq(a.count, 0);
    close_audit();
    open_audit("riscv32/ideal", true);
    ck_assert_uint_eq(a.count, 0);
    close_audit();
}
END_TEST

/* ---- the list of every major target ------------------------------------------------------------- */

static const char *const majors[] = {
    "arm64/6.1.y/uprobe",   "arm64/6.1.y/kprobe",    "arm64/6.12.y/uprobe",
    "arm64/6.12.y/kprobe",  "arm64/7.1/uprobe",      "arm64/7.1/kprobe",
    "arm64/7.3/uprobe",     "arm64/7.3/kprobe",      "riscv64/6.1.y/uprobe",
    "riscv64/6.1.y/kprobe", "riscv64/6.12.y/uprobe", "riscv64/6.12.y/kprobe",
    "riscv64/7.3/uprobe",   "riscv64/7.3/kprobe",    "riscv64+zcmp+zcmt/7.3/uprobe",
    "riscv32/7.3/uprobe",
};
enum { MAJORS = sizeof majors / sizeof *majors };

/* "corrupts ldr.lit.q by default: 16777216 words, 4.10..7.3: differs" */
static void print_finding(FILE *f, const finding *x)
{
    char where[256];
    audit_where(&a, x, where, sizeof where);
    fprintf(f, "%s %s by %s%s%s: %llu encodings%s%s, kernels %s: %s\n", xs_hazard_name(x->hazard),
            x->told->name, x->kernel.rule, x->quirk < 0 ? "" : ", bug ",
            x->quirk < 0 ? "" : xs_table_quirks(v.table, &(size_t){0})[x->quirk].name,
            (unsigned long long)audit_encodings(x), *where ? " where " : "", where, x->kernels,
            audit_verdict_name(x->proof.verdict));
}

static void print_list(FILE *f)
{
    fprintf(f, "# %s: findings of the audit; %llu words are in one\n", v.name, (unsigned long long)a.words);
    for (int i = 0; i < ACCOUNT_COUNT; i++)
        fprintf(f, "# %llu %s\n", (unsigned long long)a.account[i], audit_account_name((audit_account)i));
    for (size_t i = 0; i < a.count; i++)
        print_finding(f, &a.findings[i]);
}

START_TEST(lists)
{
    char path[128], *text;
    size_t len;
    open_audit(majors[_i], true);
    FILE *f = open_memstream(&text, &len);
    ck_assert_ptr_nonnull(f);
    print_list(f);
    fclose(f);
    snprintf(path, sizeof path, "fixtures/%s/audit-%s.txt", v.is_arm ? "arm64" : "riscv",
             v.is_arm ? majors[_i] + 6 : majors[_i]);
    for (char *c = strstr(path, "audit-"); *c; c++)
        if (*c == '/') *c = '-';
    golden(path, text);
    free(text);
    close_audit();
    all_right();
}
END_TEST

/* ---- nothing is left out ------------------------------------------------------------------------- */

static void check_sum(void)
{
    uint64_t sum = 0, distinct = 0;
    for (int i = 0; i < ACCOUNT_COUNT; i++)
        sum += a.account[i];
    for (size_t i = 0; i < a.count; i++)
        distinct += a.findings[i].words - a.findings[i].again;
    ck_assert_uint_eq(distinct, a.words);
    ck_assert_uint_eq(sum + distinct, UINT64_C(1) << 32);
}

/* A finding's cubes are apart and have as many words as it says. */
static void check_cubes(const finding *f)
{
    uint64_t words = 0;
    for (size_t i = 0; i < f->cubes.count; i++) {
        const cube *x = &f->cubes.list[i];
        words += UINT64_C(1) << (32 - __builtin_popcount(x->mask));
        for (size_t k = 0; k < i; k++)
            if (((x->value ^ f->cubes.list[k].value) & x->mask & f->cubes.list[k].mask) == 0)
                wrong("%s: %s has a word twice", v.name, f->told->name);
    }
    if (words != f->words) wrong("%s: %s has %llu words", v.name, f->told->name, (unsigned long long)words);
}

/* What a word's findings say is what the decoder says of it, and ideal of what is no finding. */
static void check_word(uint32_t word)
{
    size_t found[AUDIT_AT_ONCE], n = audit_of_word(&a, word, found);
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    unsigned hazards = 0;
    xs_insn insn;
    ck_assert_int_eq(xs_decode(v.decoder, bytes, 4, &insn), XS_OK);
    const xs_entry *right = entry_of(v.ideal, word);
    for (size_t i = 0; i < n; i++)
        hazards |= 1u << a.findings[found[i]].hazard;
    if (hazards != xs_hazards(v.decoder, &insn, right))
        wrong("%s: 0x%08x is in findings of hazards 0x%x, and has 0x%x", v.name, word, hazards,
              xs_hazards(v.decoder, &insn, right));
    xs_class kernel = insn.entry->decision->cls, ideal = right->decision->cls;
    xs_reason why = right->decision->reason;
    bool none = why == XS_WHY_UNALLOCATED || why == XS_WHY_TRAP, faster = why == XS_WHY_FASTER;
    bool harmless = kernel == ideal || none || (kernel == XS_SLOT && faster) ||
                    (kernel == XS_REJECT && ideal == XS_SIMULATE);
    if (!hazards && !harmless) wrong("%s: 0x%08x is in no finding", v.name, word);
}

/* Every rule of both sides, by words of its own. */
static void check_rules(const xs_decoder *d, rng *r)
{
    size_t count;
    const xs_entry *e = xs_decoder_entries(d, &count);
    xs_rng words = xs_rng_new(rng_next(r), "audit", 0);
    for (size_t i = 0; i + 1 < count; i++)
        for (int n = 0; n < 60; n++)
            check_word(xs_generate_from_rule(v.table, e[i].rule, &words));
}

START_TEST(words_add_up)
{
    rng r = rng_new("words_add_up");
    open_audit(majors[_i], false);
    check_sum();
    for (size_t i = 0; i < a.count; i++)
        check_cubes(&a.findings[i]);
    check_rules(v.decoder, &r);
    check_rules(v.ideal, &r);
    for (int n = 0; n < 20000; n++)
        check_word(rng_next(&r));
    close_audit();
    all_right();
}
END_TEST

/* Every kernel there is: the words add up, and there is a kernel that has each finding. */
START_TEST(all_kernels_add_up)
{
    static const char *const archs[] = {"arm64", "riscv64", "riscv32"};
    const xs_table *t = builtin(archs[_i]);
    for (size_t k = 0; xs_table_kernel(t, k); k++) {
        char target[64];
        const char *kernel = xs_table_kernel(t, k);
        snprintf(target, sizeof target, "%s/%s/uprobe", archs[_i], kernel);
        open_audit(target, false);
        check_sum();
        for (size_t i = 0; i < a.count; i++)
            if (!*a.findings[i].kernels) wrong("%s: no kernel has %s", target, a.findings[i].told->name);
        close_audit();
    }
    all_right();
}
END_TEST

/* ---- proofs --------------------------------------------------------------------------------------- */

static int run(const char *command, char *text, size_t size)
{
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    text[fread(text, 1, size - 1, f)] = '\0';
    while (fgetc(f) != EOF)
        continue;
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The command of a proof does it again: lockstep finds the difference, simulate does what the proof says. */
static void check_replay(const finding *f)
{
    char command[2400], text[4096];
    const char *replay = json_object_get_string(json_object_object_get(f->proof.run, "replay"));
    bool lockstep = strncmp(replay, "xolsim lockstep ", 16) == 0;
    ck_assert(strncmp(replay, "xolsim ", 7) == 0);
    snprintf(command, sizeof command, XOLSIM_PROGRAM "%s 2>&1", replay + 6);
    int status = run(command, text, sizeof text);
    json_object *ours = json_object_object_get(f->proof.run, "ours");
    const char *says = ours ? json_object_get_string(json_object_object_get(ours, "status")) : "differs";
    if ((lockstep ? status != 1 : status > 1) || !strstr(text, says))
        wrong("%s: exit %d, without '%s':\n%s", replay, status, says, text);
}

START_TEST(proofs_run_again)
{
    static const char *const of[] = {"arm64/6.12/uprobe", "arm64/4.10/kprobe", "arm64/stp-2024/uprobe",
                                     "riscv64/6.1/uprobe"};
    unsigned runs = 0;
    open_audit(of[_i], true);
    for (size_t i = 0; i < a.count; i++) {
        if (a.findings[i].proof.verdict != PROOF_DIFFERS) continue;
        check_replay(&a.findings[i]);
        runs++;
    }
    ck_assert_uint_ge(runs, 3);
    close_audit();
    all_right();
}
END_TEST

/* ---- another kernel side ---------------------------------------------------------------------------- */

/* A kernel that answers as its nearest target, but refuses what that has in the slot as `default`. */
static audit_side table_side;

static void refuse_default(audit_treatment *t)
{
    if (strcmp(t->rule, "default") == 0) t->cls = XS_REJECT;
}

static void other_treat(const void *self, uint32_t word, audit_treatment *out)
{
    table_side.treat(self, word, out);
    refuse_default(out);
}

typedef struct passing {
    audit_cube_fn *fn;
    void *arg;
} passing;

static bool pass(void *arg, const audit_treatment *kernel, size_t ideal, uint32_t mask, uint32_t value)
{
    const passing *p = arg;
    audit_treatment t = *kernel;
    refuse_default(&t);
    return p->fn(p->arg, &t, ideal, mask, value);
}

static bool other_walk(const void *self, const xs_decoder *ideal, audit_cube_fn *fn, void *arg)
{
    return table_side.walk(self, ideal, pass, &(passing){fn, arg});
}

/* An audit needs no more of a kernel than those two functions. */
START_TEST(another_side)
{
    size_t found[AUDIT_AT_ONCE];
    ck_assert_int_eq(view_open_target(&v, &plain, "arm64/7.3/uprobe"), STATUS_OK);
    table_side = audit_side_of(&v);
    ck_assert(audit_find(&a, &v, (audit_side){&v, other_treat, other_walk}));
    check_sum();
    const finding *f = find_named("needlessly-refused", "add.imm");
    ck_assert(f && f->kernel.cls == XS_REJECT && audit_encodings(f) == 1u << 23);
    ck_assert(!find_named("corrupts", "ldr.lit.q") && find_named("corrupts", "cb.imm"));
    ck_assert_uint_eq(audit_of_word(&a, audit_example(f), found), 1);
    ck_assert_ptr_eq(&a.findings[found[0]], f);
    ck_assert_int_eq(audit_prove(&a, &plain, false), STATUS_OK);
    ck_assert_int_eq(f->proof.verdict, PROOF_EQUAL);
    close_audit();
}
END_TEST

/* ---- tables that are wrong ------------------------------------------------------------------------ */

/* A table is the built-in one with a line put in, or changed, by sed. */
static const struct {
    const char *what, *sed, *target;
    int status;
    const char *contains;
} tables[] = {
    {"ideal wants a harmless instruction refused as pc-relative",
     "s/^default .*/eor.reg 1 10 01010 00 0 rm[4:0] 000000 rn[4:0] rd[4:0] reject kernel=ideal "
     "reason=pc-relative\\n&/",
     "arm64/7.3", 4, "eor.reg is called corrupts"},
    {"ideal wants a pc-relative instruction in the slot",
     "/^ldr.lit.q /,+1s/reject kernel=ideal reason=pc-relative/slot kernel=ideal/;/^ldr.lit.q/,+1s/$/ #/;"
     "s/^nop .*/ldr.lit.x 10 011100 imm[20:2] vt[4:0] reject kernel=7.3\\n&/",
     "arm64/7.3", 4, "ldr.lit.q is called needlessly-refused"},
    {"a handler of another instruction",
     "s/^    simulate simulate_movn kernel=ideal.*/    simulate simulate_movz kernel=7.3\\n&/", "arm64/7.3",
     1, "does something else than the instruction"},
    {"a handler that the kernel has and ideal, too",
     "s/^    simulate simulate_movz kernel=ideal.*/    simulate simulate_movz kernel=7.3\\n&/", "arm64/7.3",
     1, "target    arm64/7.3"},
    {"a handler where ideal has the slot",
     "s/^default .*/eor.imm 1 10 100100 -- uimm[15:0] rd[4:0]\\n    simulate simulate_movz kernel=7.3\\n    "
     "slot\\n&/",
     "arm64/7.3", 1, "8388608 handler_not_judged"},
    {"a handler of what ideal refuses", "s/^retasppc .*/&\\n    simulate simulate_nop kernel=7.3/",
     "arm64/7.3", 1, "wrong-result: retasppc"},
    {"a handler that nobody knows",
     "s/^    simulate simulate_movz kernel=ideal.*/    simulate simulate_new kernel=7.3\\n&/; "
     "s/simulate_sxtw$/simulate_sxtw simulate_new/",
     "arm64/7.3", 1, "handler_not_judged"},
};

START_TEST(wrong_tables)
{
    char command[1600], text[8192];
    snprintf(command, sizeof command,
             "t=$(mktemp); sed '%s' arch/arm64/arm64.decode > $t; { " XOLSIM_PROGRAM
             " audit --text table --table $t %s; s=$?; } 2>&1 >$t.out; grep -v '^  again' $t.out | grep -m3 "
             "-F '%s'; "
             "head -12 $t.out; rm $t $t.out; exit $s",
             tables[_i].sed, tables[_i].target, tables[_i].contains);
    int status = run(command, text, sizeof text);
    ck_assert_msg(status == tables[_i].status && strstr(text, tables[_i].contains), "%s: exit %d\n%s",
                  tables[_i].what, status, text);
}
END_TEST

Suite *audit_suite(void)
{
    Suite *s = suite_create("audit");
    TCase *facts = tcase_create("facts"), *sums = tcase_create("sums"), *proofs = tcase_create("proofs");
    tcase_set_timeout(facts, 120);
    tcase_set_timeout(sums, 120);
    tcase_set_timeout(proofs, 120);
    tcase_add_test(facts, judged_facts);
    tcase_add_test(facts, fixed_facts);
    tcase_add_loop_test(facts, lists, 0, MAJORS);
    tcase_add_loop_test(sums, words_add_up, 0, MAJORS);
    tcase_add_loop_test(sums, all_kernels_add_up, 0, 3);
    tcase_add_test(sums, another_side);
    tcase_add_loop_test(proofs, proofs_run_again, 0, 4);
    tcase_add_loop_test(proofs, wrong_tables, 0, sizeof tables / sizeof *tables);
    suite_add_tcase(s, facts);
    suite_add_tcase(s, sums);
    suite_add_tcase(s, proofs);
    return s;
}
