/* decoder/: reading .decode files. Each diagnostic has a fixture, and no input crashes the parser. */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "tests.h"

/* ---- fixtures/decode ------------------------------------------------------------------------------
 *
 * err_CODE.decode (or err_CODE-WHAT.decode): the first line is "# LINE:COLUMN CODE" for each finding, with
 * commas between them. succ_WHAT.decode has none. */

enum { DIAGS = 16, FILES = 160 };

typedef struct files {
    char *path[FILES];
    size_t count;
} files;

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The files of a folder that begin with prefix and end with suffix, in order; free each. */
static void list_files(const char *folder, const char *prefix, const char *suffix, files *out)
{
    DIR *dir = opendir(folder);
    ck_assert_msg(dir != NULL, "%s", folder);
    out->count = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        size_t n = strlen(e->d_name), m = strlen(suffix), room = strlen(folder) + n + 2;
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 || n < m ||
            strcmp(e->d_name + n - m, suffix) != 0)
            continue;
        ck_assert(out->count < FILES);
        char *path = malloc(room);
        ck_assert(path != NULL);
        snprintf(path, room, "%s/%s", folder, e->d_name);
        out->path[out->count++] = path;
    }
    closedir(dir);
    qsort(out->path, out->count, sizeof *out->path, by_name);
}

static void free_files(files *f)
{
    while (f->count)
        free(f->path[--f->count]);
}

/* What parsing, and if that went well checking, finds in a text. */
static size_t findings(const char *text, size_t len, xs_diag diags[DIAGS])
{
    size_t count;
    xs_table *t = xs_table_parse(text, len, diags, DIAGS, &count);
    if (!t) return count;
    count = xs_table_check(t, diags, DIAGS);
    xs_table_free(t);
    return count;
}

static void print_findings(char *out, size_t size, const xs_diag *diags, size_t count)
{
    size_t at = 0;
    *out = '\0';
    for (size_t i = 0; i < count && i < DIAGS && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%u:%u %s", i ? ", " : "", diags[i].line,
                               diags[i].column, diags[i].code);
}

/* Each code and a sentence, the text of which is in no fixture but must say something. */
static void check_messages(const char *path, const xs_diag *diags, size_t count)
{
    for (size_t i = 0; i < count && i < DIAGS; i++)
        if (strlen(diags[i].message) < 3) wrong("%s: no message", path);
}

static void check_fixture(const char *path, bool bad)
{
    char got[512], want[512];
    xs_diag diags[DIAGS];
    size_t len;
    char *text = read_file(path, &len);
    size_t count = findings(text, len, diags), line = strcspn(text, "\n");
    print_findings(got, sizeof got, diags, count);
    snprintf(want, sizeof want, "%.*s", (int)(line > 2 ? line - 2 : 0), text + 2);
    if (bad && strcmp(got, want) != 0) wrong("%s: finds '%s', not '%s'", path, got, want);
    if (!bad && count) wrong("%s: finds '%s' (%s)", path, got, diags[0].message);
    check_messages(path, diags, count);
    free(text);
}

START_TEST(good_files_are_clean)
{
    files f;
    list_files("fixtures/decode", "succ_", ".decode", &f);
    ck_assert_uint_ge(f.count, 1);
    for (size_t i = 0; i < f.count; i++)
        check_fixture(f.path[i], false);
    free_files(&f);
    all_right();
}
END_TEST

START_TEST(bad_files_are_diagnosed)
{
    files f;
    list_files("fixtures/decode", "err_", ".decode", &f);
    ck_assert_uint_ge(f.count, 1);
    for (size_t i = 0; i < f.count; i++)
        check_fixture(f.path[i], true);
    free_files(&f);
    all_right();
}
END_TEST

/* ---- every code in the sources has a fixture ------------------------------------------------------ */

/* Why a code has none. */
static const char *const without_fixture[] = {
    "out-of-memory", /* see memory_runs_out */
    "too-complex",   /* see too_complex_a_table and too_many_targets */
};

static bool is_code(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!islower((unsigned char)text[i]) && text[i] != '-') return false;
    return len > 0;
}

static bool has_fixture(const files *f, const char *code, size_t len)
{
    for (size_t i = 0; i < sizeof without_fixture / sizeof *without_fixture; i++)
        if (strlen(without_fixture[i]) == len && memcmp(without_fixture[i], code, len) == 0) return true;
    for (size_t i = 0; i < f->count; i++) {
        const char *name = strstr(f->path[i], "err_") + 4;
        if (strncmp(name, code, len) == 0 && (name[len] == '.' || name[len] == '_')) return true;
    }
    return false;
}

