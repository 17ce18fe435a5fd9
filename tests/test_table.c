/* arch/: what the tables say, as facts, as properties and as counts. */
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "tests.h"

/* ---- fixtures/ISA/classes.tsv: targets, words, class, reason, errno or handler, remark ------------ */

typedef struct expectation {
    const row *row;
    encoding word;
    xs_class cls;
    const char *reason, *how;
} expectation;

static bool as_expected(const expectation *x, const xs_entry *e)
{
    const xs_decision *d = e->decision;
    const char *how = d->cls == XS_REJECT ? d->error : d->handler;
    return d->cls == x->cls && strcmp(xs_reason_name(d->reason), x->reason) == 0 &&
           strcmp(how, x->how) == 0 && e->rule->width == x->word.size * 8;
}

/* Of a compressed word the upper half belongs to the next instruction: it must not matter. */
static void expect(const xs_decoder *d, void *arg)
{
    const expectation *x = arg;
    uint32_t next = x->word.size == 2 ? 0xffff0000 : 0;
    const xs_entry *e = entry_of(d, x->word.word), *other = entry_of(d, x->word.word | next);
    if (as_expected(x, e) && e == other)
        cover(e);
    else
        wrong("%s:%u: %s, %0*x: '%s' says %s, %s, %s %s", x->row->path, x->row->line, target_name(d),
              (int)x->word.size * 2, x->word.word, e->rule->name, xs_class_name(e->decision->cls),
              xs_reason_name(e->decision->reason), e->decision->error, e->decision->handler);
}

