/* The tables against a second implementation: fixtures/rules.tsv (masks, values and orders as they were
 * taken from the kernels' sources, and compared with real kernels) and a first-match loop over it. It
 * shares no text and no code with arch/ and decoder/. */
#include <stdlib.h>
#include <string.h>

#include "tests.h"

enum { ROWS_MAX = 160, BACKPORTS_MAX = 24 };

/* A row of rules.tsv. Releases are numbers: 6.12 is 6012; until is 0 when it has no end. */
typedef struct fact {
    char arch[12], name[32], handler[32];
    unsigned from, until, order;
    bool proposed, scan, uprobe, kprobe;
    uint32_t mask, value;
    xs_class cls; /* of a scan row: XS_SLOT ends it and allows, XS_REJECT refuses */
} fact;

/* A row of stable.tsv, one item of its backports. */
typedef struct backport {
    char arch[12], series[12];
    unsigned order, from;
    bool uprobe_only;
} backport;

static fact facts[ROWS_MAX];
static size_t fact_count;
static backport backports[BACKPORTS_MAX];
static size_t backport_count;

static unsigned release(const char *text)
{
    unsigned major = 0, minor = 0;
    return sscanf(text, "%u.%u", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

static xs_class fact_class(const char *name)
{
    if (strcmp(name, "scan:stop-allow") == 0) return XS_SLOT;
    if (strcmp(name, "scan:stop-reject") == 0) return XS_REJECT;
    return class_named(name);
}

static void add_fact(const row *r, void *unused)
{
    (void)unused;
    ck_assert(r->count >= 8 && fact_count < ROWS_MAX);
    fact *f = &facts[fact_count++];
    const char *dots = strstr(r->field[1], "..");
    *f = (fact){.order = (unsigned)strtoul(r->field[2], NULL, 10),
                .mask = hex(r->field[4]),
                .value = hex(r->field[5]),
                .proposed = dots == NULL,
                .scan = strncmp(r->field[7], "scan:", 5) == 0,
                .uprobe = *r->field[6] != 'k',
                .kprobe = *r->field[6] != 'u',
                .cls = fact_class(r->field[7])};
    if (dots) {
        f->from = release(r->field[1]);
        f->until = release(dots + 2);
    }
    snprintf(f->arch, sizeof f->arch, "%s", r->field[0]);
    snprintf(f->name, sizeof f->name, "%s", r->field[3]);
    snprintf(f->handler, sizeof f->handler, "%s", r->count > 8 ? r->field[8] : "-");
}

static void add_backports(const row *r, void *unused)
{
    char *save = NULL;
    (void)unused;
    for (char *item = strtok_r(r->field[3], " -", &save); item; item = strtok_r(NULL, " -", &save)) {
        ck_assert(backport_count < BACKPORTS_MAX);
        backport *b = &backports[backport_count++];
        char *mode;
        b->order = (unsigned)strtoul(item, &mode, 10);
        b->uprobe_only = *mode == 'u';
        b->from = release(strchr(item, '@') + 1);
        snprintf(b->arch, sizeof b->arch, "%s", r->field[0]);
        snprintf(b->series, sizeof b->series, "%s", r->field[1]);
    }
}

static int by_order(const void *a, const void *b)
{
    const fact *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void load_facts(void)
{
    if (fact_count) return;
    each_row("fixtures/rules.tsv", add_fact, NULL);
    each_row("fixtures/stable.tsv", add_backports, NULL);
    qsort(facts, fact_count, sizeof *facts, by_order);
}

/* A target, taken apart without the library. */
typedef struct place {
    char arch[12], kernel[16];
    unsigned release;
    bool uprobe, compressed;
} place;

static place place_of(const xs_decoder *d)
{
    place p;
    char name[80];
    snprintf(name, sizeof name, "%s", target_name(d));
    char *kernel = strchr(name, '/') + 1, *mode = strchr(kernel, '/') + 1;
    snprintf(p.arch, sizeof p.arch, "%.*s", (int)strcspn(name, "/-+"), name);
    snprintf(p.kernel, sizeof p.kernel, "%.*s", (int)(mode - kernel - 1), kernel);
    p.release = strcmp(p.kernel, "stp-2024") == 0 ? release("7.3") : release(p.kernel);
    p.uprobe = strcmp(mode, "uprobe") == 0;
    p.compressed = strstr(name, "-c/") == NULL;
    return p;
}

/* The release whose row of this order the kernel has. */
static unsigned release_for(const place *p, const fact *f)
{
    for (size_t i = 0; i < backport_count; i++) {
        const backport *b = &backports[i];
        if (strcmp(b->series, p->kernel) == 0 && strncmp(b->arch, p->arch, strlen(b->arch)) == 0 &&
            b->order == f->order && (p->uprobe || !b->uprobe_only))
            return b->from;
    }
    return p->release;
}

static bool applies(const fact *f, const place *p)
{
    bool family = strcmp(f->arch, "riscv") == 0 && strncmp(p->arch, "riscv", 5) == 0;
    if (!family && strcmp(f->arch, p->arch) != 0) return false;
    if (strncmp(f->name, "c_", 2) == 0 && !p->compressed) return false;
    if (p->uprobe ? !f->uprobe : !f->kprobe) return false;
    if (f->proposed) return strcmp(p->kernel, "stp-2024") == 0;
    unsigned r = release_for(p, f);
    return r >= f->from && (f->until == 0 || r < f->until);
}

/* The facts of a target, in order. */
typedef struct facts_of_place {
    const fact *fact[ROWS_MAX];
    size_t count;
} facts_of_place;

static void list_facts(const place *p, bool scan, facts_of_place *out)
{
    out->count = 0;
    for (size_t i = 0; i < fact_count; i++)
        if (facts[i].scan == scan && applies(&facts[i], p)) out->fact[out->count++] = &facts[i];
}

static const fact *first_match(const facts_of_place *list, uint32_t word)
{
    for (size_t i = 0; i < list->count; i++)
        if ((word & list->fact[i]->mask) == list->fact[i]->value) return list->fact[i];
    return NULL;
}

static void compare_word(const xs_decoder *d, const facts_of_place *list, uint32_t word)
{
    const fact *want = first_match(list, word);
    const xs_entry *e = entry_of(d, word);
    xs_entry slow = xs_table_find(xs_decoder_table(d), xs_decoder_target(d), word);
    if (!want || e->decision->cls != want->cls || strcmp(e->decision->handler, want->handler) != 0)
        wrong("%s, %08x: '%s' says %s %s, rules.tsv '%s' %s %s", target_name(d), word, e->rule->name,
              xs_class_name(e->decision->cls), e->decision->handler, want ? want->name : "",
              want ? xs_class_name(want->cls) : "", want ? want->handler : "");
    if (slow.decision != e->decision) wrong("%s, %08x: the lines say something else", target_name(d), word);
}

/* At a rule's edges: its value, something in it, and every fixed bit changed. */
static void compare_edges(const xs_decoder *d, const facts_of_place *list, uint32_t mask, uint32_t value,
                          rng *r)
{
    uint32_t word = value | (rng_next(r) & ~mask);
    compare_word(d, list, value);
    compare_word(d, list, value | ~mask);
    compare_word(d, list, word);
    for (unsigned bit = 0; bit < 32; bit++)
        if (mask >> bit & 1) compare_word(d, list, word ^ UINT32_C(1) << bit);
}

enum { RANDOM_WORDS = 2000 };

static void compare_target(const xs_decoder *d, void *arg)
{
    rng *r = arg;
    place p = place_of(d);
    facts_of_place list;
    size_t count;
    const xs_rule *rules = xs_table_rules(xs_decoder_table(d), &count);
    list_facts(&p, false, &list);
    for (size_t i = 0; i < fact_count; i++) /* of other kernels too */
        compare_edges(d, &list, facts[i].mask, facts[i].value, r);
    for (size_t i = 0; i < count; i++)
        compare_edges(d, &list, rules[i].mask, rules[i].value, r);
    for (size_t i = 0; i < RANDOM_WORDS; i++)
        compare_word(d, &list, rng_next(r));
}

START_TEST(tables_equal_rules_tsv)
{
    static const char *const targets[] = {"arm64/*,arm64/stp-2024", "riscv64/*", "riscv64-c/*", "riscv32/*",
                                          "riscv32-c/*"};
    rng r = rng_new(targets[_i]);
    load_facts();
    each_target(targets[_i], compare_target, &r);
    all_right();
}
END_TEST

/* Exactly: the walk over cubes visits every word, so no word can differ that it does not see. */
typedef struct exact {
    const xs_decoder *decoder;
    facts_of_place list;
    uint64_t words;
} exact;

/* In a cube of the decoder the facts may still split: narrow by their own bits. */
static void compare_cube(exact *x, const xs_entry *e, uint32_t mask, uint32_t value)
{
    for (size_t i = 0; i < x->list.count; i++) {
        const fact *f = x->list.fact[i];
        if ((f->value ^ value) & f->mask & mask) continue;
        uint32_t open = f->mask & ~mask, bit = open & (~open + 1);
        if (open) {
            compare_cube(x, e, mask | bit, value);
            compare_cube(x, e, mask | bit, value | bit);
            return;
        }
        if (e->decision->cls != f->cls || strcmp(e->decision->handler, f->handler) != 0)
            wrong("%s, %08x/%08x: '%s' says %s %s, rules.tsv '%s' %s %s", target_name(x->decoder), value,
                  mask, e->rule->name, xs_class_name(e->decision->cls), e->decision->handler, f->name,
                  xs_class_name(f->cls), f->handler);
        x->words += UINT64_C(1) << __builtin_popcount(~mask);
        return;
    }
}

static bool visit_cube(void *arg, size_t entry, size_t unused, uint32_t mask, uint32_t value)
{
    exact *x = arg;
    size_t count;
    (void)unused;
    compare_cube(x, &xs_decoder_entries(x->decoder, &count)[entry], mask, value);
    return true;
}

static void compare_space(const xs_decoder *d, void *unused)
{
    exact x = {.decoder = d};
    place p = place_of(d);
    (void)unused;
    list_facts(&p, false, &x.list);
    xs_space_walk(d, NULL, visit_cube, &x);
    if (x.words != UINT64_C(1) << 32)
        wrong("%s: %llu words compared", target_name(d), (unsigned long long)x.words);
}

START_TEST(tables_equal_rules_tsv_in_all_words)
{
    load_facts();
    each_target("arm64/*,arm64/stp-2024,riscv64/*,riscv64-c/*,riscv32/*,riscv32-c/*", compare_space, NULL);
    all_right();
}
END_TEST

/* The kprobe scan: the same words stop it, for the same answer. */
static void compare_scan(const xs_decoder *d, void *arg)
{
    rng *r = arg;
    place p = place_of(d);
    facts_of_place list;
    size_t count;
    const xs_entry *scan = xs_decoder_scan_entries(d, &count);
    list_facts(&p, true, &list);
    for (int i = 0; i < RANDOM_WORDS; i++) {
        uint32_t random = rng_next(r),
                 word = random & 1 ? random : (random & 0xf7ffffff & ~0x37000000u) | 0x08000000;
        const fact *want = first_match(&list, word);
        size_t n = 0;
        while (n < count && (word & scan[n].rule->mask) != scan[n].rule->value)
            n++;
        if ((n < count) != (want != NULL) || (want && want->cls != scan[n].decision->cls))
            wrong("%s, %08x: the scan differs from rules.tsv", target_name(d), word);
        if (n < count) cover(&scan[n]);
    }
}

START_TEST(scan_equals_rules_tsv)
{
    rng r = rng_new("scan");
    load_facts();
    each_target("arm64/*,riscv64/*,riscv32/*", compare_scan, &r);
    all_right();
}
END_TEST

Suite *reference_suite(void)
{
    Suite *suite = suite_create("reference");
    TCase *rules = tcase_create("rules.tsv");
    tcase_add_loop_test(rules, tables_equal_rules_tsv, 0, 5);
    tcase_add_test(rules, tables_equal_rules_tsv_in_all_words);
    tcase_add_test(rules, scan_equals_rules_tsv);
    suite_add_tcase(suite, rules);
    return suite;
}