/* The codes of one report: its first strings, up to the one that is a sentence. Returns how many. */
static size_t check_codes(const char *path, const char *report, const files *f)
{
    size_t found = 0;
    for (const char *open = strchr(report, '"'); open; open = strchr(open, '"')) {
        size_t len = strcspn(++open, "\"");
        if (!is_code(open, len)) break;
        if (!has_fixture(f, open, len)) wrong("%s: no fixtures/decode/err_%.*s.decode", path, (int)len, open);
        open += len + 1;
        found++;
    }
    return found;
}

static size_t check_source(const char *path, const files *f)
{
    static const char *const reporters[] = {"XS_ERROR(", "REPORT(", "xs_report("};
    size_t len, found = 0;
    char *text = read_file(path, &len);
    for (size_t i = 0; i < 3; i++)
        for (const char *at = text; (at = strstr(at, reporters[i])); at++)
            found += check_codes(path, at, f);
    free(text);
    return found;
}

START_TEST(every_code_has_a_fixture)
{
    files fixtures, sources;
    size_t found = 0;
    list_files("fixtures/decode", "err_", ".decode", &fixtures);
    list_files("decoder", "", ".c", &sources);
    for (size_t i = 0; i < sources.count; i++)
        found += check_source(sources.path[i], &fixtures);
    ck_assert_msg(found >= 60, "found %zu reports in decoder/*.c", found);
    free_files(&fixtures);
    free_files(&sources);
    all_right();
}
END_TEST

/* ---- limits ----------------------------------------------------------------------------------------- */

static void expect_findings(const char *text, size_t len, const char *want)
{
    char got[512];
    xs_diag diags[DIAGS];
    print_findings(got, sizeof got, diags, findings(text, len, diags));
    ck_assert_str_eq(got, want);
}

static void expect_last_finding(const char *text, size_t len, const char *code)
{
    static xs_diag diags[256];
    size_t count;
    xs_table *t = xs_table_parse(text, len, diags, 1, &count);
    ck_assert_msg(t != NULL, "%u:%u %s", diags[0].line, diags[0].column, diags[0].code);
    count = xs_table_check(t, diags, 256);
    xs_table_free(t);
    ck_assert_uint_ge(count, 1);
    ck_assert_uint_le(count, 256);
    ck_assert_str_eq(diags[count - 1].code, code);
}

START_TEST(empty_text)
{
    expect_findings("", 0, "0:0 missing-directive, 0:0 no-rules");
    expect_findings("\n\n  \n# nothing\n", 15, "0:0 missing-directive, 0:0 no-rules");
}
END_TEST

/* One finding too many for the caller's array, and none wanted. */
START_TEST(findings_are_counted_beyond_the_array)
{
    static const char text[] = "%a\n%b\n%c\n";
    xs_diag diags[2] = {0};
    size_t count = 0;
    ck_assert_ptr_null(xs_table_parse(text, sizeof text - 1, diags, 1, &count));
    ck_assert_uint_eq(count, 5);
    ck_assert_uint_eq(diags[0].line, 1);
    ck_assert_ptr_null(diags[1].code);
    ck_assert_ptr_null(xs_table_parse(text, sizeof text - 1, NULL, 0, &count));
    ck_assert_uint_eq(count, 5);
}
END_TEST

START_TEST(text_needs_no_end)
{
    static const char text[] =
        "%arch a\n%modes m\n%kernels 1.0\nall ---- ---- ---- ---- ---- ---- ---- ---- slotXXXX";
    size_t count;
    xs_table *t = xs_table_parse(text, sizeof text - 1 - 4, NULL, 0, &count);
    ck_assert(t != NULL);
    xs_table_free(t);
}
END_TEST

/* A word is covered unless it has two neighbouring zeros: to see that nearly all of the millions of ways to
 * have none must be tried. */
START_TEST(too_complex_a_table)
{
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    fputs("%arch a\n%modes m\n%kernels 1.0\n", f);
    for (int low = 0; low < 30; low++) {
        fprintf(f, "r%d ", low);
        for (int bit = 31; bit >= 0; bit--)
            fputc(bit == low || bit == low + 1 ? '0' : '-', f);
        fputs(" slot\n", f);
    }
    fputs("zero 0------------------------------- slot\none 1------------------------------- slot\n", f);
    fclose(f);
    expect_last_finding(text, len, "too-complex");
    free(text);
}
END_TEST

/* 30 million targets, and each of them another list. */
START_TEST(too_many_targets)
{
    char *text;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    for (unsigned i = 0; i < 32; i++)
        fprintf(f, "%%ext e%u\n%%arch a%u\n%%modes m%u\n", i, i, i);
    for (unsigned i = 0; i < 128; i++)
        fprintf(f, "%%kernels %u.0\n", i);
    for (unsigned i = 0; i < 128; i++)
        fprintf(f, "k%u %032u slot kernel=%u.0\n", i, 0, i);
    for (unsigned i = 0; i < 32; i++)
        fprintf(f, "a%u %032u slot arch=a%u\nm%u %032u slot mode=m%u\n", i, 0, i, i, 0, i);
    fputs("all -------------------------------- slot\n", f);
    fclose(f);
    expect_last_finding(text, len, "too-complex");
    free(text);
}
END_TEST

