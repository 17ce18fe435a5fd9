/* audit --file: which sites of a program are in a finding. */
#include <inttypes.h>

#include "audit.h"

typedef struct counting {
    audit *a;
    const code *code;
    audit_scope *scope;
} counting;

static json_object *describe(const counting *k, const site_ref *ref, const xs_site *site)
{
    const xs_range *range = &k->code->image->ranges[ref->range];
    const xs_function *f = ref->function == SIZE_MAX ? NULL : &k->code->image->functions[ref->function];
    uint64_t addr = range->addr + ref->offset;
    insn_text text;
    json_object *row = json_object_new_object();
    text_of(k->code->view, &site->insn, addr, &text);
    char label[256];
    if (f)
        snprintf(label, sizeof label, "%s+0x%" PRIx64, f->name, addr - f->addr);
    else
        snprintf(label, sizeof label, "%s", range->section);
    json_object_object_add(row, "site", json_bytes(label));
    json_object_object_add(row, "addr", json_hex(addr, 1));
    json_object_object_add(row, "section", json_bytes(range->section));
    json_object_object_add(row, "function", f ? json_name(f->name) : NULL);
    json_object_object_add(row, "offset", f ? json_hex(addr - f->addr, 1) : NULL);
    json_object_object_add(row, "word", json_hex(site->insn.word, site->insn.size * 2));
    json_object_object_add(row, "text", json_object_new_string(text.text));
    return row;
}

static void show(const counting *k, const site_ref *ref, const xs_site *site, uint64_t *count,
                 json_object *shown[SITES_SHOWN])
{
    if (*count < SITES_SHOWN) shown[*count] = describe(k, ref, site);
    ++*count;
}

/* The place of a site, not its word, has it refused: what its word would do does no harm. */
static bool refused_by_place(const xs_site *site)
{
    bool place = site->reason == XS_WHY_BOUNDARY || site->reason == XS_WHY_ALIGNMENT;
    return site->cls == XS_REJECT && (place || site->insn.entry->decision->cls != XS_REJECT);
}

/* The site was decided by the table; where the kernel answers otherwise, its class is the word's. */
static bool applies(const finding *f, const xs_site *site)
{
    if (f->kernel.own) return !refused_by_place(site);
    return f->handler ? site->cls == XS_SIMULATE : (site->hazards >> f->hazard & 1) != 0;
}

/* What may be wrong with the place; where the kernel answers otherwise than the table, by what it answers. */
static unsigned hazards_of(const counting *k, const xs_site *site)
{
    audit_treatment t;
    size_t count;
    const view *v = k->a->view;
    k->a->side.treat(k->a->side.self, site->insn.word, &t);
    if (!t.own || refused_by_place(site)) return site->hazards;
    if (t.cls == XS_REJECT) return 0;
    const xs_entry *right = &xs_decoder_entries(v->ideal, &count)[xs_lookup(v->ideal, site->insn.word)];
    unsigned by_word = xs_hazards(v->decoder, &site->insn, right);
    return (site->hazards & ~by_word) | (site->in_exclusive ? XS_HAZARD_LIVELOCK : 0u);
}

static void count_site(void *arg, const site_ref *ref, const xs_site *site)
{
    const counting *k = arg;
    size_t found[AUDIT_AT_ONCE], n = audit_of_word(k->a, site->insn.word, found);
    unsigned by_word = 0, hazards = hazards_of(k, site);
    bool hit = hazards != 0;
    for (size_t i = 0; i < n; i++) {
        finding *f = &k->a->findings[found[i]];
        if (!applies(f, site)) continue;
        show(k, ref, site, &f->sites, f->shown);
        by_word |= 1u << f->hazard;
        hit = true;
    }
    for (unsigned left = hazards & ~by_word; left; left &= left - 1) {
        audit_place *p = &k->a->places[__builtin_ctz(left)];
        show(k, ref, site, &p->sites, p->shown);
    }
    k->scope->sites++;
    k->scope->hits += hit;
}

void audit_sites(audit *a, const code *c, const options *o, audit_scope *scope)
{
    window w;
    counting k = {a, c, scope};
    if (!window_open(&w, c)) {
        a->failed = true;
        return;
    }
    for (size_t i = 0; i < sites_items(c, o); i++)
        sites_visit(c, o, i, &w, count_site, &k);
    window_close(&w);
}
