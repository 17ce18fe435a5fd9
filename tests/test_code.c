/* The chunks that a file's code is cut into, against a walk from function to function. */
#include <stdlib.h>
#include <string.h>

#include "../cli/code.h"
#include "tests.h"

enum { RANGES = 3, FUNCTIONS = 400 };

/* An image that was never a file: ranges of random code, functions anywhere in them. */
typedef struct made_up {
    xs_image image;
    xs_range ranges[RANGES];
    xs_function functions[FUNCTIONS];
    view view;
    uint8_t *expected[RANGES];
    uint64_t counts[XS_TAIL + 1], left;
} made_up;

static int by_place(const void *a, const void *b)
{
    const xs_function *x = a, *y = b;
    if (x->range != y->range) return x->range < y->range ? -1 : 1;
    return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void make_ranges(made_up *m, rng *r, const size_t sizes[RANGES])
{
    for (size_t i = 0; i < RANGES; i++) {
        uint8_t *bytes = malloc(sizes[i]);
        ck_assert_ptr_nonnull(bytes);
        for (size_t at = 0; at < sizes[i]; at++)
            bytes[at] = (uint8_t)rng_next(r);
        m->ranges[i] =
            (xs_range){.section = "text", .addr = 0x10000000 * (i + 1), .size = sizes[i], .bytes = bytes};
    }
    m->image.ranges = m->ranges;
    m->image.range_count = RANGES;
}

/* Some at odd addresses, where no code can be, some just before or behind a chunk's usual end. */
static void make_functions(made_up *m, rng *r, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t range = rng_next(r) % RANGES, at = rng_next(r) % m->ranges[range].size;
        if (i % 4 == 0) at = ((1u << 20) + rng_next(r) % 16) % m->ranges[range].size;
        m->functions[i] = (xs_function){.name = "f", .addr = m->ranges[range].addr + at, .range = range};
    }
    qsort(m->functions, count, sizeof *m->functions, by_place);
    m->image.functions = m->functions;
    m->image.function_count = count;
}

/* From function to function, each piece by itself. */
static void walk_range(made_up *m, const xs_decoder *d, size_t r)
{
    size_t granule = xs_table_granule(xs_decoder_table(d)), size = (size_t)m->ranges[r].size, at = 0;
    m->expected[r] = malloc(size / granule + 1);
    ck_assert_ptr_nonnull(m->expected[r]);
    memset(m->expected[r], XS_TAIL, size / granule);
    for (size_t f = 0; at < size; f++) {
        bool more = f < m->image.function_count;
        if (more && m->functions[f].range != r) continue;
        size_t end = more ? (size_t)(m->functions[f].addr - m->ranges[r].addr) : size;
        if (more && (end <= at || end % granule)) continue;
        xs_insn insn;
        for (; xs_decode(d, m->ranges[r].bytes + at, end - at, &insn) == XS_OK; at += insn.size)
            m->expected[r][at / granule] = (uint8_t)insn.entry->decision->cls;
        m->left += end - at;
        at = end;
    }
    for (size_t i = 0; i < size / granule; i++)
        m->counts[m->expected[r][i]]++;
}

static void check_chunks(const made_up *m, const code *c)
{
    size_t range = 0, at = 0, granule = m->view.granule;
    window w;
    ck_assert(window_open(&w, c));
    for (size_t i = 0; i < c->chunk_count; i++) {
        const chunk *k = &c->chunks[i];
        if (at == m->ranges[range].size) at = 0, range++;
        ck_assert_uint_eq(k->range, range);
        ck_assert_uint_eq(k->from, at);
        ck_assert_uint_gt(k->to, at);
        ck_assert_uint_le(k->to - at, 1 << 20);
        window_load(&w, i);
        if (memcmp(w.classes, m->expected[range] + at / granule, (k->to - at) / granule) != 0)
            wrong("%s: chunk %zu of range %zu differs", m->view.name, i, range);
        at = k->to;
    }
    ck_assert_uint_eq(range, RANGES - 1);
    ck_assert_uint_eq(at, m->ranges[range].size);
    window_close(&w);
}

