/* The audit of a kernel that answers as a target but for some words: what it says of these, and of no other.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "../cli/audit.h"
#include "../cli/kernel.h"
#include "tests.h"

/* ---- a kernel ------------------------------------------------------------------------------------ */

static view v;
static audit plain_audit, a;
static run_list runs;
static audit_answers *answers;
static const options plain = {.table_text = true, .cls = -1, .sites = SITES_ALL};

/* Words that it treats otherwise, by ascending words. */
typedef struct odd {
    uint32_t first, last;
    xs_class cls;
    const char *handler;
} odd;

static const odd arm64[] = {
    {0x10000000, 0x100000ff, XS_SIMULATE, "simulate_new"}, /* adr: nobody knows what that does */
    {0x14000003, 0x14000009, XS_SLOT, "-"},                /* b: lost */
    {0x18000000, 0x180000ff, XS_SIMULATE,
     "simulate_ldr_literal"},                               /* ldr.lit: as ideal has it, with which bugs? */
    {0x52800040, 0x528000ff, XS_SIMULATE, "simulate_movz"}, /* movz: as ideal has it */
    {0x53fffff0, 0x5400ffff, XS_SLOT, "-"},                 /* b.cond, bc.cond, and what is no instruction */
    {0x8b010000, 0x8b01ffff, XS_REJECT, "-"},               /* add: needlessly */
    {0xd503201f, 0xd503201f, XS_REJECT, "-"},               /* nop: needlessly */
    {0xd65f03c0, 0xd65f03c0, XS_SIMULATE, "simulate_nop"},  /* ret, by another instruction's */
};
enum { ODD = sizeof arm64 / sizeof *arm64 };

typedef struct making {
    const odd *list;
    size_t count;
} making;

static bool add_run(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    const making *m = arg;
    size_t count;
    const xs_decision *d = xs_decoder_entries(v.decoder, &count)[entry].decision;
    for (size_t i = 0; i < m->count; i++) {
        const odd *o = &m->list[i];
        if (o->last < first || o->first > last) continue;
        uint32_t from = o->first > first ? o->first : first, to = o->last < last ? o->last : last;
        if (from > first && !run_add(&runs, first, from - 1, d->cls, d->handler)) return false;
        if (!run_add(&runs, from, to, o->cls, o->handler)) return false;
        if (to == last) return true;
        first = to + 1;
    }
    return run_add(&runs, first, last, d->cls, d->handler);
}

static void ask(bool halves)
{
    answers = audit_answers_new(&v, &runs, halves, "decode_insn");
    ck_assert_ptr_nonnull(answers);
    ck_assert(audit_find(&plain_audit, &v, audit_side_of(&v)));
    ck_assert(audit_find(&a, &v, audit_side_of_answers(answers)));
    audit_kernels(&a);
    ck_assert_int_eq(audit_prove(&a, &plain, false), STATUS_OK);
}

static void open_kernel(const char *target, const odd *list, size_t count)
{
    ck_assert_int_eq(view_open_target(&v, &plain, target), STATUS_OK);
    ck_assert(xs_space_runs(v.decoder, 0, 0, add_run, &(making){list, count}));
    ck_assert_uint_eq(runs.words, UINT64_C(1) << 32);
    ask(false);
}

static void close_kernel(void)
{
    audit_close(&a);
    audit_close(&plain_audit);
    audit_answers_free(answers);
    runs_close(&runs);
    view_close(&v);
}

/* ---- what is said -------------------------------------------------------------------------------- */

static void check_sum(const audit *x)
{
    uint64_t sum = x->words;
    for (int i = 0; i < ACCOUNT_COUNT; i++)
        sum += x->account[i];
    ck_assert_uint_eq(sum, UINT64_C(1) << 32);
}

