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
    group *groups;
    size_t count;
} differ;

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

static bool count_words(void *arg, const run *r, size_t entry, uint32_t first, uint32_t last, uint32_t step)
{
    differ *d = arg;
    group *g = find_group(d, r, entry, first);
    if (!g) return false;
    g->words += (uint64_t)(last - first) / step + 1;
    g->runs++;
    return true;
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
    bool ok = runs_beside(v, runs, halves, count_words, &d);
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
    return ok;
}
