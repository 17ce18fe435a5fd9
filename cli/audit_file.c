/* audit --file: which sites of a program are in a finding. */
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
    json_object_object_add(row, "addr", json_hex(addr, 1));
    json_object_object_add(row, "section", json_bytes(range->section));
    json_object_object_add(row, "function", f ? json_name(f->name) : NULL);
    json_object_object_add(row, "offset", f ? json_hex(addr - f->addr, 1) : NULL);
    json_object_object_add(row, "word", json_hex(site->insn.word, site->insn.size * 2));
    json_object_object_add(row, "text", json_object_new_string(text.text));
    return row;
}

static void count_site(void *arg, const site_ref *ref, const xs_site *site)
{
    const counting *k = arg;
    size_t found[AUDIT_AT_ONCE], n = audit_of_word(k->a, site->insn.word, found);
    k->scope->sites++;
    k->scope->hits += n > 0;
    for (size_t i = 0; i < n; i++) {
        finding *f = &k->a->findings[found[i]];
        if (f->sites < SITES_SHOWN) f->shown[f->sites] = describe(k, ref, site);
        f->sites++;
    }
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
