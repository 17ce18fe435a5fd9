/* decoder/site.c: decisions that need the surroundings. */
#include <stdlib.h>
#include <string.h>

#include "tests.h"

/* ---- the kprobe scan, as real kernels answered ------------------------------------------------- */

enum { BEFORE = 80 }; /* words of room before the probe */

/* The scan list, read by hand from the probe backwards: what ends it. */
static const xs_entry *end_of_scan(const xs_decoder *d, const uint32_t *nearest_first, size_t count)
{
    size_t rules;
    const xs_entry *scan = xs_decoder_scan_entries(d, &rules);
    for (size_t i = 0; i < count && i < 32; i++)
        for (size_t k = 0; k < rules; k++)
            if ((nearest_first[i] & scan[k].rule->mask) == scan[k].rule->value) return &scan[k];
    return NULL;
}

static void put_word(uint8_t *bytes, size_t at, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[at + i] = (uint8_t)(word >> (8 * i));
}

/* found offset word words-before class handler */
static void check_vector(const row *r, void *arg)
{
    const xs_decoder *d = arg;
    uint8_t bytes[4 * (BEFORE + 1)];
    uint32_t before[BEFORE];
    size_t count = 0, probe = sizeof bytes - 4, offset = strtoul(r->field[1], NULL, 10);
    char *save = NULL;
    memset(bytes, 0, sizeof bytes);
    for (char *w = strtok_r(r->field[3], ",", &save); w && count < BEFORE; w = strtok_r(NULL, ",", &save)) {
        before[count] = hex(w);
        put_word(bytes, probe - 4 * (count + 1), before[count]);
        count++;
    }
    put_word(bytes, probe, hex(r->field[2]));
    bool found = *r->field[0] == '1';
    xs_text text = {bytes, sizeof bytes, 0x1000, found ? probe - offset : XS_NO_FUNCTION, NULL, 0};
    xs_site site;
    ck_assert(offset <= probe);
    ck_assert_int_eq(xs_site_decide(d, ideal_of(d), &text, probe, &site), XS_OK);
    const xs_entry *end = found ? end_of_scan(d, before, offset / 4 < count ? offset / 4 : count) : NULL;
    bool by_scan = end && end->decision->cls == XS_REJECT;
    if (site.cls != class_named(r->field[4]))
        wrong("%s:%u: %s, not %s", r->path, r->line, xs_class_name(site.cls), r->field[4]);
    if (by_scan != xs_site_in_exclusive(d, &text, probe))
        wrong("%s:%u: the scan ends elsewhere", r->path, r->line);
    if (site.cls == XS_REJECT && strcmp(site.error, "EINVAL") != 0)
        wrong("%s:%u: %s", r->path, r->line, site.error);
    if (end) cover(end);
}

START_TEST(scan_equals_kernels)
{
    static const char *const golds[][2] = {
        {"arm64/6.12.y/kprobe", "fixtures/arm64/kernel-6.12.117-atomic.tsv.xz"},
        {"arm64/7.3/kprobe", "fixtures/arm64/kernel-7.3.4-atomic.tsv.xz"},
        {"arm64/6.15/kprobe", "fixtures/arm64/kernel-7.3.4-atomic.tsv.xz"},
    };
    each_row(golds[_i][1], check_vector, (void *)(uintptr_t)decoder_of(golds[_i][0]));
    all_right();
}
END_TEST

/* ---- fixtures/cases.tsv: arch, address, words, their classes, note ------------------------------- */

