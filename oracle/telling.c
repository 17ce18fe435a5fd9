/* Telling words: from the cubes on which two targets differ. */
#include "telling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool xs_decisions_alike(const xs_decision *a, const xs_decision *b)
{
    return a->cls == b->cls && strcmp(a->handler, b->handler) == 0;
}

/* ---- groups -------------------------------------------------------------------------------------- */

typedef struct pair {
    const xs_entry *a, *b;
} pair;

static bool cube_alike(void *arg, size_t a, size_t b, uint32_t mask, uint32_t value)
{
    const pair *p = arg;
    (void)mask, (void)value;
    return xs_decisions_alike(p->a[a].decision, p->b[b].decision);
}

static bool decoders_alike(const xs_decoder *a, const xs_decoder *b)
{
    size_t count;
    pair p = {xs_decoder_entries(a, &count), xs_decoder_entries(b, &count)};
    return xs_space_walk(a, b, cube_alike, &p);
}

static bool join(xs_alike *group, const xs_target *target)
{
    xs_target *more = realloc(group->targets, (group->count + 1) * sizeof *more);
    if (!more) return false;
    group->targets = more;
    more[group->count++] = *target;
    return true;
}

/* The latest group first: neighbours are alike more often than not. */
static bool add_target(xs_telling *t, const xs_target *target)
{
    xs_decoder *decoder;
    if (xs_decoder_new(t->table, target, &decoder) != XS_OK) return false;
    for (size_t i = t->group_count; i-- > 0;) {
        if (!decoders_alike(t->groups[i].decoder, decoder)) continue;
        xs_decoder_free(decoder);
        return join(&t->groups[i], target);
    }
    xs_alike *more = realloc(t->groups, (t->group_count + 1) * sizeof *more);
    if (!more) {
        xs_decoder_free(decoder);
        return false;
    }
    t->groups = more;
    more[t->group_count++] = (xs_alike){.decoder = decoder};
    return join(&more[t->group_count - 1], target);
}

static bool add_all(xs_telling *t, const char *arch, const char *mode)
{
    static const char *const extensions[] = {"", "-c"};
    char name[96];
    xs_target target;
    bool ok = true;
    for (size_t e = 0; e < 2; e++)
        for (size_t i = 0; ok && xs_table_kernel(t->table, i); i++) {
            snprintf(name, sizeof name, "%s%s/%s/%s", arch, extensions[e], xs_table_kernel(t->table, i),
                     mode);
            if (xs_target_parse(t->table, name, &target, NULL, 0) == XS_OK) ok = add_target(t, &target);
        }
    return ok && t->group_count > 0;
}

/* ---- words --------------------------------------------------------------------------------------- */

/* The lowest and the highest word of each pair of entries. */
typedef struct extremes {
    const xs_entry *a, *b; /* b NULL: every entry counts, else those pairs that are not alike */
    size_t columns;
    bool *there;
    uint32_t *low, *high;
} extremes;

static bool add_cube(void *arg, size_t a, size_t b, uint32_t mask, uint32_t value)
{
    extremes *x = arg;
    size_t i = a * x->columns + b;
    if (x->b && xs_decisions_alike(x->a[a].decision, x->b[b].decision)) return true;
    if (!x->there[i] || value < x->low[i]) x->low[i] = value;
    if (!x->there[i] || (value | ~mask) > x->high[i]) x->high[i] = value | ~mask;
    x->there[i] = true;
    return true;
}

static bool add_words(xs_telling *t, const extremes *x, size_t count)
{
    uint32_t *more = realloc(t->words, (t->word_count + 2 * count) * sizeof *more);
    if (!more) return false;
    t->words = more;
    for (size_t i = 0; i < count; i++) {
        if (!x->there[i]) continue;
        more[t->word_count++] = x->low[i];
        more[t->word_count++] = x->high[i];
    }
    return true;
}

static bool add_pair(xs_telling *t, const xs_decoder *a, const xs_decoder *b)
{
    size_t rows, columns = 1;
    extremes x = {.a = xs_decoder_entries(a, &rows)};
    if (b) x.b = xs_decoder_entries(b, &columns);
    x.columns = columns;
    x.there = calloc(rows * columns, sizeof *x.there);
    x.low = calloc(rows * columns, sizeof *x.low);
    x.high = calloc(rows * columns, sizeof *x.high);
    bool ok =
        x.there && x.low && x.high && xs_space_walk(a, b, add_cube, &x) && add_words(t, &x, rows * columns);
    free(x.there);
    free(x.low);
    free(x.high);
    return ok;
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void sort(xs_telling *t)
{
    size_t kept = 0;
    qsort(t->words, t->word_count, sizeof *t->words, by_value);
    for (size_t i = 0; i < t->word_count; i++)
        if (!kept || t->words[kept - 1] != t->words[i]) t->words[kept++] = t->words[i];
    t->word_count = kept;
}

bool xs_telling_open(const xs_table *table, const char *arch, const char *mode, xs_telling *out)
{
    *out = (xs_telling){.table = table};
    bool ok = add_all(out, arch, mode);
    for (size_t i = 0; ok && i < out->group_count; i++) {
        ok = add_pair(out, out->groups[i].decoder, NULL);
        for (size_t j = i + 1; ok && j < out->group_count; j++)
            ok = add_pair(out, out->groups[i].decoder, out->groups[j].decoder);
    }
    if (ok)
        sort(out);
    else
        xs_telling_close(out);
    return ok;
}

void xs_telling_close(xs_telling *t)
{
    for (size_t i = 0; i < t->group_count; i++) {
        xs_decoder_free(t->groups[i].decoder);
        free(t->groups[i].targets);
    }
    free(t->groups);
    free(t->words);
    *t = (xs_telling){0};
}
