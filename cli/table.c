/* table: the tables themselves, whole encoding spaces. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "cli.h"

/* ---- list, show ------------------------------------------------------------------------------ */

static void list_names(const output *out, const char *title, const xs_table *t,
                       const char *(*name)(const xs_table *, size_t))
{
    fprintf(out->f, "  %-9s", title);
    for (size_t i = 0; name(t, i); i++)
        fprintf(out->f, " %s", name(t, i));
    fputc('\n', out->f);
}

static json_object *names_json(const xs_table *t, const char *(*name)(const xs_table *, size_t))
{
    json_object *list = json_object_new_array();
    for (size_t i = 0; name(t, i); i++)
        json_object_array_add(list, json_object_new_string(name(t, i)));
    return list;
}

static void list_arch(output *out, const xs_table *t, const char *arch)
{
    if (out->format == FORMAT_TEXT || out->format == FORMAT_TSV) {
        fprintf(out->f, "%s\n", arch);
        list_names(out, "kernels", t, xs_table_kernel);
        list_names(out, "modes", t, xs_table_mode);
        if (xs_table_ext(t, 0)) list_names(out, "ext", t, xs_table_ext);
        return;
    }
    json_object *row = json_object_new_object();
    json_object_object_add(row, "arch", json_object_new_string(arch));
    json_object_object_add(row, "kernels", names_json(t, xs_table_kernel));
    json_object_object_add(row, "modes", names_json(t, xs_table_mode));
    json_object_object_add(row, "ext", names_json(t, xs_table_ext));
    output_row(out, "arch", row);
}

/* Every architecture of the built-in tables, or of --table. */
static int table_list(const options *o, output *out)
{
    int status = STATUS_OK;
    output_begin(out);
    output_list(out, "archs", NULL, 0);
    for (size_t i = 0; status == STATUS_OK && (o->table ? i < 1 : xs_builtin_arch(i) != NULL); i++) {
        xs_table *t = table_open(o, xs_builtin_arch(i), &status);
        if (!t) break;
        if (!o->table) list_arch(out, t, xs_builtin_arch(i));
        for (size_t a = 0; o->table && xs_table_arch(t, a); a++)
            list_arch(out, t, xs_table_arch(t, a));
        xs_table_free(t);
    }
    output_list_end(out);
    output_end(out);
    return status;
}

static void pattern(const xs_rule *rule, char *buf)
{
    for (int bit = rule->width - 1; bit >= 0; bit--)
        *buf++ = !(rule->mask >> bit & 1) ? '-' : rule->value >> bit & 1 ? '1' : '0';
    *buf = '\0';
}

static json_object *rule_json(const xs_entry *e)
{
    char bits[40];
    json_object *row = json_object_new_object();
    pattern(e->rule, bits);
    json_object_object_add(row, "rule", json_object_new_string(e->rule->name));
    json_object_object_add(row, "bits", json_object_new_string(bits));
    json_object_object_add(row, "mask", json_hex(e->rule->mask, e->rule->width / 4));
    json_object_object_add(row, "value", json_hex(e->rule->value, e->rule->width / 4));
    json_object_object_add(row, "class", json_object_new_string(xs_class_name(e->decision->cls)));
    json_object_object_add(row, "handler", json_name(e->decision->handler));
    json_object_object_add(row, "reason", json_object_new_string(xs_reason_name(e->decision->reason)));
    json_object_object_add(row, "errno", json_name(e->decision->error));
    json_object_object_add(row, "scan", json_object_new_boolean(e->rule->scan));
    json_object_object_add(row, "line", json_object_new_int((int)e->decision->line));
    json_object_object_add(row, "note", json_name(e->decision->note));
    return row;
}

static const column rule_columns[] = {
    {"rule", "RULE", 14},     {"bits", "BITS", 32},  {"class", "CLASS", 8}, {"handler", "HANDLER", 24},
    {"reason", "REASON", 16}, {"errno", "ERRNO", 8}, {"note", "NOTE", 0}};