static void check_case(const row *r, void *unused)
{
    uint8_t bytes[TEXT_MAX];
    size_t at[TEXT_WORDS], count, i = 0;
    char *save = NULL, target[64];
    (void)unused;
    ck_assert_msg(r->count >= 5, "%s:%u: not five fields", r->path, r->line);
    snprintf(target, sizeof target, "%s%s", r->field[0], strchr(r->field[0], '/') ? "" : "/7.3/uprobe");
    const xs_decoder *d = decoder_of(target);
    size_t size = text_from(r->field[2], bytes, at, &count);
    xs_text text = {bytes, size, strtoull(r->field[1], NULL, 16), 0, NULL, 0};
    for (char *c = strtok_r(r->field[3], " ", &save); c; c = strtok_r(NULL, " ", &save), i++) {
        xs_site site;
        ck_assert_msg(i < count, "%s:%u: more classes than words", r->path, r->line);
        ck_assert_int_eq(xs_site_decide(d, ideal_of(d), &text, at[i], &site), XS_OK);
        if (site.cls != class_named(c) || !xs_site_on_boundary(d, &text, at[i]))
            wrong("%s:%u: word %zu is %s ('%s'), not %s", r->path, r->line, i + 1, xs_class_name(site.cls),
                  site.insn.entry->rule->name, c);
        cover(site.insn.entry);
    }
    if (i != count) wrong("%s:%u: %zu words, %zu classes", r->path, r->line, count, i);
}

START_TEST(cases_from_reports)
{
    each_row("fixtures/cases.tsv", check_case, NULL);
    all_right();
}
END_TEST

/* ---- fixtures/ISA/sites.tsv: target, address, function, words, offset, class, reason, errno, hazards, note
 */

static unsigned hazards_named(char *list)
{
    unsigned found = 0;
    char *save = NULL;
    for (char *name = strcmp(list, "-") == 0 ? NULL : strtok_r(list, ",", &save); name;
         name = strtok_r(NULL, ",", &save))
        for (unsigned i = 0; i <= XS_HAZARD_COUNT; i++) {
            ck_assert_msg(i < XS_HAZARD_COUNT, "'%s' is no hazard", name);
            if (strcmp(name, xs_hazard_name(i)) != 0) continue;
            found |= 1u << i;
            break;
        }
    return found;
}

typedef struct place {
    const row *row;
    xs_text text;
    size_t offset;
    xs_class cls;
    unsigned hazards;
    uint32_t before[TEXT_WORDS]; /* instructions of the function before the probe, nearest first */
    size_t count;
} place;

/* Ideal's scan, read by hand, says the same of the place. */
static void check_exclusive(const place *p, const xs_decoder *ideal, bool in_exclusive)
{
    const xs_entry *end = end_of_scan(ideal, p->before, p->count);
    if (in_exclusive != (end && end->decision->cls == XS_REJECT))
        wrong("%s:%u: in_exclusive is %d", p->row->path, p->row->line, in_exclusive);
    else if (end)
        cover(end);
}

static void list_before(place *p, const size_t *at, size_t count)
{
    p->count = 0;
    for (size_t i = count; i-- > 0;) {
        if (p->text.function == XS_NO_FUNCTION || at[i] < p->text.function || at[i] >= p->offset) continue;
        uint32_t word = 0;
        for (size_t b = 0; b < 4 && at[i] + b < p->text.size; b++)
            word |= (uint32_t)p->text.bytes[at[i] + b] << (8 * b);
        p->before[p->count++] = word;
    }
}

static void check_place(const xs_decoder *d, void *arg)
{
    const place *p = arg;
    const row *r = p->row;
    xs_site site;
    ck_assert_int_eq(xs_site_decide(d, ideal_of(d), &p->text, p->offset, &site), XS_OK);
    if (site.cls != p->cls || strcmp(xs_reason_name(site.reason), r->field[6]) != 0 ||
        strcmp(site.error, r->field[7]) != 0 || site.hazards != p->hazards)
        wrong("%s:%u: %s: %s %s %s, hazards %02x, not %02x", r->path, r->line, target_name(d),
              xs_class_name(site.cls), xs_reason_name(site.reason), site.error, site.hazards, p->hazards);
    check_exclusive(p, ideal_of(d), site.in_exclusive);
}

