/* lockstep: what was found, as JSON or for people. */
#include <inttypes.h>
#include <string.h>

#include "campaign.h"

void json_add_text(json_object *to, const char *key, const char *text)
{
    json_object_object_add(to, key, text ? json_object_new_string(text) : NULL);
}

void json_add_number(json_object *to, const char *key, uint64_t value)
{
    json_object_object_add(to, key, json_object_new_int64((int64_t)value));
}

uint64_t json_number(json_object *from, const char *key)
{
    return (uint64_t)json_object_get_int64(json_object_object_get(from, key));
}

const char *json_text(json_object *from, const char *key)
{
    json_object *v = json_object_object_get(from, key);
    return v ? json_object_get_string(v) : "-";
}

/* FNV-1a of a file's bytes: shards are of one run only if they read the same ones. "-": no file. */
static void add_sum(json_object *r, const char *key, const char *path)
{
    FILE *f = path ? fopen(path, "rb") : NULL;
    uint64_t sum = UINT64_C(14695981039346656037);
    for (int c; f && (c = getc(f)) != EOF;)
        sum = (sum ^ (uint64_t)c) * UINT64_C(1099511628211);
    json_object_object_add(r, key, f ? json_hex(sum, 16) : NULL);
    if (f) fclose(f);
}

json_object *report_new(const plan *p)
{
    json_object *r = json_object_new_object(), *shard = json_object_new_object();
    json_add_text(r, "version", XOLSIM_VERSION);
    json_object_object_add(r, "seed", json_hex(p->seed, 1));
    json_add_text(r, "class", p->slots ? "slot" : "simulate");
    json_add_text(r, "target", p->o->target ? p->o->target : p->o->arch);
    json_add_text(r, "table", p->o->table);
    add_sum(r, "table_sum", p->o->table);
    json_add_text(r, "rule", p->rule);
    json_add_text(r, "file", p->file);
    add_sum(r, "file_sum", p->file);
    json_add_number(r, "count", p->count);
    json_add_number(r, "time", p->seconds);
    json_add_number(r, "states", p->states);
    json_add_number(shard, "index", p->shard);
    json_add_number(shard, "of", p->shards);
    json_object_object_add(r, "shard", shard);
    json_object_object_add(r, "interrupted", json_object_new_boolean(0));
    json_object_object_add(r, "summary", json_object_new_array());
    json_object_object_add(r, "rules", json_object_new_array());
    json_object_object_add(r, "divergences", json_object_new_array());
    json_object_object_add(r, "run_as", json_object_new_array());
    json_object_object_add(r, "not_run", json_object_new_array());
    json_object_object_add(r, "failures", json_object_new_array());
    return r;
}

/* ---- rules ----------------------------------------------------------------------------------------- */

static json_object *rule_json(const part *pt, const xs_case *c, const tally *t)
{
    json_object *row = json_object_new_object();
    const xs_counts *n = &t->counts;
    const xs_slot_counts *s = &t->slot;
    bool slots = pt->p->slots;
    json_add_text(row, "arch", pt->cases.arch->name);
    json_add_text(row, "rule", c->e->rule->name);
    json_add_text(row, "handler", slots ? "-" : c->e->decision->handler);
    json_add_text(row, "target", c->target);
    json_add_number(row, "words", slots ? s->words : n->words);
    json_add_number(row, "checks", slots ? s->checks : n->checks);
    json_add_number(row, "faults", slots ? s->faults : n->faults);
    json_add_number(row, "unsupported", slots ? s->unsupported : n->unsupported);
    json_add_number(row, "unstable", s->unstable);
    json_add_number(row, "diverged", n->diverged);
    json_add_number(row, "differences", slots ? s->differences : n->differences);
    json_add_number(row, "ungenerated", slots ? s->ungenerated : n->ungenerated);
    json_add_number(row, "run_as", slots ? s->run_as : n->run_as);
    return row;
}

/* ---- putting it together ------------------------------------------------------------------------------ */

