/* decoder/: words to rules, text to classes, bits to operands. */
#include <stdlib.h>
#include <string.h>

#include "tests.h"

/* ---- answers of real kernels, for every word -------------------------------------------------- */

/* "first last class handler": what the kernel's own decoder said. */
typedef struct run {
    uint32_t first, last;
    xs_class cls;
    char handler[32];
} run;

typedef struct kernel_runs {
    run *run;
    size_t count, at; /* at: the run that the next word is in */
    uint64_t next;    /* the next word that the decoder must speak of */
    const xs_decoder *decoder;
} kernel_runs;

static void add_run(const row *r, void *arg)
{
    kernel_runs *k = arg;
    char last[9], cls[24];
    if ((k->count & (k->count - 1)) == 0) k->run = realloc(k->run, (k->count * 2 + 1) * sizeof *k->run);
    ck_assert(k->run != NULL);
    run *to = &k->run[k->count++];
    ck_assert_int_eq(sscanf(r->field[0], "%x %8s %23s %31s", &to->first, last, cls, to->handler), 4);
    to->last = hex(last);
    to->cls = class_named(cls);
}

/* A run of the decoder: every run of the kernel in it has the same answer. */
static bool compare_run(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    kernel_runs *k = arg;
    size_t count;
    const xs_entry *e = &xs_decoder_entries(k->decoder, &count)[entry];
    if (first != k->next) wrong("run %08x-%08x does not follow the one before", first, last);
    k->next = (uint64_t)last + 1;
    for (;; k->at++) {
        const run *want = &k->run[k->at];
        if (e->decision->cls != want->cls || strcmp(e->decision->handler, want->handler) != 0)
            wrong("%08x-%08x: '%s' says %s %s, the kernel %s %s", first, last, e->rule->name,
                  xs_class_name(e->decision->cls), e->decision->handler, xs_class_name(want->cls),
                  want->handler);
        if (want->last >= last) break;
    }
    if (k->run[k->at].last == last) k->at++;
    cover(e);
    return true;
}

static void equals_kernel(const char *target, const char *path)
{
    kernel_runs k = {.decoder = decoder_of(target)};
    each_row(path, add_run, &k);
    ck_assert(xs_space_runs(k.decoder, 0, 0, compare_run, &k));
    if (k.next != UINT64_C(1) << 32 || k.at != k.count) wrong("%s: words are left out", target);
    free(k.run);
    all_right();
}

START_TEST(arm64_equals_kernels)
{
    static const char *const golds[][2] = {
        {"arm64/6.12.y/uprobe", "fixtures/arm64/kernel-6.12.117-uprobe.rle.xz"},
        {"arm64/7.3/uprobe", "fixtures/arm64/kernel-7.3.4-uprobe.rle.xz"},
        {"arm64/7.3.y/uprobe", "fixtures/arm64/kernel-7.3.4-uprobe.rle.xz"},
    };
    equals_kernel(golds[_i][0], golds[_i][1]);
}
END_TEST

/* RISC-V: an answer for each low halfword; the upper one never matters. */
typedef struct kernel_lows {
    uint8_t size[65536];
    xs_class cls[65536];
    char handler[65536][24];
} kernel_lows;

static void add_low(const row *r, void *arg)
{
    kernel_lows *k = arg;
    uint32_t low = hex(r->field[0]);
    k->size[low] = *r->field[1] == '2' ? 2 : 4; /* longer ones: the first four bytes are copied */
    k->cls[low] = class_named(r->field[2]);
    snprintf(k->handler[low], sizeof k->handler[low], "%s", r->field[3]);
}

typedef struct low_walk {
    const kernel_lows *kernel;
    const xs_decoder *decoder;
    uint64_t words;
} low_walk;

/* All words of a cube have one entry: compare for each low halfword in it. */
static bool compare_cube(void *arg, size_t entry, size_t unused, uint32_t mask, uint32_t value)
{
    low_walk *w = arg;
    size_t count;
    const xs_entry *e = &xs_decoder_entries(w->decoder, &count)[entry];
    uint32_t open = ~mask & 0xffff, low = 0;
    (void)unused;
    do {
        uint32_t at = (value & 0xffff) | low;
        if (e->decision->cls != w->kernel->cls[at] || e->rule->width / 8 != w->kernel->size[at] ||
            strcmp(e->decision->handler, w->kernel->handler[at]) != 0)
            wrong("%s, %04x: '%s' says %s %s", target_name(w->decoder), at, e->rule->name,
                  xs_class_name(e->decision->cls), e->decision->handler);
        low = (low - open) & open;
    } while (low);
    w->words += UINT64_C(1) << __builtin_popcount(~mask);
    cover(e);
    return true;
}

