/* What the test suites share: fixtures, targets, coverage, random words. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "tests.h"

/* ---- failures -------------------------------------------------------------------------------- */

static unsigned wrongs;
enum { WRONGS_SHOWN = 20 };

void wrong(const char *format, ...)
{
    if (wrongs++ >= WRONGS_SHOWN) return;
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void all_right(void)
{
    unsigned n = wrongs;
    wrongs = 0;
    ck_assert_msg(n == 0, "%u wrong, the first are shown above", n);
}

/* ---- fixtures -------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static FILE *open_rows(const char *path, bool packed)
{
    char command[256];
    if (!packed) return fopen(path, "r");
    snprintf(command, sizeof command, "xz -dc '%s'", path);
    return popen(command, "r");
}

static void cut(char *line, row *r)
{
    r->count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && r->count < sizeof r->field / sizeof *r->field;) {
        r->field[r->count++] = at;
        at = strchr(at, '\t');
        if (at) *at++ = '\0';
    }
}

void each_row(const char *path, row_fn *fn, void *arg)
{
    bool packed = ends_with(path, ".xz");
    FILE *f = open_rows(path, packed);
    ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
    row r = {.path = path};
    char *line = NULL;
    size_t room = 0, rows = 0;
    while (getline(&line, &room, f) > 0) {
        r.line++;
        if (*line == '#' || *line == '\n') continue;
        cut(line, &r);
        fn(&r, arg);
        rows++;
    }
    free(line);
    int status = packed ? pclose(f) : fclose(f);
    ck_assert_msg(status == 0 && rows > 0, "%s: status %d, %zu rows", path, status, rows);
}

char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
    char *text = NULL;
    size_t room = 0;
    ssize_t n = getdelim(&text, &room, EOF, f);
    fclose(f);
    ck_assert_msg(n >= 0, "%s: empty", path);
    *len = (size_t)n;
    return text;
}

static unsigned first_difference(const char *a, const char *b)
{
    unsigned line = 1;
    for (; *a && *a == *b; a++, b++)
        line += *a == '\n';
    return line;
}

void golden(const char *path, const char *text)
{
    if (getenv("XOLSIM_GOLDEN")) {
        FILE *f = fopen(path, "w");
        ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
        fputs(text, f);
        ck_assert_int_eq(fclose(f), 0);
        return;
    }
    size_t len;
    char *want = read_file(path, &len);
    bool equal = strcmp(want, text) == 0;
    unsigned line = first_difference(want, text);
    free(want);
    if (!equal) wrong("%s:%u: differs; `make golden` rewrites it, then look at git diff", path, line);
}

uint32_t hex(const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 16);
    ck_assert_msg(end != text && *end == '\0' && n <= UINT32_MAX, "'%s' is no hexadecimal word", text);
    return (uint32_t)n;
}

xs_class class_named(const char *name)
{
    static const char *const kernels[] = {"INSN_REJECTED", "INSN_GOOD_NO_SLOT", "INSN_GOOD"};
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(name, kernels[i]) == 0 || strcmp(name, xs_class_name((xs_class)i)) == 0)
            return (xs_class)i;
    ck_abort_msg("'%s' is no class", name);
    return XS_REJECT;
}

encoding word_named(const char *digits)
{
    size_t n = strlen(digits);
    ck_assert_msg(n == 4 || n == 8, "'%s' is not a word of 4 or 8 digits", digits);
    return (encoding){hex(digits), (unsigned)n / 2};
}

size_t text_from(char *words, uint8_t text[TEXT_MAX], size_t at[TEXT_WORDS], size_t *count)
{
    size_t len = 0;
    char *save = NULL;
    *count = 0;
    for (char *w = strtok_r(words, " ,", &save); w; w = strtok_r(NULL, " ,", &save)) {
        encoding one = word_named(w);
        ck_assert(len + one.size <= TEXT_MAX && *count < TEXT_WORDS);
        at[(*count)++] = len;
        for (unsigned i = 0; i < one.size; i++)
            text[len++] = (uint8_t)(one.word >> (8 * i));
    }
    return len;
}

/* ---- tables and targets ---------------------------------------------------------------------- */

enum { TABLES = 2, DECODERS = 1024 };
static struct {
    const char *text;
    xs_table *table;
    unsigned *hits; /* for each decision */
    size_t decisions;
} tables[TABLES];
static xs_decoder *decoders[DECODERS];
static size_t decoder_count;

static size_t count_decisions(const xs_table *t)
{
    size_t n, sum = 0;
    const xs_rule *rules = xs_table_rules(t, &n);
    for (size_t i = 0; i < n; i++)
        sum += rules[i].decision_count;
    return sum;
}

const xs_table *builtin(const char *arch)
{
    size_t len, count, i = 0;
    const char *text = xs_builtin_table(arch, &len);
    ck_assert_msg(text != NULL, "no table for %s", arch);
    while (i < TABLES && tables[i].table && tables[i].text != text)
        i++;
    ck_assert(i < TABLES);
    if (tables[i].table) return tables[i].table;
    xs_diag diag = {0};
    xs_table *t = xs_table_parse(text, len, &diag, 1, &count);
    ck_assert_msg(t != NULL, "%s.decode:%u:%u: %s: %s", arch, diag.line, diag.column, diag.code,
                  diag.message);
    tables[i].text = text;
    tables[i].table = t;
    tables[i].decisions = count_decisions(t);
    tables[i].hits = calloc(tables[i].decisions, sizeof *tables[i].hits);
    ck_assert(tables[i].hits != NULL);
    return t;
}

static const xs_decoder *decoder_at(const xs_table *t, const xs_target *target)
{
    for (size_t i = 0; i < decoder_count; i++) {
        const xs_target *k = xs_decoder_target(decoders[i]);
        if (xs_decoder_table(decoders[i]) == t && k->arch == target->arch && k->kernel == target->kernel &&
            k->mode == target->mode && k->ext == target->ext)
            return decoders[i];
    }
    ck_assert(decoder_count < DECODERS);
    ck_assert_int_eq(xs_decoder_new(t, target, &decoders[decoder_count]), XS_OK);
    return decoders[decoder_count++];
}

static const xs_table *table_for(const char *target)
{
    char arch[32];
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(target, "+-/"), target);
    return builtin(arch);
}

