/* A site as a row. */
#include "cli.h"

static void add(json_object *row, const char *key, json_object *value)
{
    json_object_object_add(row, key, value);
}

static void add_place(json_object *row, const site_place *p)
{
    if (p->kind) add(row, "kind", json_object_new_string(p->kind));
    if (p->file) add(row, "file", json_bytes(p->file));
    if (p->section) add(row, "section", json_bytes(p->section));
    if (p->file) {
        add(row, "function", json_name(p->function));
        add(row, "offset", p->function ? json_hex(p->function_offset, 1) : NULL);
    }
    add(row, "addr", json_hex(p->addr, 1));
    if (p->file) add(row, "file_offset", p->file_offset == UINT64_MAX ? NULL : json_hex(p->file_offset, 1));
}

/* Names of the bugs that the kernel in view has on this word. */
static json_object *json_quirks(const view *v, const xs_insn *insn)
{
    size_t count;
    const xs_quirk *quirks = xs_table_quirks(v->table, &count);
    json_object *list = json_object_new_array();
    for (uint32_t bits = xs_quirks(v->decoder, insn); bits; bits &= bits - 1)
        json_object_array_add(list, json_object_new_string(quirks[__builtin_ctz(bits)].name));
    return list;
}

json_object *site_json(const view *v, const xs_site *site, const site_place *place)
{
    json_object *row = json_object_new_object();
    insn_text text;
    text_of(v, &site->insn, place->addr, &text);
    add_place(row, place);
    add(row, "word", json_hex(site->insn.word, site->insn.size * 2));
    add(row, "size", json_object_new_int(site->insn.size));
    add(row, "class", json_object_new_string(xs_class_name(site->cls)));
    add(row, "rule", json_object_new_string(site->insn.entry->rule->name));
    add(row, "reason", json_object_new_string(xs_reason_name(site->reason)));
    add(row, "handler", site->cls == XS_SIMULATE ? json_name(site->insn.entry->decision->handler) : NULL);
    add(row, "errno", json_name(site->error));
    add(row, "hazards", json_hazards(site->hazards));
    add(row, "quirks", json_quirks(v, &site->insn));
    add(row, "text", json_object_new_string(text.text));
    add(row, "text_source", json_object_new_string(text.ours ? "table" : "capstone"));
    return row;
}

unsigned site_found(const options *o, const xs_site *site)
{
    bool found = ((o->fail_on & FAIL_REJECT) && site->cls == XS_REJECT) ||
                 ((o->fail_on & FAIL_SLOT) && site->cls == XS_SLOT) ||
                 ((o->fail_on & FAIL_HAZARD) && site->hazards);
    return found ? STATUS_FOUND : STATUS_OK;
}