static void check_class(const row *r, void *unused)
{
    char *save = NULL;
    (void)unused;
    ck_assert_msg(r->count >= 6, "%s:%u: not six fields", r->path, r->line);
    for (char *w = strtok_r(r->field[1], " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        expectation x = {r, word_named(w), class_named(r->field[2]), r->field[3], r->field[4]};
        each_target(r->field[0], expect, &x);
    }
}

START_TEST(words_have_their_class)
{
    static const char *const files[] = {"fixtures/arm64/classes.tsv", "fixtures/riscv/classes.tsv"};
    each_row(files[_i], check_class, NULL);
    all_right();
}
END_TEST

/* ---- fixtures/ISA/history.tsv: words, target and class before, target and class after, commit, note ---- */

typedef struct moment {
    const row *row;
    encoding word;
    const char *cls; /* "reject", or "simulate simulate_b_cond" */
} moment;

static void expect_moment(const xs_decoder *d, void *arg)
{
    const moment *m = arg;
    const xs_entry *e = entry_of(d, m->word.word);
    const xs_decision *got = e->decision;
    char text[64];
    snprintf(text, sizeof text, "%s%s%s", xs_class_name(got->cls), got->cls == XS_SIMULATE ? " " : "",
             got->cls == XS_SIMULATE ? got->handler : "");
    if (strcmp(text, m->cls) == 0 && e->rule->width == m->word.size * 8)
        cover(e);
    else
        wrong("%s:%u: %s, %0*x: %s ('%s'), not %s", m->row->path, m->row->line, target_name(d),
              (int)m->word.size * 2, m->word.word, text, e->rule->name, m->cls);
}

static void check_history(const row *r, void *unused)
{
    char *save = NULL;
    (void)unused;
    ck_assert_msg(r->count >= 7, "%s:%u: not seven fields", r->path, r->line);
    if (strcmp(r->field[2], r->field[4]) == 0) wrong("%s:%u: no change", r->path, r->line);
    for (char *w = strtok_r(r->field[0], " ", &save); w; w = strtok_r(NULL, " ", &save)) {
        moment before = {r, word_named(w), r->field[2]}, after = {r, word_named(w), r->field[4]};
        each_target(r->field[1], expect_moment, &before);
        each_target(r->field[3], expect_moment, &after);
    }
}

START_TEST(history_is_told)
{
    static const char *const files[] = {"fixtures/arm64/history.tsv", "fixtures/riscv/history.tsv"};
    each_row(files[_i], check_history, NULL);
    all_right();
}
END_TEST

/* ---- the table as data ------------------------------------------------------------------------------ */

START_TEST(builtin_tables_are_clean)
{
    xs_diag diags[8] = {0};
    size_t n = xs_table_check(builtin(xs_builtin_arch((size_t)_i)), diags, 8);
    for (size_t i = 0; i < n && i < 8; i++)
        wrong("line %u: %s: %s", diags[i].line, diags[i].code, diags[i].message);
    all_right();
}
END_TEST

/* Every bit of a rule is fixed, ignored on purpose, or of one operand; a value has no bit outside its mask.
 */
static void check_bits(const xs_table *t, const xs_rule *rule)
{
    const xs_piece *piece = xs_table_pieces(t, rule);
    uint32_t drawn = 0;
    if (rule->value & ~rule->mask) wrong("'%s': value outside its mask", rule->name);
    if (rule->width == 16 && (rule->mask | rule->value) >> 16)
        wrong("'%s': looks at the next instruction", rule->name);
    for (size_t i = 0; i < rule->piece_count; i++) {
        uint32_t bits = (uint32_t)((UINT64_C(1) << piece[i].len) - 1) << piece[i].lsb;
        if (drawn & bits) wrong("'%s': a bit has two operands", rule->name);
        if (i && piece[i].lsb >= piece[i - 1].lsb) wrong("'%s': pieces are not in order", rule->name);
        if ((rule->mask & bits) != 0 && (rule->mask & bits) != bits)
            wrong("'%s': half an operand is fixed", rule->name);
        drawn |= bits;
    }
}

START_TEST(bits_are_accounted_for)
{
    size_t count;
    const xs_table *t = builtin(xs_builtin_arch((size_t)_i));
    const xs_rule *rules = xs_table_rules(t, &count);
    for (size_t i = 0; i < count; i++)
        check_bits(t, &rules[i]);
    all_right();
}
END_TEST

START_TEST(builtin_tables_are_listed)
{
    static const char *const archs[] = {"arm64", "riscv64", "riscv32"};
    size_t len = 1;
    for (size_t i = 0; i < 3; i++)
        ck_assert_str_eq(xs_builtin_arch(i), archs[i]);
    ck_assert_ptr_null(xs_builtin_arch(3));
    ck_assert_ptr_null(xs_builtin_table("x86", &len));
    ck_assert_uint_eq(len, 0);
    ck_assert_ptr_eq(xs_builtin_table("riscv32", &len), xs_builtin_table("riscv64", &len));
}
END_TEST

/* ---- targets ------------------------------------------------------------------------------------------ */

/* What the target is written as, or what the refusal names. */
static const struct {
    const char *text, *canonical, *why;
} targets[] = {
    {"arm64", "arm64/7.3/uprobe", NULL},
    {"arm64/6.12.y", "arm64/6.12.y/uprobe", NULL},
    {"arm64/6.12.y/kprobe", "arm64/6.12.y/kprobe", NULL},
    {"arm64/4.10/uprobe", "arm64/4.10/uprobe", NULL},
    {"arm64/4.20", "arm64/4.20/uprobe", NULL},
    {"arm64/ideal", "arm64/ideal", NULL},
    {"arm64/ideal/uprobe", "arm64/ideal", NULL},
    {"arm64/stp-2024", "arm64/stp-2024", NULL},
    {"riscv64", "riscv64/7.3/uprobe", NULL},
    {"riscv64-c/6.6/kprobe", "riscv64-c/6.6/kprobe", NULL},
    {"riscv64-c+c/6.6", "riscv64/6.6/uprobe", NULL},
    {"riscv64+c", "riscv64/7.3/uprobe", NULL},
    {"riscv64+zcmt+zcmp/ideal", "riscv64+zcmp+zcmt/ideal", NULL},
    {"riscv32/5.12", "riscv32/5.12/uprobe", NULL},
    {"x86", NULL, "unknown architecture 'x86'"},
    {"", NULL, "unknown architecture ''"},
    {"arm64+c", NULL, "unknown extension 'c'"},
    {"riscv64+", NULL, "unknown extension ''"},
    {"arm64/", "arm64/7.3/uprobe", NULL},
    {"arm64//kprobe", "arm64/7.3/kprobe", NULL},
    {"arm64/4.9", NULL, "unknown kernel '4.9'"},
    {"arm64/7.4", NULL, "unknown kernel '7.4'"},
    {"arm64/6.6.y", NULL, "unknown kernel '6.6.y'"},
    {"arm64/6.12/", NULL, "unknown mode ''"},
    {"arm64/6.12/xprobe", NULL, "unknown mode 'xprobe'"},
    {"arm64/6.12/uprobe/", NULL, "unknown mode 'uprobe/'"},
    {"arm64/ideal/kprobe", NULL, "ideal has mode uprobe alone"},
    {"arm64/stp-2024/kprobe", NULL, "stp-2024 has mode uprobe alone"},
    {"riscv64/5.11", NULL, "unknown kernel '5.11'"},
    {"riscv64/0123456789012345678901234567890123456789", NULL, "unknown kernel '0123456789"},
};

START_TEST(targets_by_name)
{
    const char *text = targets[_i].text;
    const xs_table *t = builtin(strncmp(text, "riscv", 5) == 0 ? "riscv64" : "arm64");
    xs_target target;
    char why[160], name[80];
    memset(&target, 0xee, sizeof target);
    xs_status status = xs_target_parse(t, text, &target, why, sizeof why);
    ck_assert_int_eq(xs_target_parse(t, text, &target, NULL, 0), status);
    ck_assert_int_eq(status, targets[_i].canonical ? XS_OK : XS_E_TARGET);
    if (status == XS_OK) {
        size_t n = xs_target_format(t, &target, name, sizeof name);
        ck_assert_str_eq(name, targets[_i].canonical);
        ck_assert_uint_eq(n, strlen(name));
        ck_assert_uint_eq(xs_target_format(t, &target, name, 8), n);
        ck_assert_uint_eq(strlen(name), 7);
        ck_assert_uint_eq(xs_target_format(t, &target, NULL, 0), n);
    } else {
        ck_assert_msg(strncmp(why, targets[_i].why, strlen(targets[_i].why)) == 0, "%s: %s", text, why);
        ck_assert(!target.arch && !target.kernel && !target.mode && !target.ext);
    }
}
END_TEST

START_TEST(names_are_closed_lists)
{
    ck_assert_str_eq(xs_reason_name(XS_WHY_COUNT), "?");
    ck_assert_str_eq(xs_hazard_name(XS_HAZARD_COUNT), "?");
    ck_assert_str_eq(xs_flow_name(XS_FLOW_COUNT), "?");
    ck_assert_str_eq(xs_class_name((xs_class)4), "?");
    ck_assert_str_eq(xs_status_text((xs_status)99), "?");
    for (unsigned i = 0; i < XS_WHY_COUNT; i++)
        ck_assert_str_ne(xs_reason_name((xs_reason)i), "?");
    for (unsigned i = 0; i <= XS_E_NOMEM; i++)
        ck_assert_str_ne(xs_status_text((xs_status)i), "?");
    for (unsigned i = 0; i < XS_HAZARD_COUNT; i++)
        ck_assert_str_ne(xs_hazard_name(i), "?");
}
END_TEST

START_TEST(declared_names_in_order)
{
    const xs_table *t = builtin("riscv64");
    ck_assert_str_eq(xs_table_arch(t, 1), "riscv32");
    ck_assert_str_eq(xs_table_mode(t, 0), "uprobe");
    ck_assert_str_eq(xs_table_ext(t, 0), "c");
    ck_assert_str_eq(xs_table_kernel(t, 0), "5.12");
    ck_assert_ptr_null(xs_table_arch(t, 2));
    ck_assert_ptr_null(xs_table_mode(t, 2));
    ck_assert_ptr_null(xs_table_ext(t, 3));
    ck_assert_ptr_null(xs_table_kernel(t, SIZE_MAX));
    ck_assert_uint_eq(xs_table_ext_bit(t, "zcmt"), 4);
    ck_assert_uint_eq(xs_table_ext_bit(t, "v"), 0);
    ck_assert_int_eq(xs_table_kernel_kind(t, 0), XS_KERNEL_RELEASE);
    ck_assert_int_eq(xs_table_kernel_kind(t, SIZE_MAX), XS_KERNEL_RELEASE);
    ck_assert_uint_eq(xs_table_granule(t), 2);
    ck_assert_uint_eq(xs_table_granule(builtin("arm64")), 4);
}
END_TEST

/* ---- ideal ----------------------------------------------------------------------------------------------
 */

/* Reasons that a word must not have when it runs at another address. */
static bool may_be_stepped(xs_reason why)
{
    return why != XS_WHY_PC_RELATIVE && why != XS_WHY_BRANCH && why != XS_WHY_EXCLUSIVE &&
           why != XS_WHY_SEQUENCE;
}

static bool kernels_use_it(const xs_decoder *ideal, const xs_decision *d);

static void check_ideal(const xs_decoder *ideal, void *unused)
{
    size_t count;
    const xs_entry *e = xs_decoder_entries(ideal, &count);
    (void)unused;
    for (size_t i = 0; i < count; i++) {
        const xs_decision *d = e[i].decision;
        if (d->cls == XS_SLOT && (e[i].rule->flow != XS_FLOW_NONE || !may_be_stepped(d->reason)))
            wrong("%s: '%s' in a slot although %s", target_name(ideal), e[i].rule->name,
                  xs_reason_name(d->reason));
        if (d->cls == XS_SIMULATE && strcmp(d->handler, "-") == 0)
            wrong("%s: '%s' has no handler", target_name(ideal), e[i].rule->name);
        xs_insn insn = {.word = e[i].rule->value, .entry = &e[i]};
        xs_rule_operands(xs_decoder_table(ideal), e[i].rule, insn.word, insn.op);
        if (xs_quirks(ideal, &insn)) wrong("%s: '%s' has a quirk", target_name(ideal), e[i].rule->name);
        if (!*d->note && !kernels_use_it(ideal, d))
            wrong("%s: '%s' (line %u) is not justified", target_name(ideal), e[i].rule->name, d->line);
    }
    if (e[count - 1].rule->line) wrong("%s: the last entry is not no-rule", target_name(ideal));
}

typedef struct use {
    const xs_decision *decision;
    bool found;
} use;

static void look_for_use(const xs_decoder *d, void *arg)
{
    use *u = arg;
    size_t count;
    const xs_entry *e = xs_decoder_entries(d, &count);
    for (size_t i = 0; i < count; i++)
        u->found |= e[i].decision == u->decision;
}

/* The newest kernel decides by the same line. */
static bool kernels_use_it(const xs_decoder *ideal, const xs_decision *d)
{
    use u = {d, false};
    char list[80];
    const xs_table *t = xs_decoder_table(ideal);
    snprintf(list, sizeof list, "%s/7.3", xs_table_arch(t, xs_decoder_target(ideal)->arch));
    each_target(list, look_for_use, &u);
    return u.found;
}

static const char ideals[] =
    "arm64/ideal,riscv64/ideal,riscv32/ideal,riscv64+zcmp+zcmt/ideal,riscv64-c/ideal";

START_TEST(ideal_keeps_its_promises)
{
    each_target(ideals, check_ideal, NULL);
    all_right();
}
END_TEST

/* ---- census and hazards: golden counts over all words
 * ------------------------------------------------------ */

enum { PAIRS_MAX = 2048 };

/* Words on which a kernel and ideal each decide by one entry, with the same hazards. */
typedef struct pair {
    size_t kernel, ideal;
    unsigned hazards;
    uint64_t words;
} pair;

typedef struct census {
    const xs_decoder *kernel, *ideal;
    pair pair[PAIRS_MAX];
    size_t count;
} census;

static void count_pair(census *c, size_t kernel, size_t ideal, unsigned hazards, uint64_t words)
{
    size_t i = 0;
    while (i < c->count &&
           !(c->pair[i].kernel == kernel && c->pair[i].ideal == ideal && c->pair[i].hazards == hazards))
        i++;
    ck_assert(i < PAIRS_MAX);
    if (i == c->count) c->pair[c->count++] = (pair){kernel, ideal, hazards, 0};
    c->pair[i].words += words;
}

/* Word bits that the quirks of a decision look at. */
static uint32_t hazard_bits(const xs_table *t, const xs_entry *e)
{
    const xs_piece *piece = xs_table_pieces(t, e->rule);
    uint32_t bits = 0;
    for (size_t q = 0; q < e->decision->quirk_count; q++)
        for (size_t i = 0; i < e->rule->piece_count; i++) {
            const xs_quirk_use *quirk = &e->decision->quirk[q];
            if (quirk->left < 0 || (piece[i].operand != quirk->left && piece[i].operand != quirk->right))
                continue;
            bits |= (uint32_t)((UINT64_C(1) << piece[i].len) - 1) << piece[i].lsb;
        }
    return bits;
}

static bool count_cube(void *arg, size_t a, size_t b, uint32_t mask, uint32_t value)
{
    census *c = arg;
    size_t count;
    const xs_entry *kernel = &xs_decoder_entries(c->kernel, &count)[a];
    const xs_entry *ideal = &xs_decoder_entries(c->ideal, &count)[b];
    uint32_t look = hazard_bits(xs_decoder_table(c->kernel), kernel) & ~mask, bits = 0;
    uint64_t words = UINT64_C(1) << __builtin_popcount(~mask & ~look);
    do {
        uint32_t w = value | bits;
        uint8_t bytes[4] = {(uint8_t)w, (uint8_t)(w >> 8), (uint8_t)(w >> 16), (uint8_t)(w >> 24)};
        xs_insn insn = {0};
        ck_assert_int_eq(xs_decode(c->kernel, bytes, 4, &insn), XS_OK);
        count_pair(c, a, b, xs_hazards(c->kernel, &insn, ideal), words);
        bits = (bits - look) & look;
    } while (bits);
    return true;
}

static int by_entries(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (x->kernel != y->kernel) return x->kernel < y->kernel ? -1 : 1;
    if (x->ideal != y->ideal) return x->ideal < y->ideal ? -1 : 1;
    return x->hazards < y->hazards ? -1 : x->hazards > y->hazards;
}

/* "slot", "simulate simulate_b_bl", "reject EINVAL" */
static void print_decision(FILE *f, const xs_entry *e)
{
    const xs_decision *d = e->decision;
    const char *how = d->cls == XS_SIMULATE ? d->handler : d->error;
    fprintf(f, "%s: %s%s%s", e->rule->name, xs_class_name(d->cls), d->cls == XS_SLOT ? "" : " ",
            d->cls == XS_SLOT ? "" : how);
}

static void print_hazards(FILE *f, unsigned hazards)
{
    const char *comma = "";
    for (unsigned i = 0; i < XS_HAZARD_COUNT; i++) {
        if (!(hazards >> i & 1)) continue;
        fprintf(f, "%s%s", comma, xs_hazard_name(i));
        comma = ",";
    }
}

/* One line for each rule of the kernel, and below it what ideal says where that has a hazard. */
static void print_census(FILE *f, const census *c)
{
    size_t count;
    const xs_entry *kernel = xs_decoder_entries(c->kernel, &count),
                   *ideal = xs_decoder_entries(c->ideal, &count);
    uint64_t words = 0;
    for (size_t i = 0; i < c->count; i++) {
        const pair *p = &c->pair[i];
        words += p->words;
        if (i + 1 == c->count || p[1].kernel != p->kernel) {
            fprintf(f, "%10llu  ", (unsigned long long)words);
            print_decision(f, &kernel[p->kernel]);
            fputc('\n', f);
            words = 0;
            for (size_t k = 0; k < c->count; k++) {
                if (c->pair[k].kernel != p->kernel || !c->pair[k].hazards) continue;
                fprintf(f, "    %10llu  ", (unsigned long long)c->pair[k].words);
                print_hazards(f, c->pair[k].hazards);
                fputs("  ", f);
                print_decision(f, &ideal[c->pair[k].ideal]);
                fputc('\n', f);
            }
        }
    }
}

static void take_census(const char *target, census *c)
{
    c->kernel = decoder_of(target);
    c->ideal = ideal_of(c->kernel);
    c->count = 0;
    ck_assert(xs_space_walk(c->kernel, c->ideal, count_cube, c));
    qsort(c->pair, c->count, sizeof *c->pair, by_entries);
}

/* Words of each class; in text is where they add up. */
static void sum_classes(const census *c, uint64_t sums[3])
{
    size_t count;
    const xs_entry *e = xs_decoder_entries(c->kernel, &count);
    memset(sums, 0, 3 * sizeof *sums);
    for (size_t i = 0; i < c->count; i++)
        sums[e[c->pair[i].kernel].decision->cls] += c->pair[i].words;
}

static const char *const censuses[] = {
    "arm64/4.10/uprobe",   "arm64/5.10/uprobe",  "arm64/6.12/uprobe",  "arm64/6.12.y/uprobe",
    "arm64/6.12.y/kprobe", "arm64/7.3/uprobe",   "arm64/7.3/kprobe",   "arm64/stp-2024/uprobe",
    "riscv64/5.12/uprobe", "riscv64/6.1/uprobe", "riscv64/7.3/uprobe", "riscv64+zcmp+zcmt/7.3/uprobe",
    "riscv32/7.3/uprobe",
};

/* fixtures/arm64/census-6.12.y-uprobe.txt, fixtures/riscv/census-riscv64-7.3-uprobe.txt */
static void census_path(const char *target, char *path, size_t size)
{
    bool arm64 = strncmp(target, "arm64/", 6) == 0;
    snprintf(path, size, "fixtures/%s/census-%s.txt", arm64 ? "arm64" : "riscv", arm64 ? target + 6 : target);
    for (char *c = strstr(path, "census-"); *c; c++)
        if (*c == '/') *c = '-';
}

START_TEST(census_and_hazards)
{
    census *c = malloc(sizeof *c);
    char *text, path[128];
    size_t len;
    uint64_t sums[3];
    FILE *f = open_memstream(&text, &len);
    ck_assert(c != NULL && f != NULL);
    take_census(censuses[_i], c);
    sum_classes(c, sums);
    ck_assert_uint_eq(sums[0] + sums[1] + sums[2], UINT64_C(1) << 32);
    fprintf(f, "# %s: words of each rule, and those with a hazard by what ideal says of them\n",
            censuses[_i]);
    fprintf(f, "# slot %llu, simulate %llu, reject %llu\n", (unsigned long long)sums[XS_SLOT],
            (unsigned long long)sums[XS_SIMULATE], (unsigned long long)sums[XS_REJECT]);
    print_census(f, c);
    fclose(f);
    free(c);
    census_path(censuses[_i], path, sizeof path);
    golden(path, text);
    free(text);
    all_right();
}
END_TEST

/* ---- the space by quirks ------------------------------------------------------------------------- */

typedef struct quirk_sum {
    const xs_decoder *d;
    rng r;
    uint64_t words, shown;
} quirk_sum;

/* Any word of the piece has the quirks that are said of the piece. */
static bool check_piece(void *arg, size_t a, size_t b, uint32_t quirks, uint32_t mask, uint32_t value)
{
    quirk_sum *k = arg;
    (void)b;
    for (int i = 0; i < 3; i++) {
        uint32_t word = (rng_next(&k->r) & ~mask) | value;
        uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                            (uint8_t)(word >> 24)};
        xs_insn insn;
        ck_assert_int_eq(xs_decode(k->d, bytes, 4, &insn), XS_OK);
        if (xs_lookup(k->d, word) != a || xs_quirks(k->d, &insn) != quirks)
            wrong("%s: 0x%08x has quirks 0x%x, its piece 0x%x", target_name(k->d), word,
                  xs_quirks(k->d, &insn), quirks);
    }
    k->words += UINT64_C(1) << (32 - __builtin_popcount(mask));
    k->shown += quirks ? UINT64_C(1) << (32 - __builtin_popcount(mask)) : 0;
    return true;
}

