/* Where a kernel's runs are not what a target says. */
#include <string.h>

#include "kernel.h"

typedef struct walker {
    const run_list *runs;
    const xs_entry *entries;
    size_t at;    /* the run at hand */
    uint32_t low; /* the halfword at hand */
    beside_fn *fn;
    void *arg;
} walker;

static bool as_target(const walker *w, const run *r, size_t entry)
{
    const xs_decision *decision = w->entries[entry].decision;
    return r->cls == decision->cls && strcmp(w->runs->names[r->handler], decision->handler) == 0;
}

/* Both lists are in order; the kernel's may have gaps (a shard). */
static bool beside(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    walker *w = arg;
    for (; w->at < w->runs->count; w->at++) {
        const run *r = &w->runs->list[w->at];
        if (r->first > last) return true;
        uint32_t from = r->first > first ? r->first : first, to = r->last < last ? r->last : last;
        if (from <= to && !as_target(w, r, entry) && !w->fn(w->arg, r, entry, from, to, 1)) return false;
        if (r->last > last) return true;
    }
    return true;
}

/* first and last are upper halfwords, all with the low one at hand. */
static bool beside_half(void *arg, size_t entry, uint32_t first, uint32_t last)
{
    const walker *w = arg;
    const run *r = &w->runs->list[w->at];
    return as_target(w, r, entry) ||
           w->fn(w->arg, r, entry, first << 16 | w->low, last << 16 | w->low, 1u << 16);
}

static bool walk_halves(const view *v, walker *w)
{
    bool ok = true;
    for (w->at = 0; ok && w->at < w->runs->count; w->at++) {
        const run *r = &w->runs->list[w->at];
        for (w->low = r->first; ok && w->low <= r->last; w->low++)
            ok = xs_space_runs(v->decoder, 16, w->low, beside_half, w);
    }
    return ok;
}

bool runs_beside(const view *v, const run_list *runs, bool halves, beside_fn *fn, void *arg)
{
    size_t count;
    walker w = {.runs = runs, .entries = xs_decoder_entries(v->decoder, &count), .fn = fn, .arg = arg};
    return halves ? walk_halves(v, &w) : xs_space_runs(v->decoder, 0, 0, beside, &w);
}