static void check_site(const row *r, void *unused)
{
    uint8_t bytes[TEXT_MAX], starts[TEXT_MAX];
    size_t at[TEXT_WORDS], count, left;
    (void)unused;
    ck_assert_msg(r->count >= 10, "%s:%u: not ten fields", r->path, r->line);
    size_t size = text_from(r->field[3], bytes, at, &count);
    place p = {.row = r, .offset = strtoul(r->field[4], NULL, 10), .cls = class_named(r->field[5])};
    p.text = (xs_text){bytes, size, strtoull(r->field[1], NULL, 16), XS_NO_FUNCTION, NULL, 0};
    if (strcmp(r->field[2], "-") != 0) p.text.function = strtoul(r->field[2], NULL, 10);
    p.hazards = hazards_named(r->field[8]);
    list_before(&p, at, count);
    each_target(r->field[0], check_place, &p);
    if (p.text.function != 0 && p.text.function != XS_NO_FUNCTION) return; /* starts are counted from 0 */
    char first[64];
    snprintf(first, sizeof first, "%.*s/ideal", (int)strcspn(r->field[0], "/,"), r->field[0]);
    classify(decoder_of(first), bytes, size, starts, &left);
    p.text.starts = starts;
    each_target(r->field[0], check_place, &p);
}

START_TEST(sites_are_decided)
{
    static const char *const files[] = {"fixtures/arm64/sites.tsv", "fixtures/riscv/sites.tsv"};
    each_row(files[_i], check_site, NULL);
    all_right();
}
END_TEST

/* ---- boundaries ------------------------------------------------------------------------------------ */

/* Every offset of random text: with starts, without, and from a function's start. */
START_TEST(boundaries_are_those_of_a_walk)
{
    uint8_t bytes[400], starts[200];
    size_t left;
    rng r = rng_new("boundaries");
    const xs_decoder *d = decoder_of("riscv64/7.3");
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)rng_next(&r);
    classify(d, bytes, sizeof bytes, starts, &left);
    for (size_t function = 0; function < 8; function += 2) {
        xs_text text = {bytes, sizeof bytes, 0, function, NULL, 0},
                whole = {bytes, sizeof bytes, 0, XS_NO_FUNCTION, NULL, 0};
        bool expected[sizeof bytes + 8] = {false};
        for (size_t at = function; at < sizeof bytes; at += (bytes[at] & 3) == 3 ? 4 : 2)
            expected[at] = true;
        for (size_t at = 0; at < sizeof bytes; at++) {
            if (xs_site_on_boundary(d, &text, at) != expected[at])
                wrong("function %zu: offset %zu", function, at);
            text.starts = whole.starts = starts;
            bool in_step = starts[function / 2] != XS_TAIL;
            bool start = in_step ? at % 2 == 0 && starts[at / 2] != XS_TAIL : expected[at];
            bool cut = at + left >= sizeof bytes; /* no whole instruction: a tail in starts */
            if (!cut && xs_site_on_boundary(d, &text, at) != start) wrong("with starts: offset %zu", at);
            if (in_step) text.starts = starts + 50, text.starts_at = 100; /* those of a part */
            if (!cut && at >= function && xs_site_on_boundary(d, &text, at) != start)
                wrong("some starts: offset %zu", at);
            text.starts = whole.starts = NULL, text.starts_at = 0;
            if (function == 0 && xs_site_on_boundary(d, &whole, at) != expected[at])
                wrong("no function: offset %zu", at);
        }
        ck_assert(!xs_site_on_boundary(d, &text, sizeof bytes));
        ck_assert(!xs_site_on_boundary(d, &text, SIZE_MAX));
    }
    all_right();
}
END_TEST

