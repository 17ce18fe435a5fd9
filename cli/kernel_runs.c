/* Runs of words: made, written, read again. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* Number of a name, of which there are a dozen; SIZE_MAX: no memory. */
static size_t name_number(run_list *runs, const char *name)
{
    for (size_t i = 0; i < runs->name_count; i++)
        if (strcmp(runs->names[i], name) == 0) return i;
    char **more = realloc(runs->names, (runs->name_count + 1) * sizeof *more), *copy = strdup(name);
    if (more) runs->names = more;
    if (!more || !copy) {
        free(copy);
        return SIZE_MAX;
    }
    more[runs->name_count] = copy;
    return runs->name_count++;
}

bool run_add(run_list *runs, uint32_t first, uint32_t last, xs_class cls, const char *handler)
{
    size_t number = name_number(runs, handler);
    run *before = runs->count ? &runs->list[runs->count - 1] : NULL;
    if (number == SIZE_MAX) return false;
    runs->words += (uint64_t)last - first + 1;
    if (before && before->cls == cls && before->handler == number && before->last + 1 == first) {
        before->last = last;
        return true;
    }
    if (runs->count == runs->room) {
        size_t room = runs->room ? runs->room * 2 : 1024;
        run *more = realloc(runs->list, room * sizeof *more);
        if (!more) return false;
        runs->list = more;
        runs->room = room;
    }
    runs->list[runs->count++] = (run){first, last, cls, (unsigned)number};
    return true;
}

bool run_collect(void *arg, uint32_t first, uint32_t last, const xs_kernel_verdict *v)
{
    const run_collector *c = arg;
    char name[128];
    return run_add(c->runs, first, last, v->cls, xs_kernel_handler_name(c->d, v->handler, name, sizeof name));
}

/* Of the same words and from the same kernel; addresses count from each list's first word. */
bool runs_equal(const run_list *a, const run_list *b)
{
    if (a->count != b->count || a->words != b->words) return false;
    for (size_t i = 0; i < a->count; i++) {
        const run *x = &a->list[i], *y = &b->list[i];
        if (x->first - a->list[0].first != y->first - b->list[0].first || x->cls != y->cls ||
            strcmp(a->names[x->handler], b->names[y->handler]) != 0)
            return false;
    }
    return true;
}

void runs_close(run_list *runs)
{
    for (size_t i = 0; i < runs->name_count; i++)
        free(runs->names[i]);
    free(runs->names);
    free(runs->list);
    *runs = (run_list){0};
}

void runs_print(FILE *f, const run_list *runs, int digits)
{
    for (size_t i = 0; i < runs->count; i++)
        fprintf(f, "%0*" PRIx32 " %0*" PRIx32 " %s %s\n", digits, runs->list[i].first, digits,
                runs->list[i].last, xs_class_name(runs->list[i].cls), runs->names[runs->list[i].handler]);
}

static bool read_class(const char *name, xs_class *cls)
{
    for (*cls = XS_REJECT; *cls < XS_TAIL; ++*cls)
        if (strcmp(xs_class_name(*cls), name) == 0) return true;
    return false;
}

bool runs_read(const char *path, uint32_t first, uint32_t last, run_list *runs)
{
    char cls_name[16], handler[128];
    uint32_t from, to;
    uint64_t next = first;
    xs_class cls;
    FILE *f = fopen(path, "r");
    bool ok = f != NULL;
    while (ok && next <= last &&
           fscanf(f, "%8" SCNx32 " %8" SCNx32 " %15s %127s", &from, &to, cls_name, handler) == 4) {
        ok = from == next && to >= from && to <= last && read_class(cls_name, &cls) &&
             run_add(runs, from, to, cls, handler);
        next = (uint64_t)to + 1;
    }
    if (f) fclose(f);
    return ok && next == (uint64_t)last + 1;
}
