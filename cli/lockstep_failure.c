/* lockstep: a failure, complete: states, what differs, and the command that does it again. */
#include <inttypes.h>
#include <string.h>

#include "campaign.h"

/* Registers that are not zero, or (from given) not as in from. */
static json_object *state_json(const xs_oracle_arch *a, const xs_any_cpu *cpu, const xs_any_cpu *from)
{
    json_object *regs = json_object_new_object();
    for (unsigned i = 0; i < a->count; i++) {
        uint64_t value = xs_reg_get(a, cpu, i), old = from ? xs_reg_get(a, from, i) : 0;
        if (value != old || (!from && i == a->pc))
            json_object_object_add(regs, a->regs[i].name, json_hex(xs_address(a, value), 1));
    }
    return regs;
}

static void hex_bytes(const uint8_t *bytes, size_t count, char *out)
{
    for (size_t i = 0; i < count; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static json_object *memory_json(const xs_check *k)
{
    json_object *list = json_object_new_array();
    for (unsigned i = 0; i < k->touch_count; i++) {
        json_object *m = json_object_new_object();
        char hex[40] = "";
        uint32_t size = k->touched[i].size < 16 ? k->touched[i].size : 16;
        hex_bytes(k->touched[i].before, size, hex);
        json_object_object_add(m, "addr", json_hex(k->touched[i].addr, 1));
        json_add_text(m, "bytes", hex);
        json_object_array_add(list, m);
    }
    return list;
}

/* The command that does it again. Zero registers are left out, and memory that is all zero. */
static void replay_text(const part *pt, const char *target, uint32_t word, unsigned width, json_object *start,
                        json_object *memory, char *buf, size_t size)
{
    const char *table = pt->p->o->table, *divergences = pt->p->divergences;
    int at = snprintf(buf, size, "xolsim lockstep%s%s%s%s%s --target %s --word 0x%0*" PRIx32,
                      pt->p->slots ? " --slots" : "", table ? " --table " : "", table ? table : "",
                      divergences ? " --divergences " : "", divergences ? divergences : "", target,
                      (int)width / 4, word);
    json_object_object_foreach(start, name, value)
    {
        bool own = strcmp(name, "pc") == 0 || strcmp(name, "sp") == 0 || strcmp(name, "nzcv") == 0;
        if (at < (int)size)
            at += snprintf(buf + at, size - (size_t)at, own ? " --%s %s" : " --reg %s=%s", name,
                           json_object_get_string(value));
    }
    for (size_t i = 0; memory && i < json_object_array_length(memory); i++) {
        json_object *m = json_object_array_get_idx(memory, i);
        if (strspn(json_text(m, "bytes"), "0") == strlen(json_text(m, "bytes"))) continue;
        if (at < (int)size)
            at += snprintf(buf + at, size - (size_t)at, " --mem %s:%s", json_text(m, "addr"),
                           json_text(m, "bytes"));
    }
}

/* What the table says is wrong with it. */
static unsigned hazards_of(const part *pt, const xs_insn *insn)
{
    size_t count;
    const xs_decoder *ideal = pt->view.ideal;
    return xs_hazards(pt->cases.list[0].decoder, insn,
                      ideal ? &xs_decoder_entries(ideal, &count)[xs_lookup(ideal, insn->word)] : NULL);
}

static json_object *failure_begin(const part *pt, const xs_case *c, uint32_t word, uint64_t at,
                                  json_object *start, json_object *memory)
{
    json_object *f = json_object_new_object();
    char replay[4096];
    insn_text text;
    xs_insn insn = {.word = word, .size = (uint8_t)(c->e->rule->width / 8), .entry = c->e};
    xs_rule_operands(pt->cases.table, c->e->rule, word, insn.op);
    text_of(&pt->view, &insn, at, &text);
    json_add_text(f, "arch", pt->cases.arch->name);
    json_add_text(f, "rule", c->e->rule->name);
    json_add_text(f, "told", telling_rule(&pt->view, &insn)->name);
    json_object_object_add(f, "hazards", json_hazards(hazards_of(pt, &insn)));
    json_add_text(f, "target", c->target);
    json_object_object_add(f, "seed", json_hex(pt->p->seed, 1));
    json_object_object_add(f, "word", json_hex(word, c->e->rule->width / 4));
    json_add_text(f, "text", text.text);
    replay_text(pt, c->target, word, c->e->rule->width, start, memory, replay, sizeof replay);
    json_object_object_add(f, "start", start);
    json_object_object_add(f, "memory", memory);
    json_add_text(f, "replay", replay);
    return f;
}

/* What Unicorn ran in place of a word that it does not know. */
static void add_ran(json_object *f, const xs_case *c, uint32_t word, uint32_t ran)
{
    if (ran != word) json_object_object_add(f, "ran", json_hex(ran, c->e->rule->width / 4));
}

static json_object *end_json(const xs_oracle_arch *a, const char *status, bool faulted, uint64_t addr,
                             const xs_any_cpu *cpu, const xs_any_cpu *start)
{
    json_object *end = json_object_new_object();
    json_add_text(end, "status", status);
    if (faulted) json_object_object_add(end, "fault", json_hex(addr, 1));
    json_object_object_add(end, "changed", state_json(a, cpu, start));
    return end;
}

static void add_differs(json_object *f, const xs_oracle_arch *a, unsigned fields, uint64_t registers)
{
    json_object *list = json_object_new_array();
    for (int i = 0; i < XS_FIELDS; i++)
        if (fields >> i & 1 && i != XS_FIELD_REGISTER)
            json_object_array_add(list, json_object_new_string(xs_field_name((xs_field)i)));
    for (unsigned i = 0; i < a->count; i++)
        if (registers >> i & 1 && i != a->pc)
            json_object_array_add(list, json_object_new_string(a->regs[i].name));
    if (registers & XS_REST) json_object_array_add(list, json_object_new_string(a->rest));
    json_object_object_add(f, "differs", list);
}

json_object *failure_json(const part *pt, const xs_case *c, const xs_check *k)
{
    const xs_oracle_arch *a = pt->cases.arch;
    json_object *f = failure_begin(pt, c, k->word, k->at, state_json(a, &k->start, NULL), memory_json(k));
    add_ran(f, c, k->word, k->ran);
    add_differs(f, a, k->differs, k->differs >> XS_FIELD_REGISTER & 1 ? k->registers : 0);
    bool faulted = k->status == XS_SIM_LOAD_FAULT || k->status == XS_SIM_STORE_FAULT,
         theirs = k->end == XS_END_LOAD_FAULT || k->end == XS_END_STORE_FAULT;
    json_object_object_add(
        f, "ours", end_json(a, xs_sim_status_name(k->status), faulted, k->fault.addr, &k->ours, &k->start));
    json_object_object_add(f, "theirs",
                           end_json(a, xs_end_name(k->end), theirs, k->their_fault, &k->theirs, &k->start));
    if (k->differs >> XS_FIELD_MEMORY & 1) {
        char text[64];
        snprintf(text, sizeof text, "0x%" PRIx64 ": 0x%02x, 0x%02x", k->memory_at, k->memory_ours,
                 k->memory_theirs);
        json_add_text(f, "first_byte", text);
    }
    return f;
}

json_object *slot_failure_json(const part *pt, const xs_case *c, const xs_slot_check *k)
{
    const xs_oracle_arch *a = pt->cases.arch;
    json_object *f = failure_begin(pt, c, k->word, k->at, state_json(a, &k->start, NULL), NULL);
    add_ran(f, c, k->word, k->ran);
    xs_any_cpu away = k->start;
    unsigned fields = (unsigned)k->end << XS_FIELD_END | (unsigned)k->fault << XS_FIELD_FAULT |
                      (unsigned)k->pc << XS_FIELD_PC | (unsigned)k->memory << XS_FIELD_MEMORY;
    add_differs(f, a, fields, k->registers);
    if (k->more)
        json_object_array_add(json_object_object_get(f, "differs"),
                              json_object_new_string("vector registers"));
    xs_reg_set(a, &away, a->pc, k->slot);
    json_object_object_add(
        f, "home",
        end_json(a, xs_end_name(k->home.end), k->home.fault != 0, k->home.fault, &k->home.cpu, &k->start));
    json_object_object_add(
        f, "slot",
        end_json(a, xs_end_name(k->away.end), k->away.fault != 0, k->away.fault, &k->away.cpu, &away));
    return f;
}

/* ---- for people --------------------------------------------------------------------------------------- */

static void print_regs(FILE *f, const char *title, json_object *regs, json_object *differs)
{
    fprintf(f, "  %-7s", title);
    json_object_object_foreach(regs, name, value)
    {
        bool marked = false;
        for (size_t i = 0; differs && i < json_object_array_length(differs); i++)
            marked |= strcmp(json_object_get_string(json_object_array_get_idx(differs, i)), name) == 0;
        fprintf(f, " %s%s=%s%s", marked ? ">" : "", name, json_object_get_string(value), marked ? "<" : "");
    }
    fputc('\n', f);
}

static void print_end(FILE *f, const char *title, json_object *end, json_object *differs)
{
    char head[96];
    if (!end) return;
    snprintf(head, sizeof head, "%-7s %s%s%s,", title, json_text(end, "status"),
             json_object_object_get(end, "fault") ? " at " : "",
             json_object_object_get(end, "fault") ? json_text(end, "fault") : "");
    print_regs(f, head, json_object_object_get(end, "changed"), differs);
}

void failure_print(FILE *f, json_object *k)
{
    json_object *differs = json_object_object_get(k, "differs"),
                *memory = json_object_object_get(k, "memory");
    json_object *hazards = json_object_object_get(k, "hazards");
    fprintf(f, "%s  %s  %s (%s, seed %s)", json_text(k, "word"), json_text(k, "text"), json_text(k, "told"),
            json_text(k, "target"), json_text(k, "seed"));
    for (size_t i = 0; i < json_object_array_length(hazards); i++)
        fprintf(f, "%s%s", i ? "," : ", hazard ",
                json_object_get_string(json_object_array_get_idx(hazards, i)));
    fputc('\n', f);
    if (json_object_object_get(k, "ran"))
        fprintf(f, "  ran     %s, which does the same and which Unicorn knows\n", json_text(k, "ran"));
    fputs("  differs", f);
    for (size_t i = 0; i < json_object_array_length(differs); i++)
        fprintf(f, "%s %s", i ? "," : "", json_object_get_string(json_object_array_get_idx(differs, i)));
    fputs(json_object_array_length(differs) ? "\n" : " in nothing\n", f);
    print_regs(f, "start", json_object_object_get(k, "start"), NULL);
    for (size_t i = 0; memory && i < json_object_array_length(memory); i++) {
        json_object *m = json_object_array_get_idx(memory, i);
        fprintf(f, "  memory  %s: %s\n", json_text(m, "addr"), json_text(m, "bytes"));
    }
    print_end(f, "ours", json_object_object_get(k, "ours"), differs);
    print_end(f, "theirs", json_object_object_get(k, "theirs"), differs);
    print_end(f, "home", json_object_object_get(k, "home"), differs);
    print_end(f, "slot", json_object_object_get(k, "slot"), differs);
    if (json_object_object_get(k, "first_byte"))
        fprintf(f, "  memory  %s (ours, theirs)\n", json_text(k, "first_byte"));
    fprintf(f, "  again   %s\n", json_text(k, "replay"));
}