static int table_show(const options *o, output *out)
{
    view v;
    size_t count, scans;
    int status = view_open_target(&v, o, o->args[1]);
    if (status != STATUS_OK) return status;
    const xs_entry *entries = xs_decoder_entries(v.decoder, &count);
    const xs_entry *scan = xs_decoder_scan_entries(v.decoder, &scans);
    output_begin(out);
    output_value(out, "target", NULL, json_object_new_string(v.name));
    output_list(out, "rules", rule_columns, sizeof rule_columns / sizeof *rule_columns);
    for (size_t i = 0; i + 1 < count; i++)
        output_row(out, "rule", rule_json(&entries[i]));
    for (size_t i = 0; i < scans; i++)
        output_row(out, "rule", rule_json(&scan[i]));
    output_list_end(out);
    output_end(out);
    view_close(&v);
    return STATUS_OK;
}

/* ---- dump ------------------------------------------------------------------------------------ */

/* Runs are merged while class and handler stay the same; handlers are one string each per table. */
typedef struct dump {
    FILE *f;
    const xs_entry *entries;
    const char *prefix; /* "LOW:" in front of a run of upper halfwords, or "" */
    int digits;
    bool open;
    uint32_t first, last;
    const xs_decision *decision;
} dump;

static void dump_flush(dump *d)
{
    if (d->open)
        fprintf(d->f, "%s%0*" PRIx32 " %0*" PRIx32 " %s %s\n", d->prefix, d->digits, d->first, d->digits,
                d->last, xs_class_name(d->decision->cls), d->decision->handler);
    d->open = false;
}

static bool same(const xs_decision *a, const xs_decision *b)
{
    return a->cls == b->cls && strcmp(a->handler, b->handler) == 0;
}

static void dump_run(dump *d, const xs_decision *decision, uint32_t first, uint32_t last)
{
    if (d->open && same(d->decision, decision) && d->last + 1 == first) {
        d->last = last;
        return;
    }
    dump_flush(d);
    d->open = true;
    d->first = first;
    d->last = last;
    d->decision = decision;
}

static bool dump_words(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    dump *d = arg;
    dump_run(d, d->entries[entry].decision, first, last);
    return true;
}

/* Does every upper half of a low halfword give the same answer? */
typedef struct uniform {
    const xs_entry *entries;
    const xs_decision *decision;
} uniform;

static bool uniform_run(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    uniform *u = arg;
    (void)first, (void)last;
    if (u->decision && !same(u->decision, u->entries[entry].decision)) return false;
    u->decision = u->entries[entry].decision;
    return true;
}

/* By low halfword: a compressed instruction has no upper half, and kernels never look at that of a
 * long one. Where a table does look, its runs over the upper halves are written out. */
static void dump_halfwords(const view *v, dump *d)
{
    for (uint32_t low = 0; low <= 0xffff; low++) {
        uniform u = {d->entries, NULL};
        if (xs_space_runs(v->decoder, 16, low, uniform_run, &u)) {
            dump_run(d, u.decision, low, low);
            continue;
        }
        char prefix[16];
        snprintf(prefix, sizeof prefix, "%04" PRIx32 ":", low);
        dump upper = {.f = d->f, .entries = d->entries, .prefix = prefix, .digits = 4};
        dump_flush(d);
        xs_space_runs(v->decoder, 16, low, dump_words, &upper);
        dump_flush(&upper);
    }
}

static int table_dump(const options *o, output *out)
{
    view v;
    size_t count;
    int status = view_open_target(&v, o, o->args[1]);
    if (status != STATUS_OK) return status;
    dump d = {.f = out->f, .entries = xs_decoder_entries(v.decoder, &count), .prefix = ""};
    d.digits = v.granule == 2 ? 4 : 8;
    if (v.granule == 2)
        dump_halfwords(&v, &d);
    else
        xs_space_runs(v.decoder, 0, 0, dump_words, &d);
    dump_flush(&d);
    view_close(&v);
    return STATUS_OK;
}

/* ---- census, diff ---------------------------------------------------------------------------- */

/* Words by pair of entries, with the lowest word of each pair as an example. */
typedef struct pairs {
    size_t columns;
    uint64_t *count;
    uint32_t *example;
} pairs;

static bool add_cube(void *arg, size_t a, size_t b, uint32_t mask, uint32_t value)
{
    pairs *p = arg;
    size_t i = a * p->columns + b;
    if (!p->count[i] || value < p->example[i]) p->example[i] = value;
    p->count[i] += UINT64_C(1) << (32 - __builtin_popcount(mask));
    return true;
}