/* The exclusive scan is the same whether the instructions are found backwards or by a walk. */
START_TEST(scan_with_and_without_starts)
{
    static const uint32_t words[] = {0x100525af, 0x18b5252f, 0x00000013}; /* lr.w, sc.w, nop */
    uint8_t bytes[600], starts[300];
    size_t size = 0, left;
    rng r = rng_new("scan with starts");
    const xs_decoder *ideal = decoder_of("riscv64/ideal");
    while (size < sizeof bytes - 4) {
        uint32_t n = rng_next(&r) % 40;
        bool full = n < 3;
        put_word(bytes, size, full ? words[n] : 0x0001);
        size += full ? 4 : 2;
    }
    classify(ideal, bytes, size, starts, &left);
    for (size_t function = 0; function < size; function += 2) {
        if (starts[function / 2] == XS_TAIL) continue;
        xs_text walked = {bytes, size, 0, function, NULL, 0}, known = {bytes, size, 0, function, starts, 0};
        for (size_t at = 0; at < size; at += 2) {
            if (starts[at / 2] == XS_TAIL) continue;
            bool found = xs_site_in_exclusive(ideal, &walked, at);
            if (found != xs_site_in_exclusive(ideal, &known, at))
                wrong("function %zu, offset %zu", function, at);
            for (size_t cut = 60; cut < size; cut += 60) {
                xs_text part = {bytes, size, 0, function, starts + cut / 2, cut};
                if (found != xs_site_in_exclusive(ideal, &part, at))
                    wrong("function %zu, offset %zu, starts from %zu", function, at, cut);
            }
        }
    }
    all_right();
}
END_TEST

