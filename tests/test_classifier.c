/* Every path of xs_classifier against one instruction after the other: real tables, random tables. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests.h"

enum { BYTES = 8192 };

/* One instruction after the other, as xs_classify_text says it does. */
static size_t classify_slowly(const xs_decoder *d, const uint8_t *text, size_t size, uint8_t *classes,
                              size_t *left)
{
    unsigned granule = xs_table_granule(xs_decoder_table(d));
    size_t at = 0, count = 0;
    xs_insn insn;
    memset(classes, XS_TAIL, size / granule);
    for (; xs_decode(d, text + at, size - at, &insn) == XS_OK; at += insn.size, count++)
        classes[at / granule] = (uint8_t)insn.entry->decision->cls;
    *left = size - at;
    return count;
}

static void compare_size(const xs_decoder *d, const xs_classifier *c, const uint8_t *text, size_t size)
{
    static uint8_t fast[BYTES / 2 + 1], slow[BYTES / 2 + 1];
    unsigned granule = xs_table_granule(xs_decoder_table(d));
    size_t left_fast, left_slow;
    memset(fast, 0xee, sizeof fast);
    size_t n = xs_classify_text(c, text, size, fast, &left_fast);
    size_t m = classify_slowly(d, text, size, slow, &left_slow);
    if (n != m || left_fast != left_slow || memcmp(fast, slow, size / granule) != 0)
        wrong("%s, %s: %zu bytes: %zu instructions, not %zu; %zu left, not %zu", target_name(d),
              xs_classifier_path(c), size, n, m, left_fast, left_slow);
    if (fast[size / granule] != 0xee)
        wrong("%s, %s: %zu bytes: wrote behind the classes", target_name(d), xs_classifier_path(c), size);
}

/* Random bytes of all sizes and alignments; half of the words are ones that some rule matches. */
static void fill(const xs_decoder *d, rng *r, uint8_t *text)
{
    size_t count;
    const xs_entry *entries = xs_decoder_entries(d, &count);
    for (size_t at = 0; at < BYTES; at += 4) {
        const xs_rule *rule = entries[rng_next(r) % count].rule;
        uint32_t word = rng_next(r);
        if (rng_next(r) % 2) word = (word & ~rule->mask) | rule->value;
        for (size_t i = 0; i < 4; i++)
            text[at + i] = (uint8_t)(word >> (8 * i));
    }
}

static void compare_paths(const xs_decoder *d, void *arg)
{
    static uint8_t text[BYTES];
    rng *r = arg;
    fill(d, r, text);
    for (size_t i = 0; xs_classifier_path_name(i); i++) {
        xs_classifier *c;
        xs_status status = xs_classifier_new(d, xs_classifier_path_name(i), &c);
        if (status == XS_E_RANGE) continue; /* not on this machine */
        ck_assert_int_eq(status, XS_OK);
        ck_assert_str_eq(xs_classifier_path(c), xs_classifier_path_name(i));
        for (size_t size = 0; size <= BYTES; size += size < 270 ? 1 : 997)
            compare_size(d, c, text + rng_next(r) % 7 % (BYTES - size + 1), size);
        xs_classifier_free(c);
    }
}

START_TEST(paths_equal_instructions)
{
    rng r = rng_new("text");
    each_target("arm64/7.3,arm64/4.10,arm64/6.12,arm64/ideal,riscv64/7.3,riscv32/6.1,riscv64/ideal,"
                "riscv32/ideal,riscv64-c/7.3",
                compare_paths, &r);
    all_right();
}
END_TEST

static void compare_flows(const xs_decoder *d, void *arg)
{
    static uint8_t text[BYTES], found[BYTES / 2];
    unsigned granule = xs_table_granule(xs_decoder_table(d));
    fill(d, arg, text);
    for (xs_flow flow = XS_FLOW_NONE; flow <= XS_FLOW_RETURN; flow++) {
        size_t left, seen[2] = {0};
        xs_classifier *c;
        xs_insn insn;
        ck_assert_int_eq(xs_flow_finder_new(d, flow, NULL, &c), XS_OK);
        xs_classify_text(c, text, BYTES, found, &left);
        for (size_t at = 0; xs_decode(d, text + at, BYTES - at, &insn) == XS_OK; at += insn.size) {
            bool is = insn.entry->rule->flow == flow;
            seen[is]++;
            if (found[at / granule] != is) wrong("%s: flow %d at %zu", target_name(d), (int)flow, at);
        }
        ck_assert_uint_gt(seen[0], 0);
        ck_assert_uint_gt(seen[1], 0);
        xs_classifier_free(c);
    }
}

START_TEST(flows_are_found)
{
    rng r = rng_new("flows");
    each_target("arm64/ideal,riscv64/7.3", compare_flows, &r);
    all_right();
}
END_TEST

/* ---- random tables ------------------------------------------------------------------------------- */