/* Every word that the kernel treats otherwise, counted one by one. */
static uint64_t count_odd(void)
{
    uint64_t words = 0;
    for (size_t i = 0; i < ODD; i++)
        for (uint64_t word = arm64[i].first; word <= arm64[i].last; word++) {
            const xs_decision *d = entry_of(v.decoder, (uint32_t)word)->decision;
            words += d->cls != arm64[i].cls || strcmp(d->handler, arm64[i].handler) != 0;
        }
    return words;
}

/* What the side says of a word is the kernel's answer, with its own rule where that is not the table's. */
static void check_treatment(const audit_side *side, uint32_t word)
{
    audit_treatment t;
    const xs_decision *d = entry_of(v.decoder, word)->decision;
    xs_class cls = d->cls;
    const char *handler = d->handler;
    for (size_t i = 0; i < ODD; i++)
        if (word >= arm64[i].first && word <= arm64[i].last) {
            cls = arm64[i].cls;
            handler = arm64[i].handler;
        }
    bool own = cls != d->cls || strcmp(handler, d->handler) != 0;
    side->treat(side->self, word, &t);
    if (t.cls != cls || strcmp(t.handler, handler) != 0 || t.own != own ||
        own != (strcmp(t.rule, "decode_insn") == 0) || (own && t.quirks))
        wrong("0x%08x: %s %s by %s", word, xs_class_name(t.cls), t.handler, t.rule);
}

START_TEST(treatments)
{
    rng r = rng_new("treatments");
    open_kernel("arm64/7.3/uprobe", arm64, ODD);
    audit_side side = audit_side_of_answers(answers);
    for (size_t i = 0; i < ODD; i++)
        for (uint64_t word = arm64[i].first - 1; word <= (uint64_t)arm64[i].last + 1; word++)
            check_treatment(&side, (uint32_t)word);
    for (int n = 0; n < 20000; n++)
        check_treatment(&side, rng_next(&r));
    ck_assert_uint_eq(audit_answers_words(answers), count_odd());
    close_kernel();
    all_right();
}
END_TEST

/* Own findings: how many words, and what became of them in Unicorn. */
static const struct {
    const char *severity, *rule;
    uint64_t words;
    audit_verdict verdict;
} expected[] = {
    {"corrupts", "b", 7, PROOF_DIFFERS},
    {"corrupts", "b.cond", 1u << 15, PROOF_DIFFERS},
    {"corrupts", "bc.cond", 1u << 15, PROOF_DIFFERS},
    {"needlessly-refused", "default", 1u << 16, PROOF_EQUAL}, /* add */
    {"needlessly-refused", "nop", 1, PROOF_EQUAL},
};
enum { EXPECTED = sizeof expected / sizeof *expected };

static const finding *find_own(const char *severity, const char *rule)
{
    for (size_t i = 0; i < a.count; i++) {
        const finding *f = &a.findings[i];
        if (f->kernel.own && strcmp(f->told->name, rule) == 0 &&
            strcmp(xs_hazard_name(f->hazard), severity) == 0)
            return f;
    }
    return NULL;
}

static void check_finding(size_t i)
{
    const finding *f = find_own(expected[i].severity, expected[i].rule);
    if (!f)
        wrong("no finding %s %s", expected[i].severity, expected[i].rule);
    else if (f->words != expected[i].words || f->proof.verdict != expected[i].verdict)
        wrong("%s: %llu words, %s", expected[i].rule, (unsigned long long)f->words,
              audit_verdict_name(f->proof.verdict));
}

