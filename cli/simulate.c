/* simulate: carry out one instruction on a state from the command line; say what changed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "sim.h"

/* One run: what it begins with, and what came of it. */
typedef struct run {
    view v;
    sim_machine machine;
    xs_insn insn;
    sim_state before, after;
    sim_memory memory;
    uint32_t quirks;
    xs_sim_status status;
    xs_fault fault;
    char *copies[MAX_SETTINGS]; /* of settings: they are cut up, and memory's bytes live there */
} run;

/* ---- what is given --------------------------------------------------------------------------- */

static bool set_registers(run *r, char *list, sim_why *why)
{
    char *save = NULL;
    for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        char *equals = strchr(item, '=');
        if (!equals) return sim_refuse(why, "'%.40s' is not NAME=VALUE", item);
        *equals = '\0';
        if (!sim_state_set(&r->before, item, equals + 1, why)) return false;
    }
    return true;
}

static bool set_memory(run *r, char *text, sim_why *why)
{
    uint64_t addr;
    char *colon = strchr(text, ':');
    if (colon) *colon = '\0';
    if (!colon || !sim_number(text, &addr)) return sim_refuse(why, "'%.40s' is not ADDR:HEX", text);
    return sim_memory_add(&r->memory, addr, colon + 1, why);
}

static bool set_quirks(run *r, char *list, sim_why *why)
{
    char *save = NULL;
    for (char *item = strtok_r(list, ",", &save); item; item = strtok_r(NULL, ",", &save))
        if (!sim_quirk(&r->machine, &r->insn, item, &r->quirks, why)) return false;
    return true;
}

static bool apply(run *r, const char *name, char *value, sim_why *why)
{
    if (strcmp(name, "reg") == 0) return set_registers(r, value, why);
    if (strcmp(name, "mem") == 0) return set_memory(r, value, why);
    if (strcmp(name, "quirk") == 0) return set_quirks(r, value, why);
    return sim_state_set(&r->before, name, value, why);
}

static int apply_settings(run *r, const options *o)
{
    sim_why why;
    sim_state_init(&r->before, &r->machine);
    sim_memory_init(&r->memory, &r->machine);
    for (unsigned i = 0; i < o->setting_count; i++) {
        r->copies[i] = strdup(o->settings[i].value);
        if (!r->copies[i]) return complain(STATUS_INTERNAL, "out of memory");
        if (!apply(r, o->settings[i].name, r->copies[i], &why)) return complain(STATUS_USAGE, "%s", why.text);
    }
    return STATUS_OK;
}

/* ---- what is printed ------------------------------------------------------------------------- */

static void change(output *out, const char *what, const char *before, const char *after)
{
    if (out->format == FORMAT_TEXT) {
        text_line(out->f, what, "%s -> %s", before, after);
        return;
    }
    json_object *row = json_object_new_object();
    json_object_object_add(row, "what", json_object_new_string(what));
    json_object_object_add(row, "before", json_object_new_string(before));
    json_object_object_add(row, "after", json_object_new_string(after));
    output_row(out, "change", row);
}

static void change_number(output *out, const char *what, uint64_t before, uint64_t after)
{
    char a[24], b[24];
    if (before == after) return;
    snprintf(a, sizeof a, "0x%" PRIx64, before);
    snprintf(b, sizeof b, "0x%" PRIx64, after);
    change(out, what, a, b);
}

static void flag_letters(uint64_t nzcv, char text[5])
{
    for (unsigned i = 0; i < 4; i++)
        text[i] = (nzcv >> (31 - i) & 1 ? "NZCV" : "nzcv")[i];
    text[4] = '\0';
}