static void compare_lows(const xs_decoder *d, void *arg)
{
    low_walk w = {arg, d, 0};
    ck_assert(xs_space_walk(d, NULL, compare_cube, &w));
    if (w.words != UINT64_C(1) << 32)
        wrong("%s: the walk sees %llu words", target_name(d), (unsigned long long)w.words);
}

START_TEST(riscv_equals_kernels)
{
    static const char *const golds[][2] = {
        {"riscv64/6.12.y,riscv64/6.12", "fixtures/riscv/kernel-6.12.117-lo16.tsv.xz"},
        {"riscv64/7.2,riscv64/7.2.y", "fixtures/riscv/kernel-7.2.13-lo16.tsv.xz"},
    };
    kernel_lows *k = calloc(1, sizeof *k);
    ck_assert(k != NULL);
    each_row(golds[_i][1], add_low, k);
    each_target(golds[_i][0], compare_lows, k);
    free(k);
    all_right();
}
END_TEST

/* ---- the index -------------------------------------------------------------------------------- */

static void compare_lookup(const xs_decoder *d, uint32_t word)
{
    const xs_entry *e = entry_of(d, word);
    xs_entry slow = xs_table_find(xs_decoder_table(d), xs_decoder_target(d), word);
    if (!slow.rule) {
        if (strcmp(e->rule->name, "no-rule") != 0)
            wrong("%s, %08x: '%s' but no line", target_name(d), word, e->rule->name);
    } else if (e->rule != slow.rule || e->decision != slow.decision) {
        wrong("%s, %08x: the index says '%s', the lines '%s'", target_name(d), word, e->rule->name,
              slow.rule->name);
    }
}

/* Words at the edges of every rule of the table, and anywhere. */
static void compare_index(const xs_decoder *d, void *arg)
{
    rng *r = arg;
    size_t count;
    const xs_rule *rules = xs_table_rules(xs_decoder_table(d), &count);
    for (size_t i = 0; i < count; i++) {
        uint32_t word = rules[i].value | (rng_next(r) & ~rules[i].mask);
        compare_lookup(d, rules[i].value);
        compare_lookup(d, rules[i].value | ~rules[i].mask);
        compare_lookup(d, word);
        compare_lookup(d, word ^ UINT32_C(1) << (rng_next(r) & 31));
    }
    for (size_t i = 0; i < 500; i++)
        compare_lookup(d, rng_next(r));
}

static const char everything[] =
    "arm64/*,arm64/stp-2024,arm64/ideal,riscv64/*,riscv64/ideal,riscv64+zcmp/ideal,riscv64+zcmt/ideal,"
    "riscv64+zcmp+zcmt/ideal,riscv32/*,riscv32/ideal,riscv64-c/*,riscv32-c/*,riscv64-c/ideal,riscv32-c/ideal";

START_TEST(index_equals_lines)
{
    rng r = rng_new("index");
    each_target(everything, compare_index, &r);
    all_right();
}
END_TEST

START_TEST(index_equals_lines_without_default)
{
    static const char text[] = "%arch a\n%modes m\n%kernels 1.0\n%operand n unsigned\n"
                               "one 0000 n[27:0] slot\ntwo 1 n[14:0] 0000000000000000 reject\n";
    size_t count;
    xs_table *t = xs_table_parse(text, sizeof text - 1, NULL, 0, &count);
    xs_target target;
    xs_decoder *d;
    rng r = rng_new("no default");
    ck_assert(t != NULL);
    ck_assert_int_eq(xs_target_parse(t, "a", &target, NULL, 0), XS_OK);
    ck_assert_int_eq(xs_decoder_new(t, &target, &d), XS_OK);
    for (int i = 0; i < 2000; i++)
        compare_lookup(d, rng_next(&r));
    const xs_entry *e = entry_of(d, 0x7fffffff);
    ck_assert_str_eq(e->rule->name, "no-rule");
    ck_assert_int_eq(e->decision->cls, XS_REJECT);
    xs_decoder_free(d);
    xs_table_free(t);
    all_right();
}
END_TEST