START_TEST(quirks_in_space)
{
    static const char *const of[] = {"arm64/6.1/uprobe", "arm64/stp-2024/uprobe", "riscv64/6.1/uprobe"};
    quirk_sum k = {.d = decoder_of(of[_i]), .r = rng_new("quirks_in_space")};
    ck_assert(xs_quirk_walk(k.d, ideal_of(k.d), check_piece, &k));
    ck_assert_uint_eq(k.words, UINT64_C(1) << 32);
    ck_assert_uint_gt(k.shown, 0);
    all_right();
}
END_TEST

/* Counted on real kernels. RISC-V: of 2^30 words with low bits 11, and of 49152 compressed halfwords. */
static const struct {
    const char *target;
    uint64_t slot, simulate, reject;
} totals[] = {
    {"arm64/6.1.y/uprobe", 3765426951, 411041888, 118498457},
    {"arm64/6.1.y/kprobe", 3765426951, 461373536, 68166809},
    {"arm64/6.12.y/uprobe", 3740261127, 419430496, 135275673},
    {"arm64/6.12.y/kprobe", 3740261127, 469762144, 84944025},
    {"riscv64/6.1.y/uprobe", 901775360 + 40896ull * 65536, 104857600, 67108864 + 8256ull * 65536},
    {"riscv64/6.1.y/kprobe", 901775360 + 40896ull * 65536, 104857600, 67108864 + 8256ull * 65536},
    {"riscv64/6.12.y/uprobe", 901775360 + 42945ull * 65536, 104857600 + 6206ull * 65536, 67108864 + 65536},
    {"riscv64/6.12.y/kprobe", 901775360 + 42945ull * 65536, 104857600 + 6206ull * 65536, 67108864 + 65536},
};