START_TEST(findings)
{
    size_t own = 0;
    open_kernel("arm64/7.3/uprobe", arm64, ODD);
    for (size_t i = 0; i < EXPECTED; i++)
        check_finding(i);
    for (size_t i = 0; i < a.count; i++)
        own += a.findings[i].kernel.own;
    ck_assert_uint_eq(own, EXPECTED);
    check_sum(&a);
    check_sum(&plain_audit);
    /* adr, ldr.lit and ret, whose handlers are not known to do the same */
    ck_assert_uint_eq(a.account[ACCOUNT_UNJUDGED], plain_audit.account[ACCOUNT_UNJUDGED] + 256 + 256 + 1);
    ck_assert_uint_eq(a.account[ACCOUNT_NOT_KNOWN], plain_audit.account[ACCOUNT_NOT_KNOWN] - 256);
    ck_assert_uint_eq(a.account[ACCOUNT_FASTER], plain_audit.account[ACCOUNT_FASTER] - 192);
    close_kernel();
    all_right();
}
END_TEST

/* What is run for an own finding is a word of it, and its command does it again. */
START_TEST(proofs_are_of_its_words)
{
    open_kernel("arm64/7.3/uprobe", arm64, ODD);
    for (size_t i = 0; i < a.count; i++) {
        const finding *f = &a.findings[i];
        if (!f->kernel.own || !f->proof.run) continue;
        char command[2400];
        const char *replay = json_object_get_string(json_object_object_get(f->proof.run, "replay"));
        uint32_t word = hex(json_object_get_string(json_object_object_get(f->proof.run, "word")) + 2);
        if (!audit_holds(f, word)) wrong("%s: 0x%08x is no word of it", f->told->name, word);
        snprintf(command, sizeof command, XOLSIM_PROGRAM "%s >/dev/null 2>&1", replay + 6);
        int status = system(command);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) wrong("%s: exit %d", replay, status);
    }
    close_kernel();
    all_right();
}
END_TEST

/* ---- the sites of a program ------------------------------------------------------------------------ */

/* count_up of hello-arm64: ldxr; add x1, x1, #1; stxr. The table has the first and the last refused. */
static const struct {
    odd answer;
    uint64_t own, livelock; /* sites that its answer, and that their place is wrong for */
} at_sites[] = {
    {{0x91000421, 0x91000421, XS_REJECT, "-"}, 2, 0}, /* refused, elsewhere too: its place does no harm */
    {{0x91000421, 0x91000421, XS_SIMULATE, "simulate_new"}, 0, 1}, /* accepted, as by the table */
    {{0xc8027c01, 0xc8027c01, XS_SLOT, "-"}, 1, 1},                /* the store: by its word, not its place */
    {{0xc85f7c01, 0xc85f7c01, XS_SIMULATE, "simulate_new"}, 0, 1}, /* the load is not between */
    {{0xc8027c01, 0xc8027c01, XS_SIMULATE, "simulate_new"}, 0, 2}, /* the store is */
};

START_TEST(sites)
{
    program p;
    options o = plain;
    audit_scope scope = {.file = "hello"};
    o.target = "arm64/7.3/uprobe";
    ck_assert_int_eq(program_open(&p, &o, "fixtures/programs/hello-arm64"), STATUS_OK);
    open_kernel(o.target, &at_sites[_i].answer, 1);
    audit_sites(&a, &p.code, &o, &scope);
    uint64_t own = 0;
    for (size_t i = 0; i < a.count; i++)
        own += a.findings[i].kernel.own ? a.findings[i].sites : 0;
    ck_assert_uint_eq(own, at_sites[_i].own);
    ck_assert_uint_eq(a.places[__builtin_ctz(XS_HAZARD_LIVELOCK)].sites, at_sites[_i].livelock);
    close_kernel();
    program_close(&p);
}
END_TEST

/* b to the next instruction: no run can show that it is lost, which is no mistake of the audit. */
START_TEST(shows_nothing)
{
    const odd branch = {0x14000001, 0x14000001, XS_SLOT, "-"};
    open_kernel("arm64/7.3/uprobe", &branch, 1);
    const finding *f = find_own("corrupts", "b");
    ck_assert(f && f->words == 1);
    ck_assert_int_eq(f->proof.verdict, PROOF_NOT_RUN);
    ck_assert_msg(strstr(f->proof.reason, "of 1 word show no difference"), "%s", f->proof.reason);
    close_kernel();
}
END_TEST