/* Data before a function puts a walk over the section out of step: the function's own walk counts. */
START_TEST(starts_out_of_step)
{
    /* .half 3; function: lr.w a1, (a0); c.nop; c.nop */
    static const uint8_t bytes[] = {3, 0, 0xaf, 0x25, 0x05, 0x10, 1, 0, 1, 0};
    uint8_t starts[5];
    size_t left;
    const xs_decoder *d = decoder_of("riscv64/7.3/kprobe"), *ideal = ideal_of(d);
    xs_text text = {bytes, sizeof bytes, 0x1000, 2, starts, 0};
    ck_assert_uint_eq(classify(d, bytes, sizeof bytes, starts, &left), 4);
    ck_assert_uint_eq(starts[1], XS_TAIL);
    ck_assert(xs_site_on_boundary(d, &text, 2));
    ck_assert(!xs_site_on_boundary(d, &text, 4));
    ck_assert(xs_site_on_boundary(d, &text, 6));
    ck_assert(xs_site_in_exclusive(ideal, &text, 8));
    text.function = XS_NO_FUNCTION;
    ck_assert(!xs_site_on_boundary(d, &text, 2));
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------------- */

static const struct {
    const char *target;
    const char *bytes;
    size_t size, offset;
    xs_status status;
} outside[] = {
    {"arm64/7.3", "\x1f\x20\x03\xd5", 4, 0, XS_OK},
    {"arm64/7.3", "\x1f\x20\x03\xd5", 4, 4, XS_E_RANGE},
    {"arm64/7.3", "\x1f\x20\x03\xd5", 4, SIZE_MAX, XS_E_RANGE},
    {"arm64/7.3", "\x1f\x20\x03\xd5", 0, 0, XS_E_RANGE},
    {"arm64/7.3", "\x1f\x20\x03\xd5", 4, 1, XS_E_TRUNCATED},
    {"arm64/7.3", "\x1f\x20\x03\xd5", 3, 0, XS_E_TRUNCATED},
    {"riscv64/7.3/kprobe", "\x01\x00", 2, 0, XS_OK},
    {"riscv64/7.3/kprobe", "\x01\x00", 2, 1, XS_E_TRUNCATED},
    {"riscv64/7.3/kprobe", "\x13\x00", 2, 0, XS_E_TRUNCATED},
    {"riscv64/7.3/kprobe", "\x13\x00\x00\x00", 4, 2, XS_OK},
};

START_TEST(outside_of_the_text)
{
    const xs_decoder *d = decoder_of(outside[_i].target);
    xs_text text = {(const uint8_t *)outside[_i].bytes, outside[_i].size, 0, 0, NULL, 0};
    xs_site site;
    memset(&site, 0xee, sizeof site);
    ck_assert_int_eq(xs_site_decide(d, ideal_of(d), &text, outside[_i].offset, &site), outside[_i].status);
    if (outside[_i].status == XS_OK) return;
    ck_assert_int_eq(site.cls, XS_REJECT);
    ck_assert_str_eq(site.error, "EINVAL");
    ck_assert_ptr_null(site.insn.entry);
    ck_assert_uint_eq(site.hazards, 0);
    ck_assert(!site.in_exclusive);
}
END_TEST

/* Without ideal the class is the same, and no hazard is found. */
START_TEST(without_ideal)
{
    static const uint8_t bytes[] = {0x20, 0x7c, 0x5f, 0xc8,
                                    0x40, 0,    0,    0x1c}; /* ldxr x0, [x1]; ldr s0, .+8 */
    xs_text text = {bytes, sizeof bytes, 0, 0, NULL, 0};
    xs_site with, without;
    static const char *const targets[] = {"arm64/7.3/uprobe", "arm64/7.3/kprobe"};
    for (int i = 0; i < 2; i++) {
        const xs_decoder *d = decoder_of(targets[i]);
        ck_assert_int_eq(xs_site_decide(d, ideal_of(d), &text, 4, &with), XS_OK);
        ck_assert_int_eq(xs_site_decide(d, NULL, &text, 4, &without), XS_OK);
        ck_assert_int_eq(with.cls, without.cls);
        ck_assert_int_eq(with.reason, without.reason);
        ck_assert_uint_eq(without.hazards, 0);
        ck_assert(with.in_exclusive && !without.in_exclusive);
    }
    ck_assert(!xs_site_in_exclusive(decoder_of("arm64/7.3/kprobe"), &text, 8));
    ck_assert_uint_eq(xs_hazards(decoder_of("arm64/7.3/kprobe"), &with.insn, NULL), 0);
}
END_TEST

/* Text of an odd length has no granule at its end: nothing may be read behind the starts. */
START_TEST(odd_length)
{
    uint8_t *bytes = malloc(5), *starts = malloc(2);
    ck_assert(bytes && starts);
    memcpy(bytes, "\x01\x00\x01\x00\x01", 5);
    starts[0] = starts[1] = XS_SLOT;
    const xs_decoder *d = decoder_of("riscv64/7.3/kprobe"), *ideal = ideal_of(d);
    xs_text text = {bytes, 5, 0, 0, starts, 0};
    xs_site site;
    ck_assert(xs_site_on_boundary(d, &text, 2));
    ck_assert(!xs_site_on_boundary(d, &text, 4));
    ck_assert(!xs_site_in_exclusive(ideal, &text, 4));
    ck_assert_int_eq(xs_site_decide(d, ideal, &text, 4, &site), XS_E_TRUNCATED);
    free(bytes);
    free(starts);
}
END_TEST

Suite *site_suite(void)
{
    Suite *suite = suite_create("site");
    TCase *scan = tcase_create("scan"), *sites = tcase_create("sites");
    tcase_add_loop_test(scan, scan_equals_kernels, 0, 3);
    tcase_add_test(scan, scan_with_and_without_starts);
    tcase_add_test(sites, cases_from_reports);
    tcase_add_loop_test(sites, sites_are_decided, 0, 2);
    tcase_add_test(sites, boundaries_are_those_of_a_walk);
    tcase_add_test(sites, starts_out_of_step);
    tcase_add_loop_test(sites, outside_of_the_text, 0, sizeof outside / sizeof *outside);
    tcase_add_test(sites, without_ideal);
    tcase_add_test(sites, odd_length);
    suite_add_tcase(suite, scan);
    suite_add_tcase(suite, sites);
    return suite;
}
