/* lockstep: the list of what is known about Unicorn, held against what it did. */
#include <inttypes.h>
#include <string.h>

#include "campaign.h"

/* ---- lines ----------------------------------------------------------------------------------------- */

static json_object *divergence_json(const part *pt, const xs_divergence *d)
{
    json_object *row = json_object_new_object();
    char word[16];
    snprintf(word, sizeof word, "0x%08" PRIx32, d->word);
    json_add_text(row, "arch", pt->cases.arch->name);
    json_add_number(row, "line", d->line);
    json_add_text(row, "about", *d->rule ? d->rule : word);
    json_add_text(row, "field", xs_field_name(d->field));
    json_add_text(row, "ours", d->ours);
    json_add_text(row, "theirs", d->theirs);
    json_add_number(row, "tested", d->tested);
    json_add_number(row, "used", d->used);
    json_add_text(row, "reason", d->reason);
    return row;
}

static json_object *run_as_json(const part *pt, const xs_run_as *r)
{
    json_object *row = json_object_new_object();
    json_add_text(row, "arch", pt->cases.arch->name);
    json_add_number(row, "line", r->line);
    json_add_text(row, "rule", r->rule);
    json_add_text(row, "as", r->as);
    json_add_number(row, "tested", r->tested);
    json_add_number(row, "used", r->used);
    json_add_text(row, "reason", r->reason);
    return row;
}

static json_object *not_run_json(const part *pt, const xs_not_run *n)
{
    json_object *row = json_object_new_object();
    json_add_text(row, "arch", pt->cases.arch->name);
    json_add_number(row, "line", n->line);
    json_add_text(row, "rule", n->rule);
    json_add_text(row, "why", n->why);
    json_add_text(row, "sound", n->sound);
    return row;
}

void known_add(json_object *report, const part *pt)
{
    const xs_divergences *known = &pt->divergences;
    json_object *divergences = json_object_object_get(report, "divergences"),
                *run_as = json_object_object_get(report, "run_as"),
                *not_run = json_object_object_get(report, "not_run");
    for (unsigned i = 0; !pt->p->slots && i < known->count; i++)
        json_object_array_add(divergences, divergence_json(pt, &known->list[i]));
    for (unsigned i = 0; i < known->run_as_count; i++)
        json_object_array_add(run_as, run_as_json(pt, &known->run_as[i]));
    for (unsigned i = 0; i < known->not_run_count; i++)
        json_object_array_add(not_run, not_run_json(pt, &known->not_run[i]));
}

/* ---- rules and the list ------------------------------------------------------------------------------ */

static json_object *line_of(json_object *report, json_object *row)
{
    json_object *list = json_object_object_get(report, "not_run");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *line = json_object_array_get_idx(list, i);
        if (strcmp(json_text(line, "arch"), json_text(row, "arch")) == 0 &&
            strcmp(json_text(line, "rule"), json_text(row, "rule")) == 0)
            return line;
    }
    return NULL;
}

bool known_not_run(json_object *report, json_object *row)
{
    return json_number(row, "checks") == 0 && line_of(report, row);
}

/* A kernel's slot rules may be wider than anything that can be said about them: ideal's may not. */
static bool needs_proof(json_object *report, json_object *row)
{
    const char *target = json_text(row, "target"), *kernel = strchr(target, '/');
    return strcmp(json_text(report, "class"), "simulate") == 0 || (kernel && strcmp(kernel, "/ideal") == 0);
}

/* What is wrong with a rule and the list together; NULL: nothing. */
static const char *rule_trouble(json_object *report, json_object *row)
{
    bool listed = line_of(report, row), checked = json_number(row, "checks");
    if (listed && checked) return "runs, so its line not-run is no longer needed";
    if (listed || checked || json_number(row, "words") < XS_NOT_RUN_ENOUGH || !needs_proof(report, row))
        return NULL;
    return "has not run: neither checked nor listed as not-run";
}

static bool is_stale(json_object *line)
{
    return xs_divergence_stale(json_number(line, "tested"), json_number(line, "used"));
}

static bool any(json_object *report, const char *list, bool (*wrong)(json_object *report, json_object *row))
{
    json_object *rows = json_object_object_get(report, list);
    for (size_t i = 0; i < json_object_array_length(rows); i++)
        if (wrong(report, json_object_array_get_idx(rows, i))) return true;
    return false;
}

static bool stale(json_object *report, json_object *row)
{
    (void)report;
    return is_stale(row);
}

static bool in_trouble(json_object *report, json_object *row)
{
    return rule_trouble(report, row);
}

bool known_wrong(json_object *report)
{
    return any(report, "divergences", stale) || any(report, "run_as", stale) ||
           any(report, "rules", in_trouble);
}

/* ---- for people -------------------------------------------------------------------------------------- */

static void print_not_run(FILE *f, json_object *report)
{
    json_object *rules = json_object_object_get(report, "rules");
    bool first = true;
    for (size_t i = 0; i < json_object_array_length(rules); i++) {
        json_object *row = json_object_array_get_idx(rules, i), *line = line_of(report, row);
        if (!known_not_run(report, row)) continue;
        if (first) fputs("not run by Unicorn, sound by the architecture:\n", f);
        first = false;
        fprintf(f, "%-8s %-14s %s: %s\n", json_text(row, "arch"), json_text(row, "rule"),
                json_text(line, "why"), json_text(line, "sound"));
    }
    if (!first) fputc('\n', f);
}

static void print_run_as(FILE *f, json_object *report)
{
    json_object *list = json_object_object_get(report, "run_as");
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        json_object *r = json_object_array_get_idx(list, i);
        if (json_number(r, "used"))
            fprintf(f, "%s: %s run as %s in %" PRIu64 " checks: %s\n", json_text(r, "arch"),
                    json_text(r, "rule"), json_text(r, "as"), json_number(r, "used"), json_text(r, "reason"));
        else if (is_stale(r))
            fprintf(f, "%s: divergences line %" PRIu64 " is no longer needed: Unicorn runs %s\n",
                    json_text(r, "arch"), json_number(r, "line"), json_text(r, "rule"));
    }
}

static void print_trouble(FILE *f, json_object *report)
{
    json_object *rules = json_object_object_get(report, "rules"),
                *divergences = json_object_object_get(report, "divergences");
    for (size_t i = 0; i < json_object_array_length(rules); i++) {
        json_object *row = json_object_array_get_idx(rules, i);
        const char *trouble = rule_trouble(report, row);
        if (trouble) fprintf(f, "%s: %s %s\n", json_text(row, "arch"), json_text(row, "rule"), trouble);
    }
    for (size_t i = 0; i < json_object_array_length(divergences); i++) {
        json_object *d = json_object_array_get_idx(divergences, i);
        if (is_stale(d))
            fprintf(f, "%s: divergences line %" PRIu64 " is no longer needed: %s %s %s %s\n",
                    json_text(d, "arch"), json_number(d, "line"), json_text(d, "about"),
                    json_text(d, "field"), json_text(d, "ours"), json_text(d, "theirs"));
    }
}

void known_print(FILE *f, json_object *report)
{
    print_not_run(f, report);
    print_run_as(f, report);
    print_trouble(f, report);
}