/* Lines that copy the line above twice: two to the power of their number. */
START_TEST(copies_of_copies)
{
    char *text;
    size_t len, count;
    xs_diag diag = {0};
    FILE *f = open_memstream(&text, &len);
    fputs("%arch a\n%modes m\n%kernels 1.0\nr0 -------------------------------- slot\n", f);
    for (int i = 1; i < 40; i++)
        fprintf(f, "r%d -------------------------------- like r%d\n    like r%d\n", i, i - 1, i - 1);
    fclose(f);
    ck_assert_ptr_null(xs_table_parse(text, len, &diag, 1, &count));
    ck_assert_str_eq(diag.code, "too-many");
    free(text);
}
END_TEST

START_TEST(file_of_many_rules)
{
    char *text;
    size_t len, count;
    xs_diag diag = {0};
    FILE *f = open_memstream(&text, &len);
    fputs("%arch a\n%modes m\n%kernels 1.0\n", f);
    for (int i = 0; i < 200000; i++)
        fprintf(f, "r%d -------------------------------- slot\n", i);
    fclose(f);
    ck_assert_ptr_null(xs_table_parse(text, len, &diag, 1, &count));
    ck_assert_str_eq(diag.code, "too-many");
    ck_assert_uint_eq(diag.line, 4100);
    free(text);
}
END_TEST

/* ---- no memory ------------------------------------------------------------------------------------ */

/* The linker sends the library's allocations here (--wrap). One of them can be made to fail. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static size_t until_failure; /* allocations until one fails; 0: none does */