const xs_decoder *decoder_of(const char *target)
{
    const xs_table *t = table_for(target);
    xs_target parsed;
    char why[256];
    xs_status status = xs_target_parse(t, target, &parsed, why, sizeof why);
    ck_assert_msg(status == XS_OK, "%s: %s", target, why);
    return decoder_at(t, &parsed);
}

const xs_decoder *ideal_of(const xs_decoder *d)
{
    xs_target target = *xs_decoder_target(d);
    for (uint8_t k = 0; xs_table_kernel(xs_decoder_table(d), k); k++)
        if (strcmp(xs_table_kernel(xs_decoder_table(d), k), "ideal") == 0) target.kernel = k;
    target.mode = 0;
    return decoder_at(xs_decoder_table(d), &target);
}

size_t classify(const xs_decoder *d, const void *text, size_t size, uint8_t *classes, size_t *left)
{
    xs_classifier *c;
    ck_assert_int_eq(xs_classifier_new(d, NULL, &c), XS_OK);
    size_t count = xs_classify_text(c, text, size, classes, left);
    xs_classifier_free(c);
    return count;
}

void drop_tables(void)
{
    for (size_t i = 0; i < decoder_count; i++)
        xs_decoder_free(decoders[i]);
    for (size_t i = 0; i < TABLES; i++) {
        xs_table_free(tables[i].table);
        free(tables[i].hits);
    }
}

const char *target_name(const xs_decoder *d)
{
    static char name[80];
    const xs_table *t = xs_decoder_table(d);
    size_t n = xs_target_format(t, xs_decoder_target(d), name, sizeof name);
    const char *mode = xs_table_mode(t, xs_decoder_target(d)->mode);
    if (!ends_with(name, mode)) snprintf(name + n, sizeof name - n, "/%s", mode);
    return name;
}

/* Does a kernel belong to "*", "A..B", "A.." or a plain name? */
static bool kernel_chosen(const xs_table *t, size_t kernel, const char *pattern)
{
    const char *dots = strstr(pattern, "..");
    xs_kernel_kind kind = xs_table_kernel_kind(t, kernel);
    if (strcmp(pattern, "*") == 0) return kind != XS_KERNEL_NAMED;
    if (!dots) return strcmp(xs_table_kernel(t, kernel), pattern) == 0;
    bool from = false, before = true;
    for (size_t i = 0; i <= kernel; i++) {
        const char *name = xs_table_kernel(t, i);
        from |= strlen(name) == (size_t)(dots - pattern) && strncmp(name, pattern, strlen(name)) == 0;
        before &= strcmp(name, dots + 2) != 0;
    }
    return kind == XS_KERNEL_RELEASE && from && before;
}

static size_t each_mode(const char *arch, const char *kernel, const char *mode, target_fn *fn, void *arg)
{
    char target[96], why[256];
    const xs_table *t = table_for(arch);
    xs_target parsed;
    size_t calls = 0;
    for (size_t m = 0; xs_table_mode(t, m); m++) {
        if (mode && strcmp(mode, xs_table_mode(t, m)) != 0) continue;
        snprintf(target, sizeof target, "%s/%s/%s", arch, kernel, xs_table_mode(t, m));
        if (xs_target_parse(t, target, &parsed, why, sizeof why) != XS_OK) continue;
        fn(decoder_at(t, &parsed), arg);
        calls++;
    }
    return calls;
}