/* A line of so many bits with a random class, its fixed bits in a few clumps. */
static void random_rule(FILE *f, rng *r, unsigned number, unsigned bits)
{
    static const char *const classes[] = {"slot", "simulate f", "reject"};
    fprintf(f, "r%u ", number);
    for (unsigned left = bits; left > 0;) {
        unsigned run = 1 + rng_next(r) % 9;
        if (run > left) run = left;
        bool fixed = rng_next(r) % 3 == 0 || (bits == 16 && left <= 2);
        for (unsigned i = 0; i < run; i++)
            fputc(fixed ? "01"[rng_next(r) % 2] : '-', f);
        left -= run;
    }
    fprintf(f, " %s\n", classes[rng_next(r) % 3]);
}

/* A table of rules in random order, 16-bit ones among them when mixed. */
static xs_table *random_table(rng *r, unsigned rules, bool mixed)
{
    char *text;
    size_t len, count;
    FILE *f = open_memstream(&text, &len);
    fputs("%arch a\n%modes m\n%kernels 1.0\n%handler f\n", f);
    for (unsigned i = 0; i < rules; i++)
        random_rule(f, r, i, mixed && rng_next(r) % 2 ? 16 : 32);
    fclose(f);
    xs_diag diag = {0};
    xs_table *t = xs_table_parse(text, len, &diag, 1, &count);
    ck_assert_msg(t != NULL, "line %u: %s: %s", diag.line, diag.code, diag.message);
    free(text);
    return t;
}

static const struct {
    unsigned rules;
    bool mixed;
} sizes[] = {{1, false},  {2, true},   {8, false},  {8, true},    {40, false},  {40, true},
             {63, false}, {64, true},  {65, false}, {130, true},  {200, false}, {XS_MAX_RULES, true},
             {63, true},  {64, false}, {65, true},  {130, false}, {300, true},  {XS_MAX_RULES, false}};

/* Lists of up to 64 rules and of more; the byte tables have room for some of them only. */
START_TEST(random_tables)
{
    rng r = rng_new("random tables");
    for (unsigned i = 0; i < (unsigned)_i; i++)
        rng_next(&r);
    for (unsigned round = 0; round < 3; round++) {
        xs_target target;
        xs_decoder *d;
        xs_table *t = random_table(&r, sizes[_i].rules, sizes[_i].mixed);
        ck_assert_int_eq(xs_target_parse(t, "a", &target, NULL, 0), XS_OK);
        ck_assert_int_eq(xs_decoder_new(t, &target, &d), XS_OK);
        compare_paths(d, &r);
        xs_decoder_free(d);
        xs_table_free(t);
    }
    all_right();
}
END_TEST

/* ---- the rest ------------------------------------------------------------------------------------ */

START_TEST(unknown_paths)
{
    xs_classifier *c;
    ck_assert_int_eq(xs_classifier_new(decoder_of("arm64/7.3"), "abacus", &c), XS_E_RANGE);
    ck_assert_ptr_null(c);
    size_t count = 0;
    while (xs_classifier_path_name(count))
        count++;
    ck_assert_uint_ge(count, 1);
    ck_assert_str_eq(xs_classifier_path_name(count - 1), "scalar");
}
END_TEST

START_TEST(classes_are_counted)
{
    static uint8_t classes[5000];
    rng r = rng_new("counts");
    for (size_t i = 0; i < sizeof classes; i++)
        classes[i] = (uint8_t)(i < 3000 ? XS_TAIL : rng_next(&r) % 4); /* a sum that would overflow a byte */
    for (size_t size = 0; size <= sizeof classes; size += size < 20 ? 1 : 1245) {
        uint64_t expected[XS_TAIL + 1] = {1, 2, 3, 4}, counts[XS_TAIL + 1] = {1, 2, 3, 4};
        for (size_t i = 0; i < size; i++)
            expected[classes[i]]++;
        xs_count_classes(classes, size, counts);
        ck_assert_mem_eq(counts, expected, sizeof counts);
    }
}
END_TEST

typedef struct worker {
    const xs_classifier *classifier;
    const uint8_t *text;
    uint8_t classes[BYTES / 2];
    size_t count, left;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    for (int i = 0; i < 200; i++)
        w->count = xs_classify_text(w->classifier, w->text, BYTES, w->classes, &w->left);
    return NULL;
}

START_TEST(threads_share_a_classifier)
{
    static uint8_t text[BYTES];
    static worker workers[2];
    pthread_t thread[2];
    xs_classifier *c;
    rng r = rng_new("threads");
    fill(decoder_of("riscv64/7.3"), &r, text);
    ck_assert_int_eq(xs_classifier_new(decoder_of("riscv64/7.3"), NULL, &c), XS_OK);
    for (int i = 0; i < 2; i++) {
        workers[i] = (worker){.classifier = c, .text = text};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    ck_assert_uint_eq(workers[0].count, workers[1].count);
    ck_assert_mem_eq(workers[0].classes, workers[1].classes, BYTES / 2);
    xs_classifier_free(c);
}
END_TEST

Suite *classifier_suite(void)
{
    Suite *suite = suite_create("classifier");
    TCase *all = tcase_create("text");
    tcase_add_test(all, paths_equal_instructions);
    tcase_add_test(all, flows_are_found);
    tcase_add_loop_test(all, random_tables, 0, sizeof sizes / sizeof *sizes);
    tcase_add_test(all, unknown_paths);
    tcase_add_test(all, classes_are_counted);
    tcase_add_test(all, threads_share_a_classifier);
    suite_add_tcase(suite, all);
    return suite;
}
