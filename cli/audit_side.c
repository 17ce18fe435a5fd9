/* audit: the kernel side, as a target's table tells it. */
#include "audit.h"

static void fill(const view *v, size_t entry, uint32_t quirks, audit_treatment *out)
{
    size_t count;
    const xs_entry *e = &xs_decoder_entries(v->decoder, &count)[entry];
    *out = (audit_treatment){.cls = e->decision->cls,
                             .handler = e->decision->handler,
                             .error = e->decision->error,
                             .rule = e->rule->name,
                             .entry = entry,
                             .quirks = quirks};
}

static void treat(const void *self, uint32_t word, audit_treatment *out)
{
    const view *v = self;
    size_t count, entry = xs_lookup(v->decoder, word);
    xs_insn insn = {.word = word, .entry = &xs_decoder_entries(v->decoder, &count)[entry]};
    xs_rule_operands(v->table, insn.entry->rule, word, insn.op);
    fill(v, entry, xs_quirks(v->decoder, &insn), out);
}

typedef struct walking {
    const view *v;
    audit_cube_fn *fn;
    void *arg;
} walking;

static bool pass(void *arg, size_t kernel, size_t ideal, uint32_t quirks, uint32_t mask, uint32_t value)
{
    const walking *w = arg;
    audit_treatment t;
    fill(w->v, kernel, quirks, &t);
    return w->fn(w->arg, &t, ideal, mask, value);
}

static bool walk(const void *self, const xs_decoder *ideal, audit_cube_fn *fn, void *arg)
{
    const view *v = self;
    return xs_quirk_walk(v->decoder, ideal, pass, &(walking){v, fn, arg});
}

audit_side audit_side_of(const view *v)
{
    return (audit_side){v, treat, walk};
}