static void each_kernel(char *item, target_fn *fn, void *arg)
{
    char *save = NULL, *arch = strtok_r(item, "/", &save), *kernel = strtok_r(NULL, "/", &save);
    const char *mode = strtok_r(NULL, "/", &save);
    ck_assert_msg(arch && kernel, "'%s' is not ARCH/KERNEL", item);
    const xs_table *t = table_for(arch);
    size_t calls = 0;
    for (size_t k = 0; xs_table_kernel(t, k); k++)
        if (kernel_chosen(t, k, kernel)) calls += each_mode(arch, xs_table_kernel(t, k), mode, fn, arg);
    ck_assert_msg(calls > 0, "no target is %s/%s", arch, kernel);
}

void each_target(const char *list, target_fn *fn, void *arg)
{
    char copy[256], *save = NULL;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *item = strtok_r(copy, ", ", &save); item; item = strtok_r(NULL, ", ", &save))
        each_kernel(item, fn, arg);
}

const xs_entry *entry_of(const xs_decoder *d, uint32_t word)
{
    size_t count;
    return &xs_decoder_entries(d, &count)[xs_lookup(d, word)];
}

/* ---- coverage -------------------------------------------------------------------------------- */

/* Where the decisions of a table begin. */
static const xs_decision *first_decision(const xs_table *t)
{
    size_t count;
    const xs_rule *rules = xs_table_rules(t, &count);
    return xs_table_decisions(t, rules) - rules->decision_index;
}

void cover(const xs_entry *entry)
{
    for (size_t i = 0; i < TABLES && tables[i].table; i++) {
        const xs_decision *first = first_decision(tables[i].table);
        if (entry->decision >= first && entry->decision < first + tables[i].decisions)
            tables[i].hits[entry->decision - first]++;
    }
}

/* ---- the last suite: every rule was tested ---------------------------------------------------- */

static const char *const lists[] = {"arm64/*,arm64/stp-2024,arm64/ideal",
                                    "riscv64/*,riscv64/ideal,riscv64+zcmp+zcmt/ideal,riscv32/*,riscv32/ideal",
                                    "riscv64-c/*,riscv32-c/*,riscv64-c/ideal,riscv32-c/ideal"};

/* Decisions that some target takes; one copied by `like` may be dead where it was copied to. */
static void mark_taken(const xs_decoder *d, void *arg)
{
    bool **taken = arg;
    for (size_t i = 0; i < TABLES; i++) {
        if (tables[i].table != xs_decoder_table(d)) continue;
        size_t n, scans;
        const xs_entry *e = xs_decoder_entries(d, &n), *s = xs_decoder_scan_entries(d, &scans);
        for (size_t k = 0; k + 1 < n; k++)
            taken[i][e[k].decision - first_decision(tables[i].table)] = true;
        for (size_t k = 0; k < scans; k++)
            taken[i][s[k].decision - first_decision(tables[i].table)] = true;
    }
}

static void check_hits(size_t table, const bool *taken)
{
    size_t count;
    const xs_rule *rules = xs_table_rules(tables[table].table, &count);
    const char *name = xs_table_arch(tables[table].table, 0);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < rules[r].decision_count; i++) {
            size_t at = rules[r].decision_index + i;
            const xs_decision *d = first_decision(tables[table].table) + at;
            if (taken[at] && !tables[table].hits[at])
                wrong("%s.decode:%u: no test of '%s' when it is decided by line %u (%s)", name, rules[r].line,
                      rules[r].name, d->line, xs_class_name(d->cls));
        }
}

START_TEST(every_rule_and_decision_was_tested)
{
    bool *taken[TABLES];
    builtin("arm64");
    builtin("riscv64");
    for (size_t i = 0; i < TABLES; i++)
        taken[i] = calloc(tables[i].decisions, sizeof **taken);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        each_target(lists[i], mark_taken, taken);
    for (size_t i = 0; i < TABLES; i++) {
        check_hits(i, taken[i]);
        free(taken[i]);
    }
    all_right();
}
END_TEST

Suite *coverage_suite(void)
{
    Suite *suite = suite_create("coverage");
    TCase *all = tcase_create("rules");
    tcase_add_test(all, every_rule_and_decision_was_tested);
    suite_add_tcase(suite, all);
    return suite;
}

/* ---- random words ---------------------------------------------------------------------------- */

uint64_t seed;

rng rng_new(const char *test)
{
    rng r = {seed + UINT64_C(0x9e3779b97f4a7c15)};
    for (; *test; test++)
        r.state = (r.state ^ (unsigned char)*test) * UINT64_C(1099511628211);
    return r;
}

/* splitmix64 */
uint32_t rng_next(rng *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((z ^ (z >> 31)) >> 32);
}
