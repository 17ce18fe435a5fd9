/* Which rules there are to check, over all targets of an architecture. */
#include "lockstep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two targets treat a rule alike when it is the same line with the same class and handler. */
static bool is_known(const xs_cases *cases, const xs_entry *e)
{
    for (size_t i = 0; i < cases->count; i++) {
        const xs_entry *k = cases->list[i].e;
        if (k->rule == e->rule && k->decision->cls == e->decision->cls &&
            strcmp(k->decision->handler, e->decision->handler) == 0)
            return true;
    }
    return false;
}

static bool is_wanted(const xs_cases_wanted *w, const xs_entry *e)
{
    return (w->any || e->decision->cls == w->cls) && (!w->rule || strcmp(w->rule, e->rule->name) == 0);
}

bool xs_case_has(const xs_case *c, uint32_t word)
{
    return xs_lookup(c->decoder, word) == c->entry && (!c->about || c->about(c->about_arg, word));
}

static bool add_case(xs_cases *cases, const xs_decoder *d, const xs_simulator *s, size_t entry,
                     const char *target)
{
    size_t count;
    xs_case *list = realloc(cases->list, (cases->count + 1) * sizeof *list);
    if (!list) return false;
    cases->list = list;
    xs_case *c = &list[cases->count++];
    *c = (xs_case){.decoder = d, .simulator = s, .entry = entry};
    c->e = &xs_decoder_entries(d, &count)[entry];
    snprintf(c->target, sizeof c->target, "%s", target);
    return true;
}

/* Keep a decoder and its simulator until the end. */
static bool keep(xs_cases *cases, xs_decoder *d, xs_simulator *s)
{
    size_t n = cases->decoder_count + 1;
    xs_decoder **decoders = realloc(cases->decoders, n * sizeof *decoders);
    if (decoders) cases->decoders = decoders;
    xs_simulator **simulators = realloc(cases->simulators, n * sizeof *simulators);
    if (simulators) cases->simulators = simulators;
    if (!decoders || !simulators) return false;
    decoders[cases->decoder_count] = d;
    simulators[cases->decoder_count++] = s;
    return true;
}

static bool add_target(xs_cases *cases, const xs_target *target, const xs_cases_wanted *w, char *why,
                       size_t size)
{
    char name[96];
    size_t count, before = cases->count;
    xs_decoder *d;
    xs_simulator *s = NULL;
    xs_target_format(cases->table, target, name, sizeof name);
    xs_status status = xs_decoder_new(cases->table, target, &d);
    if (status == XS_OK && w->cls == XS_SIMULATE)
        status = xs_simulator_new(d, w->sim ? w->sim : cases->arch->sim, &s, why, size);
    else if (status != XS_OK)
        snprintf(why, size, "%s: %s", name, xs_status_text(status));
    bool ok = status == XS_OK;
    const xs_entry *entries = ok ? xs_decoder_entries(d, &count) : NULL;
    for (size_t i = 0; ok && i < count; i++)
        if (is_wanted(w, &entries[i]) && !is_known(cases, &entries[i])) ok = add_case(cases, d, s, i, name);
    if (ok && cases->count > before && keep(cases, d, s)) return true;
    cases->count = before;
    xs_simulator_free(s);
    xs_decoder_free(d);
    return ok;
}

/* Every kernel in every mode it has; the newest come first, so that they lend their name. */
static bool add_all(xs_cases *cases, const char *arch, const xs_cases_wanted *w, char *why, size_t size)
{
    size_t kernels = 0;
    while (xs_table_kernel(cases->table, kernels))
        kernels++;
    for (size_t k = kernels; k-- > 0;)
        for (size_t m = 0; xs_table_mode(cases->table, m); m++) {
            char name[96], unused[256];
            xs_target target;
            snprintf(name, sizeof name, "%s/%s/%s", arch, xs_table_kernel(cases->table, k),
                     xs_table_mode(cases->table, m));
            if (xs_target_parse(cases->table, name, &target, unused, sizeof unused) != XS_OK) continue;
            if (!add_target(cases, &target, w, why, size)) return false;
        }
    return true;
}

static bool add_one(xs_cases *cases, const char *name, const xs_cases_wanted *w, char *why, size_t size)
{
    xs_target target;
    return xs_target_parse(cases->table, name, &target, why, size) == XS_OK &&
           add_target(cases, &target, w, why, size);
}

bool xs_cases_open(const xs_table *table, const xs_cases_wanted *w, xs_cases *out, char *why, size_t size)
{
    char arch[32];
    const char *from = w->target ? w->target : w->arch;
    *out = (xs_cases){.table = table};
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(from, "+-/"), from);
    snprintf(why, size, "out of memory");
    out->arch = xs_oracle_arch_find(arch);
    if (!out->arch) snprintf(why, size, "the oracle does not know '%s'", arch);
    bool ok =
        out->arch && (w->target ? add_one(out, w->target, w, why, size) : add_all(out, arch, w, why, size));
    if (ok && out->count == 0) {
        snprintf(why, size, "no %s rule%s%s in %s", xs_class_name(w->cls), w->rule ? " " : "",
                 w->rule ? w->rule : "", from);
        ok = false;
    }
    if (!ok) xs_cases_close(out);
    return ok;
}

void xs_cases_close(xs_cases *cases)
{
    for (size_t i = 0; i < cases->decoder_count; i++) {
        xs_simulator_free(cases->simulators[i]);
        xs_decoder_free(cases->decoders[i]);
    }
    free(cases->decoders);
    free(cases->simulators);
    free(cases->list);
    *cases = (xs_cases){0};
}