/* Any offset finds its chunk, whatever was loaded before. */
static void check_starts(const made_up *m, const code *c, rng *r)
{
    window w;
    ck_assert(window_open(&w, c));
    for (int i = 0; i < 200; i++) {
        size_t range = rng_next(r) % RANGES, at = rng_next(r) % m->ranges[range].size / 2 * 2;
        xs_text text = window_text(&w, range, at, NULL);
        if (m->view.granule == 4) {
            ck_assert_ptr_null(text.starts);
            continue;
        }
        ck_assert_uint_le(text.starts_at, at);
        if (at / 2 < m->ranges[range].size / 2 &&
            text.starts[(at - text.starts_at) / 2] != m->expected[range][at / 2])
            wrong("%s: range %zu, offset %zu", m->view.name, range, at);
    }
    window_close(&w);
}

static const struct {
    const char *target;
    size_t sizes[RANGES], functions;
} images[] = {
    {"riscv64/7.3", {3500000, 2, 4200001}, FUNCTIONS},
    {"riscv64/7.3", {3500000, 1 << 20, (1 << 20) + 2}, 0},
    {"riscv64/ideal", {(1 << 20) + 1, (1 << 20) + 3, 2500000}, 7},
    {"arm64/7.3", {3500001, 4, 1 << 20}, FUNCTIONS},
};

static void compare_image(const char *target, const size_t sizes[RANGES], size_t functions, rng *r)
{
    static made_up m;
    const xs_decoder *d = decoder_of(target);
    m = (made_up){.view = {.granule = xs_table_granule(xs_decoder_table(d))}};
    snprintf(m.view.name, sizeof m.view.name, "%s", target);
    ck_assert_int_eq(xs_classifier_new(d, NULL, &m.view.classifier), XS_OK);
    make_ranges(&m, r, sizes);
    make_functions(&m, r, functions);
    for (size_t i = 0; i < RANGES; i++)
        walk_range(&m, d, i);
    code c;
    ck_assert(code_open(&c, &m.image, &m.view));
    check_chunks(&m, &c);
    check_starts(&m, &c, r);
    for (unsigned jobs = 1; jobs <= 3; jobs++) {
        ck_assert(code_count(&c, jobs));
        ck_assert_mem_eq(c.counts, m.counts, sizeof c.counts);
        ck_assert_uint_eq(c.left, m.left);
    }
    code_close(&c);
    xs_classifier_free(m.view.classifier);
    for (size_t i = 0; i < RANGES; i++) {
        free(m.expected[i]);
        free((void *)(uintptr_t)m.ranges[i].bytes);
    }
}

START_TEST(chunks_equal_a_walk)
{
    rng r = rng_new("chunks");
    compare_image(images[_i].target, images[_i].sizes, images[_i].functions, &r);
    all_right();
}
END_TEST

/* Where hardly more than one instruction fits, everything happens at the end of a range. */
START_TEST(small_ranges)
{
    rng r = rng_new("small ranges");
    for (int round = 0; round < 300; round++) {
        const size_t sizes[RANGES] = {1 + rng_next(&r) % 12, 1 + rng_next(&r) % 12, 1 + rng_next(&r) % 12};
        compare_image(round % 8 ? "riscv64/7.3" : "arm64/7.3", sizes, rng_next(&r) % 8, &r);
    }
    all_right();
}
END_TEST

Suite *code_suite(void)
{
    Suite *suite = suite_create("code");
    TCase *all = tcase_create("chunks");
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, chunks_equal_a_walk, 0, sizeof images / sizeof *images);
    tcase_add_test(all, small_ranges);
    suite_add_tcase(suite, all);
    return suite;
}
