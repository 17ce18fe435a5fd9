/* Questions about all 2^32 words, answered by cutting the space along the rules' own bits instead of
 * visiting every word. */
#include <string.h>

#include "internal.h"

/* Rules that can match somewhere in a cube, in order; the last one matches all of it. */
typedef struct candidates {
    uint16_t entry[XS_MAX_RULES + 1];
    size_t count;
} candidates;

/* Keep those of from that can match a word with (word & mask) == value, up to the first that must. */
static void narrow(const xs_decoder *d, const candidates *from, uint32_t mask, uint32_t value, candidates *to)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        const xs_rule *rule = d->entries[from->entry[i]].rule;
        if ((rule->value ^ value) & rule->mask & mask) continue;
        to->entry[to->count++] = from->entry[i];
        if ((rule->mask & ~mask) == 0) return;
    }
}

static void all_candidates(const xs_decoder *d, candidates *all)
{
    all->count = d->count + 1;
    for (size_t i = 0; i <= d->count; i++)
        all->entry[i] = (uint16_t)i;
}

/* Bits on which the first candidate still depends. */
static uint32_t open_bits(const xs_decoder *d, const candidates *c, uint32_t mask)
{
    return d->entries[c->entry[0]].rule->mask & ~mask;
}

typedef struct walk {
    const xs_decoder *a, *b;
    xs_cube_fn *fn;
    void *arg;
} walk;

static bool walk_cube(const walk *w, const candidates *a, const candidates *b, uint32_t mask, uint32_t value)
{
    uint32_t open = open_bits(w->a, a, mask);
    if (!open && w->b) open = open_bits(w->b, b, mask);
    if (!open) return w->fn(w->arg, a->entry[0], w->b ? b->entry[0] : 0, mask, value);
    uint32_t bit = open & (~open + 1);
    for (int side = 0; side < 2; side++) {
        candidates na, nb;
        uint32_t v = side ? value | bit : value;
        narrow(w->a, a, mask | bit, v, &na);
        if (w->b) narrow(w->b, b, mask | bit, v, &nb);
        if (!walk_cube(w, &na, &nb, mask | bit, v)) return false;
    }
    return true;
}

bool xs_space_walk(const xs_decoder *a, const xs_decoder *b, xs_cube_fn *fn, void *arg)
{
    walk w = {a, b, fn, arg};
    candidates ca, cb = {.count = 0};
    all_candidates(a, &ca);
    if (b) all_candidates(b, &cb);
    return walk_cube(&w, &ca, &cb, 0, 0);
}

typedef struct run_walk {
    const xs_decoder *d;
    unsigned low_bits;
    xs_run_fn *fn;
    void *arg;
} run_walk;

/* Cut from the highest bit down, so that runs come in order; free: how many low bits of the run's
 * number are still open. */
static bool walk_runs(const run_walk *w, const candidates *c, unsigned free, uint32_t mask, uint32_t value)
{
    uint32_t last = free == 32 ? UINT32_MAX : (UINT32_C(1) << free) - 1;
    uint32_t first = (uint32_t)((uint64_t)value >> w->low_bits);
    if (!open_bits(w->d, c, mask)) return w->fn(w->arg, c->entry[0], first, first | last);
    uint32_t bit = UINT32_C(1) << (free - 1 + w->low_bits);
    for (int side = 0; side < 2; side++) {
        candidates next;
        uint32_t v = side ? value | bit : value;
        narrow(w->d, c, mask | bit, v, &next);
        if (!walk_runs(w, &next, free - 1, mask | bit, v)) return false;
    }
    return true;
}

bool xs_space_runs(const xs_decoder *decoder, unsigned fixed_low, uint32_t low, xs_run_fn *fn, void *arg)
{
    run_walk w = {decoder, fixed_low, fn, arg};
    uint32_t mask = fixed_low ? (UINT32_C(1) << fixed_low) - 1 : 0;
    candidates all, c;
    all_candidates(decoder, &all);
    narrow(decoder, &all, mask, low & mask, &c);
    return walk_runs(&w, &c, 32 - fixed_low, mask, low & mask);
}