static bool pairs_count(pairs *p, const xs_decoder *a, const xs_decoder *b)
{
    size_t rows;
    xs_decoder_entries(a, &rows);
    p->columns = 1;
    if (b) xs_decoder_entries(b, &p->columns);
    p->count = calloc(rows * p->columns, sizeof *p->count);
    p->example = calloc(rows * p->columns, sizeof *p->example);
    return p->count && p->example && xs_space_walk(a, b, add_cube, p);
}

static void pairs_free(pairs *p)
{
    free(p->count);
    free(p->example);
}

static json_object *count_json(uint64_t count)
{
    return json_object_new_int64((int64_t)count);
}

static const column census_columns[] = {
    {"words", "WORDS", 11}, {"class", "CLASS", 8}, {"rule", "RULE", 16}, {"handler", "HANDLER", 0}};

static int census_print(const view *v, output *out, const pairs *p)
{
    size_t count;
    uint64_t total[XS_TAIL] = {0};
    const xs_entry *entries = xs_decoder_entries(v->decoder, &count);
    output_list(out, "rules", census_columns, 4);
    for (size_t i = 0; i < count; i++) {
        if (!p->count[i]) continue;
        json_object *row = json_object_new_object();
        total[entries[i].decision->cls] += p->count[i];
        json_object_object_add(row, "words", count_json(p->count[i]));
        json_object_object_add(row, "class", json_object_new_string(xs_class_name(entries[i].decision->cls)));
        json_object_object_add(row, "rule", json_object_new_string(entries[i].rule->name));
        json_object_object_add(row, "handler", json_name(entries[i].decision->handler));
        output_row(out, "rule", row);
    }
    output_list_end(out);
    json_object *sum = json_object_new_object();
    for (int c = 0; c < XS_TAIL; c++)
        json_object_object_add(sum, xs_class_name((xs_class)c), count_json(total[c]));
    if (out->format == FORMAT_TEXT)
        fprintf(out->f, "\nsimulate %" PRIu64 ", slot %" PRIu64 ", reject %" PRIu64 " of 4294967296 words\n",
                total[XS_SIMULATE], total[XS_SLOT], total[XS_REJECT]);
    output_value(out, "classes", "classes", sum);
    return STATUS_OK;
}

static int table_census(const options *o, output *out)
{
    view v;
    pairs p = {0};
    int status = view_open_target(&v, o, o->args[1]);
    if (status != STATUS_OK) return status;
    output_begin(out);
    output_value(out, "target", NULL, json_object_new_string(v.name));
    status = pairs_count(&p, v.decoder, NULL) ? census_print(&v, out, &p)
                                              : complain(STATUS_INTERNAL, "out of memory");
    output_end(out);
    pairs_free(&p);
    view_close(&v);
    return status;
}

static void add_side(json_object *row, const char *side, const xs_entry *e)
{
    char key[32];
    snprintf(key, sizeof key, "class_%s", side);
    json_object_object_add(row, key, json_object_new_string(xs_class_name(e->decision->cls)));
    snprintf(key, sizeof key, "handler_%s", side);
    json_object_object_add(row, key, json_name(e->decision->handler));
    snprintf(key, sizeof key, "rule_%s", side);
    json_object_object_add(row, key, json_object_new_string(e->rule->name));
    snprintf(key, sizeof key, "note_%s", side);
    json_object_object_add(row, key, json_name(e->decision->note));
}

static const column diff_columns[] = {
    {"words", "WORDS", 11},       {"example", "EXAMPLE", 10}, {"class_a", "FROM", 8},
    {"handler_a", "HANDLER", 24}, {"rule_a", "RULE", 14},     {"class_b", "TO", 8},
    {"handler_b", "HANDLER", 24}, {"rule_b", "RULE", 14},     {"note_b", "NOTE", 0}};

/* Rows for every pair of rules that treats words differently; returns how many words those are. */
static uint64_t diff_print(const view *a, const view *b, output *out, const pairs *p)
{
    size_t rows, columns;
    uint64_t words = 0;
    const xs_entry *ea = xs_decoder_entries(a->decoder, &rows),
                   *eb = xs_decoder_entries(b->decoder, &columns);
    output_list(out, "differences", diff_columns, sizeof diff_columns / sizeof *diff_columns);
    for (size_t i = 0; i < rows * columns; i++) {
        const xs_entry *x = &ea[i / columns], *y = &eb[i % columns];
        if (!p->count[i] || same(x->decision, y->decision)) continue;
        json_object *row = json_object_new_object();
        json_object_object_add(row, "words", count_json(p->count[i]));
        json_object_object_add(row, "example", json_hex(p->example[i], 8));
        add_side(row, "a", x);
        add_side(row, "b", y);
        output_row(out, "difference", row);
        words += p->count[i];
    }
    output_list_end(out);
    return words;
}

