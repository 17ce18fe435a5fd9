/* A kernel's runs beside a target's. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* Words of one rule that the kernel treats in one other way. */
typedef struct group {
    size_t entry;
    xs_class cls;
    unsigned handler;
    uint32_t example;
    uint64_t words, runs;
} group;

typedef struct differ {
    const run_list *runs;
    const xs_entry *entries;
    size_t at; /* the run at hand */
    group *groups;
    size_t count;
    bool failed; /* no memory */
} differ;

static bool as_target(const differ *d, const run *r, size_t entry)
{
    const xs_decision *decision = d->entries[entry].decision;
    return r->cls == decision->cls && strcmp(d->runs->names[r->handler], decision->handler) == 0;
}

static group *find_group(differ *d, const run *r, size_t entry, uint32_t example)
{
    for (size_t i = 0; i < d->count; i++) {
        group *g = &d->groups[i];
        if (g->entry == entry && g->cls == r->cls && g->handler == r->handler) return g;
    }
    group *more = realloc(d->groups, (d->count + 1) * sizeof *more);
    if (!more) return NULL;
    d->groups = more;
    more[d->count] = (group){.entry = entry, .cls = r->cls, .handler = r->handler, .example = example};
    return &more[d->count++];
}

static bool count_words(differ *d, const run *r, size_t entry, uint32_t example, uint64_t words)
{
    group *g = as_target(d, r, entry) ? NULL : find_group(d, r, entry, example);
    if (g) {
        g->words += words;
        g->runs++;
    } else if (!as_target(d, r, entry)) {
        d->failed = true;
    }
    return !d->failed;
}

/* Both lists are in order; the kernel's may have gaps (a shard). */
static bool beside(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    differ *d = arg;
    for (; d->at < d->runs->count; d->at++) {
        const run *r = &d->runs->list[d->at];
        if (r->first > last) return true;
        uint32_t from = r->first > first ? r->first : first, to = r->last < last ? r->last : last;
        if (from <= to && !count_words(d, r, entry, from, (uint64_t)to - from + 1)) return false;
        if (r->last > last) return true;
    }
    return true;
}

/* The low halfword of the run at hand. */
typedef struct half {
    differ *d;
    const run *r;
    uint32_t low;
} half;

static bool beside_half(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    half *h = arg;
    return count_words(h->d, h->r, entry, first << 16 | h->low, (uint64_t)last - first + 1);
}

static bool walk_halves(const view *v, differ *d)
{
    bool ok = true;
    for (size_t i = 0; i < d->runs->count; i++)
        for (uint32_t low = d->runs->list[i].first; ok && low <= d->runs->list[i].last; low++)
            ok = xs_space_runs(v->decoder, 16, low, beside_half, &(half){d, &d->runs->list[i], low});
    return ok;
}

static const column columns[] = {{"words", "WORDS", 11},
                                 {"runs", "RUNS", 8},
                                 {"example", "EXAMPLE", 10},
                                 {"class", "KERNEL", 8},
                                 {"handler", "HANDLER", 26},
                                 {"class_target", "TARGET", 8},
                                 {"handler_target", "HANDLER", 26},
                                 {"rule", "RULE", 14},
                                 {"note_target", "NOTE", 0}};

static void print_group(const differ *d, const group *g, output *out)
{
    const xs_entry *e = &d->entries[g->entry];
    json_object *row = json_object_new_object();
    json_object_object_add(row, "words", json_object_new_int64((int64_t)g->words));
    json_object_object_add(row, "runs", json_object_new_int64((int64_t)g->runs));
    json_object_object_add(row, "example", json_hex(g->example, 8));
    json_object_object_add(row, "class", json_object_new_string(xs_class_name(g->cls)));
    json_object_object_add(row, "handler", json_name(d->runs->names[g->handler]));
    json_object_object_add(row, "class_target", json_object_new_string(xs_class_name(e->decision->cls)));
    json_object_object_add(row, "handler_target", json_name(e->decision->handler));
    json_object_object_add(row, "rule", json_object_new_string(e->rule->name));
    json_object_object_add(row, "note_target", json_name(e->decision->note));
    output_row(out, "kernel_difference", row);
}

bool runs_diff(const view *v, const run_list *runs, bool halves, output *out, uint64_t *words,
               uint64_t *count)
{
    size_t entries;
    differ d = {.runs = runs, .entries = xs_decoder_entries(v->decoder, &entries)};
    bool ok = halves ? walk_halves(v, &d) : xs_space_runs(v->decoder, 0, 0, beside, &d);
    *words = *count = 0;
    if (d.count || out->format != FORMAT_TEXT)
        output_list(out, "differences", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < d.count; i++) {
        print_group(&d, &d.groups[i], out);
        *words += d.groups[i].words;
        *count += d.groups[i].runs;
    }
    if (d.count || out->format != FORMAT_TEXT) output_list_end(out);
    free(d.groups);
    return ok && !d.failed;
}