/* More rules than one 64-bit set, each matching one value of the low nine bits. */
START_TEST(limit_of_rules)
{
    char *text;
    size_t len, count;
    xs_target target;
    xs_decoder *d;
    for (unsigned rules = XS_MAX_RULES - 1; rules <= XS_MAX_RULES + 1; rules++) {
        FILE *f = open_memstream(&text, &len);
        fputs("%arch a\n%modes m\n%kernels 1.0\n%operand n unsigned\n", f);
        for (unsigned i = 0; i < rules; i++) {
            fprintf(f, "r%u n[20:0] 1", i);
            for (int bit = 9; bit >= 0; bit--)
                fputc('0' + (int)(i >> bit & 1), f);
            fputs(" slot\n", f);
        }
        fclose(f);
        xs_table *t = xs_table_parse(text, len, NULL, 0, &count);
        ck_assert(t != NULL);
        xs_diag diags[2] = {0};
        xs_table_check(t, diags, 2); /* words are left over: no-default */
        ck_assert_str_eq(diags[0].code, rules > XS_MAX_RULES ? "too-many" : "no-default");
        ck_assert_int_eq(xs_target_parse(t, "a", &target, NULL, 0), XS_OK);
        ck_assert_int_eq(xs_decoder_new(t, &target, &d), rules > XS_MAX_RULES ? XS_E_LIMIT : XS_OK);
        ck_assert((d == NULL) == (rules > XS_MAX_RULES));
        for (uint32_t i = 0; d && i < 1100; i++)
            compare_lookup(d, 0x400 | i | i << 11);
        xs_decoder_free(d);
        xs_table_free(t);
        free(text);
    }
    all_right();
}
END_TEST

/* ---- the whole space ------------------------------------------------------------------------------- */

typedef struct space {
    const xs_decoder *decoder;
    unsigned low_bits;
    uint32_t low;
    uint64_t next; /* where the next run must begin */
    unsigned calls, stop_at;
} space;

/* Runs follow each other, and both their ends are decided by the entry. */
static bool check_run(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    space *s = arg;
    uint32_t a = (uint32_t)((uint64_t)first << s->low_bits) | s->low;
    uint32_t b = (uint32_t)((uint64_t)last << s->low_bits) | s->low;
    if (first != s->next || last < first || xs_lookup(s->decoder, a) != entry ||
        xs_lookup(s->decoder, b) != entry)
        wrong("%s: run %08x-%08x above %u low bits %04x", target_name(s->decoder), first, last, s->low_bits,
              s->low);
    s->next = (uint64_t)last + 1;
    return ++s->calls != s->stop_at;
}

static void check_runs(const xs_decoder *d, void *arg)
{
    rng *r = arg;
    static const unsigned widths[] = {0, 1, 2, 7, 15, 16, 31};
    bool mixed = xs_table_granule(xs_decoder_table(d)) == 2; /* the lowest bits decide: every word is a run */
    for (size_t i = mixed ? 4 : 0; i < sizeof widths / sizeof *widths; i++) {
        space s = {.decoder = d, .low_bits = widths[i]};
        s.low = rng_next(r) & ((UINT32_C(1) << widths[i]) - 1);
        ck_assert(xs_space_runs(d, widths[i], s.low, check_run, &s));
        if (s.next != UINT64_C(1) << (32 - widths[i]))
            wrong("%s: %u low bits: not all words", target_name(d), widths[i]);
    }
}

START_TEST(runs_cover_the_space)
{
    rng r = rng_new("runs");
    each_target("arm64/7.3,arm64/ideal,riscv64/7.3,riscv64/ideal,riscv32-c/5.12", check_runs, &r);
    all_right();
}
END_TEST

