/* audit: the kernel side, as a kernel's own answers tell it: the nearest target's table, but for the words
 * that the kernel treats otherwise. */
#include "audit.h"

#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* Words that are treated in one way, which is not the table's. */
typedef struct way {
    xs_class cls;
    const char *handler;
    cube_list words;
    size_t end; /* behind the last of its cubes in the list of all */
} way;

struct audit_answers {
    audit_side table;
    const view *v;
    const run_list *runs;
    const char *function;
    way *ways;
    size_t count;
    cube_list all;
};

/* ---- collecting -------------------------------------------------------------------------------- */

static way *find_way(audit_answers *a, xs_class cls, const char *handler)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->ways[i].cls == cls && a->ways[i].handler == handler) return &a->ways[i];
    way *more = reallocarray(a->ways, a->count + 1, sizeof *more);
    if (!more) return NULL;
    a->ways = more;
    more[a->count] = (way){.cls = cls, .handler = handler};
    return &more[a->count++];
}

static bool collect(void *arg, const run *r, size_t entry, uint32_t first, uint32_t last, uint32_t step)
{
    (void)entry;
    audit_answers *a = arg;
    way *w = find_way(a, r->cls, a->runs->names[r->handler]);
    return w && cubes_add_words(&w->words, first, last, step);
}

/* One list to cut by; the ways keep where their part of it ends. */
static bool put_together(audit_answers *a)
{
    bool ok = true;
    for (size_t i = 0; i < a->count; i++) {
        way *w = &a->ways[i];
        cubes_join(&w->words);
        for (size_t k = 0; ok && k < w->words.count; k++)
            ok = cubes_add(&a->all, w->words.list[k]);
        cubes_close(&w->words);
        w->end = a->all.count;
    }
    return ok;
}

audit_answers *audit_answers_new(const view *v, const struct run_list *runs, bool halves,
                                 const char *function)
{
    audit_answers *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    *a = (audit_answers){.table = audit_side_of(v), .v = v, .runs = runs, .function = function};
    if (runs_beside(v, runs, halves, collect, a) && put_together(a)) return a;
    audit_answers_free(a);
    return NULL;
}

void audit_answers_free(audit_answers *a)
{
    for (size_t i = 0; a && i < a->count; i++)
        cubes_close(&a->ways[i].words);
    if (a) free(a->ways);
    if (a) cubes_close(&a->all);
    free(a);
}

uint64_t audit_answers_words(const audit_answers *a)
{
    uint64_t words = 0;
    for (size_t i = 0; i < a->all.count; i++)
        words += cube_words(a->all.list[i]);
    return words;
}

/* ---- the side ---------------------------------------------------------------------------------- */

/* What the table knows of the word's handler, its bugs and its errno, is not about this kernel. */
static audit_treatment own(const audit_answers *a, size_t place, size_t entry)
{
    const way *w = a->ways;
    while (place >= w->end)
        w++;
    return (audit_treatment){
        .cls = w->cls, .handler = w->handler, .error = "-", .rule = a->function, .entry = entry, .own = true};
}

static void treat(const void *self, uint32_t word, audit_treatment *out)
{
    const audit_answers *a = self;
    a->table.treat(a->table.self, word, out);
    for (size_t i = 0; i < a->all.count; i++)
        if (cube_holds(a->all.list[i], word)) {
            *out = own(a, i, out->entry);
            return;
        }
}

/* A cube of the table's walk. */
typedef struct walking {
    const audit_answers *a;
    const audit_treatment *table;
    size_t ideal;
    audit_cube_fn *fn;
    void *arg;
} walking;

static bool pass_piece(void *arg, cube piece, size_t in)
{
    const walking *w = arg;
    audit_treatment t = in == SIZE_MAX ? *w->table : own(w->a, in, w->table->entry);
    return w->fn(w->arg, &t, w->ideal, piece.mask, piece.value);
}

static bool cut(void *arg, const audit_treatment *kernel, size_t ideal, uint32_t mask, uint32_t value)
{
    walking w = *(const walking *)arg;
    w.table = kernel;
    w.ideal = ideal;
    return cubes_cut(&w.a->all, (cube){mask, value}, pass_piece, &w);
}

static bool walk(const void *self, const xs_decoder *ideal, audit_cube_fn *fn, void *arg)
{
    const audit_answers *a = self;
    return a->table.walk(a->table.self, ideal, cut, &(walking){.a = a, .fn = fn, .arg = arg});
}

audit_side audit_side_of_answers(const audit_answers *a)
{
    return (audit_side){a, treat, walk};
}