static int diff_views(const view *a, const view *b, output *out)
{
    pairs p = {0};
    int status = STATUS_INTERNAL;
    output_begin(out);
    if (!pairs_count(&p, a->decoder, b->decoder)) {
        complain(STATUS_INTERNAL, "out of memory");
    } else {
        uint64_t words = diff_print(a, b, out, &p);
        status = words ? STATUS_FOUND : STATUS_OK;
        if (out->format == FORMAT_TEXT)
            fprintf(out->f, "%" PRIu64 " words differ between %s and %s\n", words, a->name, b->name);
        json_object *sum = json_object_new_object();
        json_object_object_add(sum, "a", json_object_new_string(a->name));
        json_object_object_add(sum, "b", json_object_new_string(b->name));
        json_object_object_add(sum, "words", count_json(words));
        output_value(out, "summary", "summary", sum);
    }
    output_end(out);
    pairs_free(&p);
    return status;
}

static int table_diff(const options *o, output *out)
{
    view a, b;
    int status = view_open_target(&a, o, o->args[1]);
    if (status != STATUS_OK) return status;
    status = view_open_target(&b, o, o->args[2]);
    if (status == STATUS_OK && a.granule != b.granule)
        status = complain(STATUS_USAGE, "%s and %s are different architectures", a.name, b.name);
    else if (status == STATUS_OK)
        status = diff_views(&a, &b, out);
    view_close(&b);
    view_close(&a);
    return status;
}

/* ---- check ----------------------------------------------------------------------------------- */

static const column check_columns[] = {
    {"line", "LINE", 6}, {"column", "COLUMN", 6}, {"code", "CODE", 24}, {"message", "MESSAGE", 0}};

/* Findings are the result here, so they go to the output; in every other command to standard error. */
static int table_check(const options *o, output *out)
{
    xs_diag diags[256];
    size_t count;
    int status = table_findings(o->args[1], diags, sizeof diags / sizeof *diags, &count);
    if (status != STATUS_OK) return status;
    output_begin(out);
    output_value(out, "file", NULL, json_object_new_string(o->args[1]));
    if (count || out->format != FORMAT_TEXT) output_list(out, "findings", check_columns, 4);
    for (size_t i = 0; i < count && i < sizeof diags / sizeof *diags; i++) {
        json_object *row = json_object_new_object();
        json_object_object_add(row, "line", json_object_new_int((int)diags[i].line));
        json_object_object_add(row, "column", json_object_new_int((int)diags[i].column));
        json_object_object_add(row, "code", json_object_new_string(diags[i].code));
        json_object_object_add(row, "message", json_object_new_string(diags[i].message));
        output_row(out, "finding", row);
    }
    if (count || out->format != FORMAT_TEXT) output_list_end(out);
    output_end(out);
    if (out->format == FORMAT_TEXT)
        fprintf(out->f, "%s: %zu finding%s\n", o->args[1], count, count == 1 ? "" : "s");
    return count ? STATUS_FOUND : STATUS_OK;
}

static const struct {
    const char *name;
    int arguments;
    int (*run)(const options *, output *);
} verbs[] = {{"list", 0, table_list}, {"show", 1, table_show},     {"dump", 1, table_dump},
             {"diff", 2, table_diff}, {"census", 1, table_census}, {"check", 1, table_check}};

int command_table(const options *o)
{
    output out;
    for (size_t i = 0; o->count && i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(verbs[i].name, o->args[0]) != 0) continue;
        if (o->count - 1 != verbs[i].arguments)
            return complain(STATUS_USAGE, "table %s takes %d argument%s", verbs[i].name, verbs[i].arguments,
                            verbs[i].arguments == 1 ? "" : "s");
        if (!output_open(&out, o)) return STATUS_INPUT;
        int status = verbs[i].run(o, &out);
        return output_close(&out, status);
    }
    return complain(
        STATUS_USAGE,
        "table list | show TARGET | dump TARGET | census TARGET | diff TARGET TARGET | check FILE");
}