static int64_t per_second(uint64_t count, uint64_t ns)
{
    return ns ? (int64_t)((double)count * 1e9 / (double)ns) : 0;
}

/* --plain: checks per second of CPU time, of the same words and states. */
static void add_race(json_object *to, const part *pt)
{
    uint64_t checks = 0, ns = 0, plain = 0, plain_ns = 0;
    for (size_t i = 0; i < pt->cases.count; i++) {
        checks += pt->sum[i].counts.checks;
        ns += pt->sum[i].ns;
        plain += pt->sum[i].counts.checks ? pt->sum[i].plain_checks : 0; /* not those it cannot execute */
        plain_ns += pt->sum[i].counts.checks ? pt->sum[i].plain_ns : 0;
    }
    int64_t rate = per_second(checks, ns), plain_rate = per_second(plain, plain_ns);
    json_object_object_add(to, "cpu_rate", json_object_new_int64(rate));
    json_object_object_add(to, "plain_cpu_rate", json_object_new_int64(plain_rate));
    json_object_object_add(to, "ratio",
                           json_object_new_double(plain_rate ? (double)rate / (double)plain_rate : 0));
}

void report_add(json_object *report, const part *pt)
{
    json_object *rules = json_object_object_get(report, "rules"),
                *failures = json_object_object_get(report, "failures");
    json_object *time = json_object_new_object();
    for (size_t i = 0; i < pt->cases.count; i++) {
        const tally *t = &pt->sum[i];
        const xs_case *c = &pt->cases.list[i];
        json_object_array_add(rules, rule_json(pt, c, t));
        if (t->check.differs) json_object_array_add(failures, failure_json(pt, c, &t->check));
        for (unsigned k = 0; k < t->proof_count; k++)
            json_object_array_add(failures, slot_failure_json(pt, c, &t->proofs[k]));
    }
    known_add(report, pt);
    if (pt->interrupted) json_object_object_add(report, "interrupted", json_object_new_boolean(1));
    json_add_text(time, "arch", pt->cases.arch->name);
    if (pt->p->plain) add_race(time, pt);
    json_object_object_add(time, "seconds", json_object_new_double(pt->seconds));
    json_object_array_add(json_object_object_get(report, "summary"), time);
    report_total(report);
}

static void total_arch(json_object *report, json_object *total)
{
    static const char *const keys[] = {"words",    "checks",      "faults",      "unsupported", "unstable",
                                       "diverged", "differences", "ungenerated", "run_as"};
    json_object *rules = json_object_object_get(report, "rules");
    const char *arch = json_text(total, "arch");
    uint64_t count = 0, untested = 0, listed = 0, sums[sizeof keys / sizeof *keys] = {0};
    for (size_t i = 0; i < json_object_array_length(rules); i++) {
        json_object *row = json_object_array_get_idx(rules, i);
        if (strcmp(json_text(row, "arch"), arch) != 0) continue;
        count++;
        bool is_listed = known_not_run(report, row);
        listed += is_listed;
        untested += !is_listed && json_number(row, "checks") == 0;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            sums[k] += json_number(row, keys[k]);
    }
    json_add_number(total, "rules", count);
    json_add_number(total, "not_run_rules", listed);
    json_add_number(total, "unchecked_rules", untested);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        json_add_number(total, keys[k], sums[k]);
    double seconds = json_object_get_double(json_object_object_get(total, "seconds"));
    json_object_object_add(total, "rate",
                           json_object_new_int64(seconds > 0 ? (int64_t)((double)sums[1] / seconds) : 0));
}

void report_total(json_object *report)
{
    json_object *summary = json_object_object_get(report, "summary");
    for (size_t i = 0; i < json_object_array_length(summary); i++)
        total_arch(report, json_object_array_get_idx(summary, i));
}