static void hex_bytes(const uint8_t *bytes, size_t size, char *text)
{
    for (size_t i = 0; i < size; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
}

static void print_registers(output *out, const run *r)
{
    for (size_t i = 0; i < sim_register_count(&r->machine); i++) {
        char name[8], before[5], after[5];
        uint64_t a = sim_register(&r->before, i), b = sim_register(&r->after, i);
        sim_register_name(&r->machine, i, name);
        if (out->format == FORMAT_TEXT && strcmp(name, "nzcv") == 0 && a != b) {
            flag_letters(a, before);
            flag_letters(b, after);
            change(out, name, before, after);
        } else {
            change_number(out, name, a, b);
        }
    }
}

static void print_changes(output *out, const run *r)
{
    static const column columns[] = {{"what", "WHAT", 9}, {"before", "BEFORE", 34}, {"after", "AFTER", 0}};
    out->untitled = out->format == FORMAT_TEXT;
    output_list(out, "changes", columns, sizeof columns / sizeof *columns);
    change_number(out, "pc", sim_pc(&r->before), sim_pc(&r->after));
    print_registers(out, r);
    change_number(out, "btype", sim_btype(&r->before), sim_btype(&r->after));
    change_number(out, "ss", sim_ss(&r->before), sim_ss(&r->after));
    for (size_t i = 0; i < r->memory.writes; i++) {
        const sim_write *w = &r->memory.write[i];
        char what[24], before[2 * SIM_ACCESS + 1], after[2 * SIM_ACCESS + 1];
        snprintf(what, sizeof what, "[0x%" PRIx64 "]", w->addr);
        hex_bytes(w->before, w->size, before);
        hex_bytes(w->after, w->size, after);
        change(out, what, before, after);
    }
    output_list_end(out);
}

static void print_head_text(FILE *f, const run *r, const insn_text *text)
{
    const xs_decision *d = r->insn.entry->decision;
    text_line(f, "word", "0x%0*" PRIx32 "  %s%s", r->insn.size * 2, r->insn.word, text->text,
              text->ours ? "  (from the table)" : "");
    text_line(f, "target", "%s", r->v.name);
    if (d->cls == XS_SIMULATE)
        text_line(f, "handler", "%s", d->handler);
    else
        text_line(f, "class", "%s, %s: no handler", xs_class_name(d->cls), xs_reason_name(d->reason));
    if (r->fault.size)
        text_line(f, "status", "%s at 0x%" PRIx64 ", %" PRIu32 " bytes", xs_sim_status_name(r->status),
                  r->fault.addr, r->fault.size);
    else if (r->status == XS_SIM_SP || r->status == XS_SIM_GCS || r->status == XS_SIM_BTI ||
             r->status == XS_SIM_PC)
        text_line(f, "status", "%s at 0x%" PRIx64, xs_sim_status_name(r->status), r->fault.addr);
    else
        text_line(f, "status", "%s", xs_sim_status_name(r->status));
}

static void print_head(output *out, const run *r, const insn_text *text)
{
    const xs_decision *d = r->insn.entry->decision;
    json_object *head = json_object_new_object();
    json_object_object_add(head, "word", json_hex(r->insn.word, r->insn.size * 2));
    json_object_object_add(head, "text", json_object_new_string(text->text));
    json_object_object_add(head, "target", json_object_new_string(r->v.name));
    json_object_object_add(head, "class", json_object_new_string(xs_class_name(d->cls)));
    json_object_object_add(head, "handler", d->cls == XS_SIMULATE ? json_name(d->handler) : NULL);
    json_object_object_add(head, "status", json_object_new_string(xs_sim_status_name(r->status)));
    json_object *fault = NULL;
    if (r->status != XS_SIM_OK && (r->fault.size || r->fault.addr)) {
        fault = json_object_new_object();
        json_object_object_add(fault, "addr", json_hex(r->fault.addr, 1));
        json_object_object_add(fault, "size", json_object_new_int64(r->fault.size));
    }
    json_object_object_add(head, "fault", fault);
    output_value(out, "result", "result", head);
}

static int print_run(output *out, run *r)
{
    insn_text text;
    text_of(&r->v, &r->insn, sim_pc(&r->before), &text);
    output_begin(out);
    if (out->format == FORMAT_TEXT)
        print_head_text(out->f, r, &text);
    else
        print_head(out, r, &text);
    print_changes(out, r);
    output_end(out);
    return output_close(out, STATUS_OK);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int read_word(const options *o, uint32_t *word)
{
    if (o->count != 1) return complain(STATUS_USAGE, "simulate HEX, or simulate --batch");
    const char *text = o->args[0], *digits = text[0] == '0' && (text[1] | 32) == 'x' ? text + 2 : text;
    size_t len = strlen(digits);
    *word = (uint32_t)strtoul(digits, NULL, 16);
    bool hex = len > 0 && len <= 8 && strspn(digits, "0123456789abcdefABCDEF") == len;
    return hex ? STATUS_OK
               : complain(STATUS_USAGE, "'%.40s' is not a word of up to 8 hexadecimal digits", text);
}

static void carry_out(run *r)
{
    xs_prepared site;
    xs_bus bus = sim_memory_bus(&r->memory);
    xs_site_prepare(r->machine.simulator, &r->insn, &site);
    r->after = r->before;
    r->status = xs_simulate(&site, &r->after.cpu, &bus, r->quirks, &r->fault);
}

static int simulate_word(run *r, const options *o, uint32_t word)
{
    sim_why why;
    output out;
    int status = view_open(&r->v, o, NULL, NULL, NULL);
    if (status != STATUS_OK) return status;
    if (!sim_machine_open(&r->machine, r->v.decoder, &why))
        return complain(STATUS_INPUT, "%s: %s", r->v.name, why.text);
    r->insn = sim_decode(&r->machine, word);
    if (r->insn.size == 2 && word > UINT16_MAX)
        return complain(STATUS_USAGE,
                        "0x%08" PRIx32 ": its low half, 0x%04" PRIx32 ", is a whole instruction", word,
                        r->insn.word);
    status = apply_settings(r, o);
    if (status != STATUS_OK) return status;
    if (!output_open(&out, o)) return STATUS_INPUT;
    carry_out(r);
    return print_run(&out, r);
}

int command_simulate(const options *o)
{
    uint32_t word = 0;
    if (o->batch) return simulate_batch(o);
    int status = read_word(o, &word);
    run *r = status == STATUS_OK ? calloc(1, sizeof *r) : NULL;
    if (!r) return status == STATUS_OK ? complain(STATUS_INTERNAL, "out of memory") : status;
    status = simulate_word(r, o, word);
    for (unsigned i = 0; i < o->setting_count; i++)
        free(r->copies[i]);
    sim_machine_close(&r->machine);
    view_close(&r->v);
    free(r);
    return status;
}