/* A kernel that answers as its target has the audit of the target, to the word. */
START_TEST(nothing_odd)
{
    open_kernel("arm64/6.1/kprobe", NULL, 0);
    ck_assert_uint_eq(audit_answers_words(answers), 0);
    ck_assert_uint_eq(a.words, plain_audit.words);
    ck_assert_uint_eq(a.count, plain_audit.count);
    ck_assert_mem_eq(a.account, plain_audit.account, sizeof a.account);
    close_kernel();
}
END_TEST

/* ---- a target's answers beside another one's table -------------------------------------------------- */

static const struct {
    const char *kernel, *table;
    bool halves;
} pairs[] = {
    {"arm64/6.12/kprobe", "arm64/7.3/kprobe", false},
    {"arm64/7.3/kprobe", "arm64/5.10/kprobe", false},
    {"riscv64/6.12.y/uprobe", "riscv64/6.1.y/uprobe", true},
};

static void add_word(const xs_decoder *d, uint32_t word)
{
    const xs_decision *of_word = entry_of(d, word)->decision;
    ck_assert(run_add(&runs, word, word, of_word->cls, of_word->handler));
}

static bool add_all(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    size_t count;
    const xs_decision *d = xs_decoder_entries(arg, &count)[entry].decision;
    return run_add(&runs, first, last, d->cls, d->handler);
}

static uint64_t hazard_words(const audit *x, unsigned hazard)
{
    uint64_t words = 0;
    for (size_t i = 0; i < x->count; i++)
        words += x->findings[i].hazard == hazard ? x->findings[i].words : 0;
    return words;
}

/* Whatever the table says, what is wrong with the kernel is found, to the word; only handlers that the table
 * does not name stay unjudged. */
START_TEST(beside_another_table)
{
    view right;
    audit direct;
    ck_assert_int_eq(view_open_target(&right, &plain, pairs[_i].kernel), STATUS_OK);
    ck_assert(audit_find(&direct, &right, audit_side_of(&right)));
    ck_assert_int_eq(view_open_target(&v, &plain, pairs[_i].table), STATUS_OK);
    for (uint32_t low = 0; pairs[_i].halves && low <= UINT16_MAX; low++)
        add_word(right.decoder, low);
    if (!pairs[_i].halves) ck_assert(xs_space_runs(right.decoder, 0, 0, add_all, right.decoder));
    ask(pairs[_i].halves);
    ck_assert_uint_gt(audit_answers_words(answers), 0);
    check_sum(&a);
    for (unsigned h = 0; h < XS_HAZARD_COUNT; h++)
        if (hazard_words(&a, h) != hazard_words(&direct, h))
            wrong("%s beside %s: %s has %llu words, not %llu", pairs[_i].kernel, pairs[_i].table,
                  xs_hazard_name(h), (unsigned long long)hazard_words(&a, h),
                  (unsigned long long)hazard_words(&direct, h));
    for (int i = ACCOUNT_FASTER; i < ACCOUNT_UNJUDGED; i++)
        ck_assert_uint_eq(a.account[i], direct.account[i]);
    audit_close(&direct);
    view_close(&right);
    close_kernel();
    all_right();
}
END_TEST

Suite *answers_suite(void)
{
    Suite *s = suite_create("answers");
    TCase *t = tcase_create("answers");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, treatments);
    tcase_add_test(t, findings);
    tcase_add_test(t, proofs_are_of_its_words);
    tcase_add_loop_test(t, sites, 0, sizeof at_sites / sizeof *at_sites);
    tcase_add_test(t, shows_nothing);
    tcase_add_test(t, nothing_odd);
    tcase_add_loop_test(t, beside_another_table, 0, sizeof pairs / sizeof *pairs);
    suite_add_tcase(s, t);
    return s;
}