int report_status(json_object *report)
{
    json_object *summary = json_object_object_get(report, "summary");
    int status = known_wrong(report) ? STATUS_FOUND : STATUS_OK;
    for (size_t i = 0; i < json_object_array_length(summary); i++)
        if (json_number(json_object_array_get_idx(summary, i), "differences")) status = STATUS_FOUND;
    return status;
}

/* ---- for people --------------------------------------------------------------------------------------- */

static const column rule_columns[] = {{"arch", "ARCH", 8},
                                      {"rule", "RULE", 14},
                                      {"handler", "HANDLER", 26},
                                      {"words", "WORDS", 9},
                                      {"checks", "CHECKS", 11},
                                      {"faults", "FAULTS", 9},
                                      {"unsupported", "UNSUPPORTED", 11},
                                      {"diverged", "DIVERGED", 9},
                                      {"differences", "DIFFERENCES", 11},
                                      {"target", "TARGET", 0}};

static void print_summary(FILE *f, json_object *report)
{
    json_object *summary = json_object_object_get(report, "summary");
    for (size_t i = 0; i < json_object_array_length(summary); i++) {
        json_object *t = json_object_array_get_idx(summary, i);
        fprintf(f,
                "%s: %" PRIu64 " checks of %" PRIu64 " words by %" PRIu64 " rules, %" PRIu64
                " differences, %" PRIu64 " explained, %" PRIu64 " words unsupported, %" PRIu64
                " rules not run, %" PRIu64 " without a check; %.2f s, %" PRIu64 " checks/s\n",
                json_text(t, "arch"), json_number(t, "checks"), json_number(t, "words"),
                json_number(t, "rules"), json_number(t, "differences"), json_number(t, "diverged"),
                json_number(t, "unsupported"), json_number(t, "not_run_rules"),
                json_number(t, "unchecked_rules"),
                json_object_get_double(json_object_object_get(t, "seconds")), json_number(t, "rate"));
        if (json_object_object_get(t, "ratio"))
            fprintf(f, "%s: %" PRIu64 " checks/s of CPU time, %" PRIu64 " by the plain pattern: %.1f times\n",
                    json_text(t, "arch"), json_number(t, "cpu_rate"), json_number(t, "plain_cpu_rate"),
                    json_object_get_double(json_object_object_get(t, "ratio")));
    }
    if (json_object_get_boolean(json_object_object_get(report, "interrupted"))) fputs("interrupted\n", f);
}

static void write_lists(output *out, json_object *report)
{
    json_object *rules = json_object_object_get(report, "rules"),
                *failures = json_object_object_get(report, "failures");
    output_list(out, "rules", rule_columns, sizeof rule_columns / sizeof *rule_columns);
    for (size_t i = 0; i < json_object_array_length(rules); i++)
        output_row(out, "rule", json_object_get(json_object_array_get_idx(rules, i)));
    output_list_end(out);
    for (size_t i = 0; out->format == FORMAT_TEXT && i < json_object_array_length(failures); i++) {
        fputc('\n', out->f);
        failure_print(out->f, json_object_array_get_idx(failures, i));
    }
    for (size_t i = 0; out->format == FORMAT_JSONL && i < json_object_array_length(failures); i++)
        output_row(out, "failure", json_object_get(json_object_array_get_idx(failures, i)));
}

int report_write(const options *o, json_object *report, bool announced)
{
    output out;
    if (!output_open(&out, o)) return STATUS_INPUT;
    if (o->format == FORMAT_JSON) {
        fprintf(out.f, "%s\n",
                json_object_to_json_string_ext(report, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
                                                           JSON_C_TO_STRING_NOSLASHESCAPE));
        out.comma = false;
        return output_close(&out, STATUS_OK);
    }
    if (o->format == FORMAT_TEXT && !announced) fprintf(out.f, "seed %s\n\n", json_text(report, "seed"));
    write_lists(&out, report);
    if (o->format == FORMAT_TEXT) {
        fputc('\n', out.f);
        known_print(out.f, report);
        print_summary(out.f, report);
    }
    return output_close(&out, STATUS_OK);
}