static bool fails(void)
{
    return until_failure && --until_failure == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

/* Parse, check and compile with the n-th allocation failing; false when there is no n-th. */
static bool survive(const char *text, size_t len, size_t n)
{
    xs_diag diags[DIAGS] = {0};
    size_t count, found = 0;
    xs_target target;
    xs_decoder *d = NULL;
    xs_status status = XS_OK;
    until_failure = n;
    xs_table *t = xs_table_parse(text, len, diags, DIAGS, &count);
    bool parsed = t != NULL;
    if (t) found = xs_table_check(t, diags, DIAGS);
    if (t && xs_target_parse(t, xs_table_arch(t, 0), &target, NULL, 0) == XS_OK)
        status = xs_decoder_new(t, &target, &d);
    bool failed = until_failure == 0;
    until_failure = 0;
    if (!parsed && count) wrong("allocation %zu: findings, not only no table", n);
    if (parsed && failed && !(found && strcmp(diags[found - 1].code, "out-of-memory") == 0) &&
        status != XS_E_NOMEM)
        wrong("allocation %zu failed, and nobody says so", n);
    if ((d == NULL) != (!parsed || status != XS_OK)) wrong("allocation %zu: status %d", n, status);
    xs_decoder_free(d);
    xs_table_free(t);
    return failed;
}

START_TEST(memory_runs_out)
{
    size_t len, n = 1;
    const char *text = xs_builtin_table(xs_builtin_arch((size_t)_i), &len);
    while (survive(text, len, n))
        n++;
    ck_assert_msg(n > 20, "only %zu allocations were seen", n - 1);
    all_right();
}
END_TEST

/* ---- robustness --------------------------------------------------------------------------------------- */

/* A parser that reads one byte too many reads outside this copy. */
static void parse_copy(const char *text, size_t len)
{
    xs_diag diags[4];
    size_t count;
    char *copy = malloc(len ? len : 1);
    ck_assert(copy != NULL);
    memcpy(copy, text, len);
    xs_table *t = xs_table_parse(copy, len, diags, 4, &count);
    if ((t == NULL) != (count != 0)) wrong("%zu findings and %s table", count, t ? "a" : "no");
    for (size_t i = 0; i < count && i < 4; i++)
        if (!diags[i].code || !memchr(diags[i].message, '\0', sizeof diags[i].message))
            wrong("a bad finding");
    free(copy);
    if (!t) return;
    if (len % 8 == 0) xs_table_check(t, diags, 4); /* some: it takes longer */
    xs_target target;
    xs_decoder *d = NULL;
    if (xs_target_parse(t, xs_table_arch(t, 0), &target, NULL, 0) == XS_OK &&
        xs_decoder_new(t, &target, &d) == XS_OK)
        xs_lookup(d, 0);
    xs_decoder_free(d);
    xs_table_free(t);
}

enum { STEP = 7, MUTATIONS = 10000 };

START_TEST(prefixes_do_not_crash)
{
    size_t len;
    const char *text = xs_builtin_table(xs_builtin_arch((size_t)_i), &len);
    for (size_t n = 0; n <= len; n += STEP)
        parse_copy(text, n);
    all_right();
}
END_TEST

/* Words that mean something, put where they do not belong. */
static const char *const pieces[] = {
    "%ext",      "%arch",      "%modes",    "%kernels", "%stable",     "%target",  "%operand",
    "%handler",  "%site",      "%scan",     "like",     "slot",        "simulate", "reject",
    "kernel=",   "mode=",      "ext=",      "arch=!",   "..",          "\"",       "quirk=late(rd=rs1)",
    "imm[40:0]", "imm[3|2|1]", "rd=",       "@call",    "errno=",      "\n",       "#",
    "reg:",      "align",      "boundary",  "%overlap", "6.12..7.1,!", "-",        "0",
    "[",         "=",          "4294967295"};

static void mutate(char *text, size_t *len, size_t room, rng *r)
{
    size_t at = rng_next(r) % (*len + 1);
    const char *piece = pieces[rng_next(r) % (sizeof pieces / sizeof *pieces)];
    size_t n = strlen(piece), cut = rng_next(r) % 12;
    if (cut > *len - at) cut = *len - at;
    switch (rng_next(r) % 4) {
    case 0: /* another byte */
        if (at < *len) text[at] = (char)rng_next(r);
        break;
    case 1: /* a word instead of some bytes */
        if (*len - cut + n > room) break;
        memmove(text + at + n, text + at + cut, *len - at - cut);
        memcpy(text + at, piece, n);
        *len = *len - cut + n;
        break;
    case 2: /* some bytes less */
        memmove(text + at, text + at + cut, *len - at - cut);
        *len -= cut;
        break;
    default: /* some bytes twice */
        if (*len + cut > room) break;
        memmove(text + at + cut, text + at, *len - at);
        *len += cut;
    }
}

/* Where the n-th line begins, or the end. */
static const char *line_start(const char *text, unsigned n)
{
    while (n-- > 0 && *text)
        text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
    return text;
}

/* A shorter table: the declarations, and some lines from anywhere. */
static size_t excerpt(const char *text, unsigned lines, unsigned first_rule, char *out, rng *r)
{
    const char *from = line_start(text, rng_next(r) % lines), *to = line_start(from, 1 + rng_next(r) % 30);
    size_t declarations = (size_t)(line_start(text, first_rule) - text), more = (size_t)(to - from);
    memcpy(out, text, declarations);
    memcpy(out + declarations, from, more);
    return declarations + more;
}

static unsigned count_lines(const char *text)
{
    unsigned lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

START_TEST(mutations_do_not_crash)
{
    size_t len, count;
    const char *arch = xs_builtin_arch((size_t)_i), *text = xs_builtin_table(arch, &len);
    unsigned lines = count_lines(text), first_rule = xs_table_rules(builtin(arch), &count)->line - 1;
    const char *begin = strstr(text, "\n%"); /* the remarks at the top are left out */
    unsigned skipped = lines - count_lines(begin + 1);
    size_t room = len * 2;
    char *copy = malloc(room);
    rng r = rng_new(arch);
    ck_assert(copy != NULL);
    for (int i = 0; i < MUTATIONS; i++) {
        size_t n = excerpt(begin + 1, lines - skipped, first_rule - skipped, copy, &r);
        for (uint32_t k = rng_next(&r) % 6 + 1; k > 0; k--)
            mutate(copy, &n, room, &r);
        parse_copy(copy, n);
    }
    free(copy);
    all_right();
}
END_TEST

Suite *notation_suite(void)
{
    Suite *suite = suite_create("notation");
    TCase *fixtures = tcase_create("fixtures"), *robust = tcase_create("robust");
    tcase_add_test(fixtures, good_files_are_clean);
    tcase_add_test(fixtures, bad_files_are_diagnosed);
    tcase_add_test(fixtures, every_code_has_a_fixture);
    tcase_add_test(fixtures, empty_text);
    tcase_add_test(fixtures, findings_are_counted_beyond_the_array);
    tcase_add_test(fixtures, text_needs_no_end);
    tcase_add_test(robust, too_complex_a_table);
    tcase_add_test(robust, too_many_targets);
    tcase_add_test(robust, copies_of_copies);
    tcase_add_test(robust, file_of_many_rules);
    tcase_add_loop_test(robust, memory_runs_out, 0, 2);
    tcase_add_loop_test(robust, prefixes_do_not_crash, 0, 2);
    tcase_add_loop_test(robust, mutations_do_not_crash, 0, 2);
    suite_add_tcase(suite, fixtures);
    suite_add_tcase(suite, robust);
    return suite;
}