/* A word of each cube is decided by both entries. */
static bool check_cube(void *arg, size_t a, size_t b, uint32_t mask, uint32_t value)
{
    space *s = arg;
    uint32_t last = value | ~mask;
    if (value & ~mask) wrong("cube %08x/%08x", value, mask);
    if (xs_lookup(s->decoder, value) != a || xs_lookup(s->decoder, last) != a ||
        xs_lookup(ideal_of(s->decoder), value) != b || xs_lookup(ideal_of(s->decoder), last) != b)
        wrong("%s: cube %08x/%08x", target_name(s->decoder), value, mask);
    s->next += UINT64_C(1) << __builtin_popcount(~mask);
    return ++s->calls != s->stop_at;
}

START_TEST(cubes_cover_the_space)
{
    static const char *const kernels[] = {"arm64/7.3", "arm64/4.10/kprobe", "riscv64/7.3", "riscv32/6.1"};
    space s = {.decoder = decoder_of(kernels[_i])};
    ck_assert(xs_space_walk(s.decoder, ideal_of(s.decoder), check_cube, &s));
    ck_assert_uint_eq(s.next, UINT64_C(1) << 32);
    all_right();
}
END_TEST

START_TEST(walks_stop_when_told)
{
    space runs = {.decoder = decoder_of("arm64/7.3"), .stop_at = 3}, cubes = runs;
    ck_assert(!xs_space_runs(runs.decoder, 0, 0, check_run, &runs));
    ck_assert_uint_eq(runs.calls, 3);
    ck_assert(!xs_space_walk(cubes.decoder, ideal_of(cubes.decoder), check_cube, &cubes));
    ck_assert_uint_eq(cubes.calls, 3);
    all_right();
}
END_TEST

/* ---- one instruction ------------------------------------------------------------------------------ */

static const struct {
    const char *target, *bytes;
    size_t avail;
    xs_status status;
    uint8_t size;
    uint32_t word;
} cuts[] = {
    {"arm64/7.3", "\x1f\x20\x03\xd5", 4, XS_OK, 4, 0xd503201f},
    {"arm64/7.3", "\x1f\x20\x03\xd5", 3, XS_E_TRUNCATED, 4, 0},
    {"arm64/7.3", "\x1f\x20\x03\xd5", 0, XS_E_TRUNCATED, 4, 0},
    {"riscv64/7.3", "\x01\x00", 2, XS_OK, 2, 0x0001},
    {"riscv64/7.3", "\x01\x00\xff\xff", 4, XS_OK, 2, 0x0001},
    {"riscv64/7.3", "\x01\x00", 1, XS_E_TRUNCATED, 2, 0},
    {"riscv64/7.3", "\x01\x00", 0, XS_E_TRUNCATED, 2, 0},
    {"riscv64/7.3", "\x67\x80\x00\x00", 4, XS_OK, 4, 0x00008067},
    {"riscv64/7.3", "\x67\x80\x00\x00", 3, XS_E_TRUNCATED, 4, 0},
    {"riscv64/7.3", "\x67\x80\x00\x00", 2, XS_E_TRUNCATED, 4, 0},
    {"riscv64/7.3", "\x67\x80\x00\x00", 1, XS_E_TRUNCATED, 2, 0},
    {"riscv64/ideal", "\x1f\x00", 2, XS_E_TRUNCATED, 4, 0}, /* longer than 32 bits */
};

START_TEST(cut_instructions)
{
    xs_insn insn;
    memset(&insn, 0xee, sizeof insn);
    xs_status status = xs_decode(decoder_of(cuts[_i].target), cuts[_i].bytes, cuts[_i].avail, &insn);
    ck_assert_int_eq(status, cuts[_i].status);
    ck_assert_uint_eq(insn.size, cuts[_i].size);
    ck_assert_uint_eq(insn.word, cuts[_i].word);
    ck_assert((insn.entry != NULL) == (status == XS_OK));
}
END_TEST

/* ---- operands ------------------------------------------------------------------------------------ */

static int operand_number(const xs_table *t, const char *name)
{
    size_t count;
    const xs_operand *operands = xs_table_operands(t, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(operands[i].name, name) == 0) return (int)i;
    return -1;
}

/* The operands of a rule, one bit each: all, or only those with bits that are not fixed. */
static uint64_t operands_drawn(const xs_table *t, const xs_rule *rule, bool fixed_too)
{
    uint64_t drawn = 0;
    const xs_piece *piece = xs_table_pieces(t, rule);
    for (size_t i = 0; i < rule->piece_count; i++)
        if (fixed_too || !(rule->mask >> piece[i].lsb & 1)) drawn |= UINT64_C(1) << piece[i].operand;
    return drawn;
}