START_TEST(totals_of_real_kernels)
{
    census *c = malloc(sizeof *c);
    uint64_t sums[3];
    ck_assert(c != NULL);
    take_census(totals[_i].target, c);
    sum_classes(c, sums);
    free(c);
    ck_assert_uint_eq(sums[XS_SLOT], totals[_i].slot);
    ck_assert_uint_eq(sums[XS_SIMULATE], totals[_i].simulate);
    ck_assert_uint_eq(sums[XS_REJECT], totals[_i].reject);
}
END_TEST

Suite *table_suite(void)
{
    Suite *suite = suite_create("table");
    TCase *data = tcase_create("data"), *facts = tcase_create("facts"), *ideal = tcase_create("ideal");
    tcase_add_loop_test(data, builtin_tables_are_clean, 0, 2);
    tcase_add_loop_test(data, bits_are_accounted_for, 0, 2);
    tcase_add_test(data, builtin_tables_are_listed);
    tcase_add_loop_test(data, targets_by_name, 0, sizeof targets / sizeof *targets);
    tcase_add_test(data, names_are_closed_lists);
    tcase_add_test(data, declared_names_in_order);
    tcase_add_loop_test(facts, words_have_their_class, 0, 2);
    tcase_add_loop_test(facts, history_is_told, 0, 2);
    tcase_add_loop_test(facts, totals_of_real_kernels, 0, sizeof totals / sizeof *totals);
    tcase_add_test(ideal, ideal_keeps_its_promises);
    tcase_add_loop_test(ideal, quirks_in_space, 0, 3);
    tcase_add_loop_test(ideal, census_and_hazards, 0, sizeof censuses / sizeof *censuses);
    suite_add_tcase(suite, data);
    suite_add_tcase(suite, facts);
    suite_add_tcase(suite, ideal);
    return suite;
}
