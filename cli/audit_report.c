/* audit: the report, for people and for programs. */
#include <inttypes.h>
#include <string.h>

#include "audit.h"
#include "campaign.h"

bool audit_is_shown(const finding *f, const audit_scope *scope)
{
    return !scope->file || f->sites > 0;
}

/* ---- text -------------------------------------------------------------------------------------- */

static void print_sites(FILE *f, json_object *const shown[SITES_SHOWN], uint64_t sites)
{
    for (size_t i = 0; i < SITES_SHOWN && shown[i]; i++) {
        json_object *s = shown[i];
        fprintf(f, "  %-9s %s  %s  %s  %s\n", i ? "" : "sites", json_text(s, "addr"), json_text(s, "site"),
                json_text(s, "word"), json_text(s, "text"));
    }
    if (sites > SITES_SHOWN) fprintf(f, "  %-9s and %" PRIu64 " more\n", "", sites - SITES_SHOWN);
}

static void print_line(FILE *f, const char *key, const char *text)
{
    fprintf(f, "  %-9s %s\n", key, text);
}

static void print_finding(FILE *f, const audit *a, const finding *x, const audit_scope *scope)
{
    char proof[1600], words[160];
    json_object *row = finding_json(a, x, scope->file), *where = json_object_object_get(row, "where");
    int at = snprintf(words, sizeof words, "%" PRIu64, x->words);
    if (x->again)
        snprintf(words + at, sizeof words - (size_t)at, ", %" PRIu64 " of them in a finding above", x->again);
    audit_proof_text(x, proof, sizeof proof);
    fprintf(f, "\n%s: %s%s%s\n", xs_hazard_name(x->hazard), x->told->name, x->quirk < 0 ? "" : ", ",
            x->quirk < 0 ? "" : json_text(row, "quirk"));
    print_line(f, "encoding", json_text(row, "pattern"));
    if (where) print_line(f, "where", json_object_get_string(where));
    print_line(f, "words", words);
    fprintf(f, "  %-9s %s  %s\n", "example", json_text(row, "example"), json_text(row, "text"));
    fprintf(f, "  %-9s %s, by %s; needs %s\n", "kernel", json_text(row, "does"), x->kernel.rule,
            json_text(row, "needs"));
    print_line(f, "kernels", audit_kernels_text(x));
    print_line(f, "why", json_text(row, "why"));
    print_line(f, "proof", proof);
    if (x->proof.run) print_line(f, "again", json_text(x->proof.run, "replay"));
    if (scope->file) print_sites(f, x->shown, x->sites);
    json_object_put(row);
}

/* Not the word's fault but its place's. */
static void print_places(FILE *f, const audit *a)
{
    for (unsigned h = 0; h < XS_HAZARD_COUNT; h++) {
        if (!a->places[h].sites) continue;
        fprintf(f, "\n%s: by the place\n", xs_hazard_name(h));
        print_line(f, "why", audit_place_sentence(h));
        print_sites(f, a->places[h].shown, a->places[h].sites);
    }
}

static size_t shown_count(const audit *a, const audit_scope *scope)
{
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++)
        n += audit_is_shown(&a->findings[i], scope);
    return n;
}

/* "corrupts 2, hangs 1" */
static void print_severities(FILE *f, const audit *a, const audit_scope *scope)
{
    for (unsigned h = 0; h < XS_HAZARD_COUNT; h++) {
        size_t n = 0;
        for (size_t i = 0; i < a->count; i++)
            n += a->findings[i].hazard == h && audit_is_shown(&a->findings[i], scope);
        if (n) fprintf(f, ", %s %zu", xs_hazard_name(h), n);
    }
    fputc('\n', f);
}

static void print_kernel(FILE *f, const audit *a, const audit_kernel *k)
{
    char answers[256];
    audit_answerer_text(a, k, answers, sizeof answers);
    text_line(f, "kernel", "%s", k->path);
    text_line(f, "release", "%s", k->release);
    text_line(f, "function", "%s", k->function);
    text_line(f, "answers", "%s", answers);
}