/* The table of ARCH or ARCH/KERNEL... */
static const xs_table *table_of(const char *target)
{
    return xs_decoder_table(decoder_of(target));
}

/* "rd=1": decimal or 0x..., and it is one of the rule's own. Returns its bit. */
static uint64_t check_operand(const row *r, const xs_insn *insn, char *item)
{
    const xs_table *t = table_of(r->field[0]);
    char *equals = strchr(item, '=');
    ck_assert_msg(equals != NULL, "%s:%u: '%s'", r->path, r->line, item);
    *equals = '\0';
    int n = operand_number(t, item);
    int64_t want = strtoll(equals + 1, NULL, 0);
    uint64_t bit = n < 0 ? 0 : UINT64_C(1) << n;
    if (!(bit & operands_drawn(t, insn->entry->rule, true)))
        wrong("%s:%u: '%s' has no operand '%s'", r->path, r->line, insn->entry->rule->name, item);
    else if (insn->op[n] != want)
        wrong("%s:%u: %s of '%s' is %lld, not %lld", r->path, r->line, item, insn->entry->rule->name,
              (long long)insn->op[n], (long long)want);
    return bit;
}

/* ARCH or TARGET, word, rule, operands, the assembler's text of the word. */
static void check_operands(const row *r, void *unused)
{
    char target[40], *save = NULL;
    (void)unused;
    ck_assert_msg(r->count >= 4, "%s:%u: too few fields", r->path, r->line);
    snprintf(target, sizeof target, "%s%s", r->field[0], strchr(r->field[0], '/') ? "" : "/ideal");
    encoding w = word_named(r->field[1]);
    uint8_t bytes[4] = {(uint8_t)w.word, (uint8_t)(w.word >> 8), (uint8_t)(w.word >> 16),
                        (uint8_t)(w.word >> 24)};
    xs_insn insn;
    memset(&insn, 0xee, sizeof insn);
    ck_assert_int_eq(xs_decode(decoder_of(target), bytes, w.size, &insn), XS_OK);
    if (strcmp(insn.entry->rule->name, r->field[2]) != 0 || insn.size != w.size)
        wrong("%s:%u: '%s' of %u bytes, not '%s'", r->path, r->line, insn.entry->rule->name, insn.size,
              r->field[2]);
    uint64_t given = 0;
    for (char *item = strtok_r(r->field[3], " ", &save); item; item = strtok_r(NULL, " ", &save))
        given |= check_operand(r, &insn, item);
    if (operands_drawn(table_of(r->field[0]), insn.entry->rule, false) & ~given)
        wrong("%s:%u: '%s' has other operands too", r->path, r->line, insn.entry->rule->name);
    cover(insn.entry);
}

START_TEST(operands_are_assembled)
{
    static const char *const files[] = {"fixtures/arm64/operands.tsv", "fixtures/riscv/operands.tsv"};
    each_row(files[_i], check_operands, NULL);
    all_right();
}
END_TEST

/* ---- any operands ---------------------------------------------------------------------------------- */

enum { MADE_UP_OPERANDS = 6 };

/* A rule of random pieces: fields of all sizes, from and to anywhere, several or none of an operand. */
static xs_table *made_up_rule(rng *r)
{
    char *text;
    size_t len, count;
    uint64_t drawn[MADE_UP_OPERANDS] = {0};
    const unsigned highest = rng_next(r) % 2 ? 63 : 20;
    FILE *f = open_memstream(&text, &len);
    fputs(
        "%arch a\n%modes m\n%kernels 1.0\n%operand o0 o1 signed\n%operand o2 o3 unsigned\n%operand o4 reg:x\n"
        "%operand o5 reg:x+31\none",
        f);
    for (unsigned left = 32, bits; left > 0; left -= bits) {
        bits = 1 + rng_next(r) % (left < 9 ? left : rng_next(r) % 8 ? 9 : left);
        unsigned operand = rng_next(r) % MADE_UP_OPERANDS, to = rng_next(r) % (64 - bits) % highest;
        uint64_t mask = ((UINT64_C(1) << bits) - 1) << to;
        if (drawn[operand] & mask)
            fprintf(f, " %.*s", (int)bits, "--------------------------------");
        else
            fprintf(f, " o%u[%u:%u]", operand, to + bits - 1, to);
        drawn[operand] |= mask;
    }
    fputs(" slot\n", f);
    fclose(f);
    xs_table *t = xs_table_parse(text, len, NULL, 0, &count);
    ck_assert_msg(t != NULL, "%s", text);
    free(text);
    return t;
}

