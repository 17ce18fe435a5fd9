/* audit: which kernels have a finding. */
#include <string.h>

#include "audit.h"

/* Does this kernel have the finding's fault on the word? */
static bool has_it(const audit *a, const finding *f, const xs_decoder *kernel, uint32_t word)
{
    size_t count;
    const xs_entry *right = &xs_decoder_entries(a->view->ideal, &count)[f->ideal];
    xs_insn insn = {.word = word, .entry = &xs_decoder_entries(kernel, &count)[xs_lookup(kernel, word)]};
    const xs_decision *d = insn.entry->decision;
    if (f->handler) return d->cls == XS_SIMULATE && strcmp(d->handler, f->kernel.handler) == 0;
    if (f->quirk < 0) return xs_class_hazards(d->cls, right->decision) >> f->hazard & 1;
    xs_rule_operands(a->view->table, insn.entry->rule, word, insn.op);
    return xs_quirks(kernel, &insn) >> f->quirk & 1;
}

/* On the lowest and the highest word of every cube. */
static bool has_all(const audit *a, const finding *f, const xs_decoder *kernel)
{
    for (size_t i = 0; i < f->cubes.count; i++)
        if (!has_it(a, f, kernel, f->cubes.list[i].value) ||
            !has_it(a, f, kernel, f->cubes.list[i].value | ~f->cubes.list[i].mask))
            return false;
    return true;
}

/* "4.10..6.12, 6.12.y": releases that follow each other are one item. */
typedef struct ranges {
    size_t first, last; /* of the open one; last before first: none is open */
    bool open;
} ranges;

static void close_range(const audit *a, finding *f, ranges *r)
{
    size_t at = strlen(f->kernels);
    if (!r->open) return;
    const char *first = xs_table_kernel(a->view->table, r->first),
               *last = xs_table_kernel(a->view->table, r->last);
    snprintf(f->kernels + at, sizeof f->kernels - at, "%s%s%s%s", at ? ", " : "", first,
             r->first == r->last ? "" : "..", r->first == r->last ? "" : last);
    r->open = false;
}

static void note(const audit *a, finding *f, ranges *r, size_t kernel, bool has)
{
    bool release = xs_table_kernel_kind(a->view->table, kernel) == XS_KERNEL_RELEASE;
    if (!has || !release) close_range(a, f, r);
    if (!has) return;
    if (!r->open) r->first = kernel;
    r->last = kernel;
    r->open = true;
}

/* Named targets are somebody's proposal: only the one that is audited counts. */
static bool counts(const audit *a, size_t kernel)
{
    return xs_table_kernel_kind(a->view->table, kernel) != XS_KERNEL_NAMED ||
           kernel == a->view->target.kernel;
}

void audit_kernels(audit *a)
{
    ranges open[a->count + 1];
    memset(open, 0, sizeof open);
    for (size_t k = 0; xs_table_kernel(a->view->table, k); k++) {
        xs_target t = a->view->target;
        xs_decoder *d;
        t.kernel = (uint8_t)k;
        if (!counts(a, k) || xs_decoder_new(a->view->table, &t, &d) != XS_OK) continue;
        for (size_t i = 0; i < a->count; i++)
            note(a, &a->findings[i], &open[i], k, has_all(a, &a->findings[i], d));
        xs_decoder_free(d);
    }
    for (size_t i = 0; i < a->count; i++)
        close_range(a, &a->findings[i], &open[i]);
}
