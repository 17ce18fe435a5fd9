/* audit: the report as Markdown, to be pasted. */
#include <inttypes.h>
#include <string.h>

#include "audit.h"
#include "campaign.h"

/* What Markdown would take for markup in plain text; code spans are left to backticks. */
static void print_plain(FILE *f, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_[]<>|#", *text)) fputc('\\', f);
        fputc(*text, f);
    }
}

static void print_item(FILE *f, const char *key, const char *text)
{
    fprintf(f, "- %s: ", key);
    print_plain(f, text);
    fputc('\n', f);
}

static void print_table(FILE *f, const audit *a, const audit_scope *scope)
{
    size_t shown = 0;
    for (size_t i = 0; i < a->count; i++)
        shown += audit_is_shown(&a->findings[i], scope);
    if (!shown) return;
    fprintf(f, "\n| severity | rule | words | kernels | proof |%s\n|---|---|---:|---|---|%s\n",
            scope->file ? " sites |" : "", scope->file ? "---:|" : "");
    for (size_t i = 0; i < a->count; i++) {
        const finding *x = &a->findings[i];
        if (!audit_is_shown(x, scope)) continue;
        fprintf(f, "| %s | `%s` | %" PRIu64 " | %s | %s |", xs_hazard_name(x->hazard), x->told->name,
                x->words, audit_kernels_text(x), audit_verdict_name(x->proof.verdict));
        if (scope->file) fprintf(f, " %" PRIu64 " |", x->sites);
        fputc('\n', f);
    }
}

static void print_sites(FILE *f, json_object *const shown[SITES_SHOWN], uint64_t sites)
{
    fprintf(f, "- sites: %" PRIu64 "\n", sites);
    for (size_t i = 0; i < SITES_SHOWN && shown[i]; i++)
        fprintf(f, "  - `%s` `%s` `%s`\n", json_text(shown[i], "addr"), json_text(shown[i], "site"),
                json_text(shown[i], "text"));
}

static void print_places(FILE *f, const audit *a)
{
    for (unsigned h = 0; h < XS_HAZARD_COUNT; h++) {
        if (!a->places[h].sites) continue;
        fprintf(f, "\n### %s: by the place\n\n", xs_hazard_name(h));
        print_plain(f, audit_place_sentence(h));
        fputs("\n\n", f);
        print_sites(f, a->places[h].shown, a->places[h].sites);
    }
}

static void print_proof(FILE *f, const finding *x)
{
    char proof[1600];
    audit_proof_text(x, proof, sizeof proof);
    print_item(f, "proof", proof);
    if (x->proof.run) fprintf(f, "\n  ```sh\n  %s\n  ```\n", json_text(x->proof.run, "replay"));
}

static void print_finding(FILE *f, const audit *a, const finding *x, const audit_scope *scope)
{
    json_object *row = finding_json(a, x, scope->file), *where = json_object_object_get(row, "where");
    fprintf(f, "\n### %s: `%s`%s%s\n\n", xs_hazard_name(x->hazard), x->told->name, x->quirk < 0 ? "" : ", ",
            x->quirk < 0 ? "" : json_text(row, "quirk"));
    print_plain(f, json_text(row, "why"));
    fprintf(f, "\n\n- encoding: `%s`%s%s%s\n", json_text(row, "pattern"), where ? " where `" : "",
            where ? json_object_get_string(where) : "", where ? "`" : "");
    fprintf(f, "- words: %" PRIu64 ", for example `%s` `%s`\n", x->words, json_text(row, "example"),
            json_text(row, "text"));
    fprintf(f, "- kernel: %s, by `%s`; needs %s\n", json_text(row, "does"), x->kernel.rule,
            json_text(row, "needs"));
    print_item(f, "kernels", audit_kernels_text(x));
    if (scope->file) print_sites(f, x->shown, x->sites);
    print_proof(f, x);
    json_object_put(row);
}

static void print_kernel(FILE *f, const audit *a, const audit_kernel *k)
{
    char answers[256];
    audit_answerer_text(a, k, answers, sizeof answers);
    fprintf(f, "- target: %s%s\n", a->view->name, audit_fit(k));
    print_item(f, "release", k->release);
    fprintf(f, "- function: `%s`\n", k->function);
    print_item(f, "answers", answers);
    fputc('\n', f);
}

/* "arm64/7.1/uprobe", "`vmlinux` on `program`" */
static void print_title(FILE *f, const audit *a, const audit_scope *scope)
{
    const char *quote = scope->kernel ? "`" : "";
    fprintf(f, "## Audit of %s%s%s", quote, scope->kernel ? scope->kernel->path : a->view->name, quote);
    if (scope->file) fprintf(f, " on `%s`", scope->file);
    fputs("\n\n", f);
}

void audit_markdown(FILE *f, const audit *a, const audit_scope *scope)
{
    print_title(f, a, scope);
    if (scope->kernel) print_kernel(f, a, scope->kernel);
    if (scope->file)
        fprintf(f, "%" PRIu64 " of %" PRIu64 " sites (%s) have something wrong.\n", scope->hits, scope->sites,
                scope->kind);
    else
        fprintf(f, "%" PRIu64 " of 4294967296 words are in a finding.\n", a->words);
    print_table(f, a, scope);
    for (size_t i = 0; i < a->count; i++)
        if (audit_is_shown(&a->findings[i], scope)) print_finding(f, a, &a->findings[i], scope);
    print_places(f, a);
}