/* Bit by bit, as the rule draws it. */
static int64_t operand_by_bits(const xs_table *t, const xs_rule *rule, unsigned operand, uint32_t word)
{
    size_t count;
    const xs_operand *o = &xs_table_operands(t, &count)[operand];
    const xs_piece *piece = xs_table_pieces(t, rule);
    uint64_t value = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < rule->piece_count; i++)
        for (unsigned bit = 0; piece[i].operand == operand && bit < piece[i].len; bit++) {
            value |= (uint64_t)(word >> (piece[i].lsb + bit) & 1) << (piece[i].to + bit);
            if (bits <= piece[i].to + bit) bits = piece[i].to + bit + 1;
        }
    bool has_sign = o->kind != XS_OPERAND_REG && o->kind != XS_OPERAND_UNSIGNED;
    if (has_sign && value >> (bits - 1) & 1) value |= UINT64_MAX << (bits - 1);
    return (int64_t)(value + (o->kind == XS_OPERAND_REG ? o->base : 0));
}

/* The operands of the rule, and nothing else is written. */
static void compare_operands(const xs_table *t, const xs_rule *rule, uint32_t word)
{
    int64_t op[XS_MAX_OPERANDS], untouched;
    uint64_t drawn = operands_drawn(t, rule, true);
    memset(op, 0xee, sizeof op);
    memset(&untouched, 0xee, sizeof untouched);
    xs_rule_operands(t, rule, word, op);
    for (unsigned i = 0; i < XS_MAX_OPERANDS; i++) {
        int64_t want = drawn >> i & 1 ? operand_by_bits(t, rule, i, word) : untouched;
        if (op[i] != want)
            wrong("'%s' %08x: operand %u is %llx, not %llx", rule->name, word, i, (unsigned long long)op[i],
                  (unsigned long long)want);
    }
}

static void compare_table(const xs_table *t, rng *r, int words)
{
    size_t count;
    const xs_rule *rules = xs_table_rules(t, &count);
    for (size_t i = 0; i < count; i++) {
        compare_operands(t, &rules[i], UINT32_MAX);
        for (unsigned bit = 0; bit < 32; bit++)
            compare_operands(t, &rules[i], UINT32_C(1) << bit);
        for (int n = 0; n < words; n++)
            compare_operands(t, &rules[i], rng_next(r));
    }
}

START_TEST(operands_are_the_bits)
{
    rng r = rng_new("operands");
    compare_table(table_of("arm64"), &r, 100);
    compare_table(table_of("riscv64"), &r, 100);
    for (int i = 0; i < 3000; i++) {
        xs_table *t = made_up_rule(&r);
        compare_table(t, &r, 20);
        xs_table_free(t);
    }
    all_right();
}
END_TEST

Suite *decoder_suite(void)
{
    Suite *suite = suite_create("decoder");
    TCase *words = tcase_create("words"), *text = tcase_create("text");
    tcase_add_loop_test(words, arm64_equals_kernels, 0, 3);
    tcase_add_loop_test(words, riscv_equals_kernels, 0, 2);
    tcase_add_test(words, index_equals_lines);
    tcase_add_test(words, index_equals_lines_without_default);
    tcase_add_test(words, limit_of_rules);
    tcase_add_test(words, runs_cover_the_space);
    tcase_add_loop_test(words, cubes_cover_the_space, 0, 4);
    tcase_add_test(words, walks_stop_when_told);
    tcase_add_loop_test(words, operands_are_assembled, 0, 2);
    tcase_add_test(words, operands_are_the_bits);
    tcase_add_loop_test(text, cut_instructions, 0, sizeof cuts / sizeof *cuts);
    suite_add_tcase(suite, words);
    suite_add_tcase(suite, text);
    return suite;
}