static void print_head(FILE *f, const audit *a, const audit_scope *scope)
{
    if (scope->file) text_line(f, "file", "%s", scope->file);
    if (scope->kernel) print_kernel(f, a, scope->kernel);
    text_line(f, "target", "%s%s", a->view->name, audit_fit(scope->kernel));
    fprintf(f, "%-9s %zu", "findings", shown_count(a, scope));
    print_severities(f, a, scope);
    if (scope->file) {
        text_line(f, "sites", "%" PRIu64 " of %" PRIu64 " (%s) have something wrong", scope->hits,
                  scope->sites, scope->kind);
        return;
    }
    text_line(f, "words", "%" PRIu64 " in findings, of 4294967296", a->words);
    for (int i = 0; i < ACCOUNT_COUNT; i++)
        if (a->account[i])
            fprintf(f, "%10s%" PRIu64 " %s\n", "", a->account[i], audit_account_name((audit_account)i));
}

/* ---- programs ---------------------------------------------------------------------------------- */

static json_object *kernel_json(const audit_kernel *k)
{
    json_object *row = json_object_new_object();
    json_object_object_add(row, "path", json_bytes(k->path));
    json_object_object_add(row, "release", json_bytes(k->release));
    json_add_text(row, "function", k->function);
    json_object_object_add(row, "exhaustive", json_object_new_boolean(k->exhaustive));
    if (k->exhaustive)
        json_add_number(row, "differences", k->differ);
    else
        json_add_number(row, "telling_words", k->telling);
    return row;
}

static json_object *summary_json(const audit *a, const audit_scope *scope)
{
    json_object *s = json_object_new_object(), *accounts = json_object_new_object();
    json_add_text(s, "target", a->view->name);
    if (scope->kernel) json_object_object_add(s, "kernel", kernel_json(scope->kernel));
    json_add_number(s, "findings", shown_count(a, scope));
    json_add_number(s, "words", a->words);
    for (int i = 0; i < ACCOUNT_COUNT; i++)
        json_add_number(accounts, audit_account_name((audit_account)i), a->account[i]);
    json_object_object_add(s, "others", accounts);
    if (scope->file) {
        json_object_object_add(s, "file", json_bytes(scope->file));
        json_add_text(s, "kind", scope->kind);
        json_add_number(s, "sites", scope->sites);
        json_add_number(s, "hits", scope->hits);
    }
    return s;
}

/* A row has no room for an object: the proof becomes a verdict, a sentence and a command. */
static void flatten(const finding *f, json_object *row)
{
    char proof[1600];
    audit_proof_text(f, proof, sizeof proof);
    json_add_text(row, "verdict", audit_verdict_name(f->proof.verdict));
    json_add_text(row, "proof", proof);
    json_add_text(row, "replay", f->proof.run ? json_text(f->proof.run, "replay") : NULL);
}

static const column columns[] = {
    {"severity", "", 0}, {"rule", "", 0},   {"kernel_rule", "", 0}, {"quirk", "", 0},   {"pattern", "", 0},
    {"where", "", 0},    {"words", "", 0},  {"encodings", "", 0},   {"again", "", 0},   {"example", "", 0},
    {"text", "", 0},     {"does", "", 0},   {"needs", "", 0},       {"kernels", "", 0}, {"verdict", "", 0},
    {"proof", "", 0},    {"replay", "", 0}, {"why", "", 0},         {"sites", "", 0},
};

static void print_place_rows(output *out, const audit *a)
{
    output_list(out, "places", NULL, 0);
    for (unsigned h = 0; h < XS_HAZARD_COUNT; h++)
        if (a->places[h].sites) output_row(out, "audit_place", place_json(a, h));
    output_list_end(out);
}

static void print_rows(output *out, const audit *a, const audit_scope *scope)
{
    output_begin(out);
    output_list(out, "findings", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < a->count; i++) {
        if (!audit_is_shown(&a->findings[i], scope)) continue;
        json_object *row = finding_json(a, &a->findings[i], scope->file);
        if (out->format == FORMAT_TSV) flatten(&a->findings[i], row);
        output_row(out, "audit_finding", row);
    }
    output_list_end(out);
    if (scope->file && out->format != FORMAT_TSV) print_place_rows(out, a);
    output_value(out, "summary", "audit_summary", summary_json(a, scope));
    output_end(out);
}

void audit_report(output *out, const audit *a, const audit_scope *scope)
{
    out->something = true;
    if (out->format == FORMAT_MARKDOWN) {
        audit_markdown(out->f, a, scope);
    } else if (out->format == FORMAT_TEXT) {
        print_head(out->f, a, scope);
        for (size_t i = 0; i < a->count; i++)
            if (audit_is_shown(&a->findings[i], scope)) print_finding(out->f, a, &a->findings[i], scope);
        print_places(out->f, a);
    } else {
        print_rows(out, a, scope);
    }
}
