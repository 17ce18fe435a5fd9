/* lockstep: what was found, as JSON or for people. */
#include <inttypes.h>
#include <string.h>

#include "campaign.h"

static void add_text(json_object *to, const char *key, const char *text)
{
    json_object_object_add(to, key, text ? json_object_new_string(text) : NULL);
}

static void add_number(json_object *to, const char *key, uint64_t value)
{
    json_object_object_add(to, key, json_object_new_int64((int64_t)value));
}

static uint64_t number_in(json_object *from, const char *key)
{
    return (uint64_t)json_object_get_int64(json_object_object_get(from, key));
}

static const char *text_in(json_object *from, const char *key)
{
    json_object *v = json_object_object_get(from, key);
    return v ? json_object_get_string(v) : "-";
}

json_object *report_new(const plan *p)
{
    json_object *r = json_object_new_object(), *shard = json_object_new_object();
    add_text(r, "version", XOLSIM_VERSION);
    json_object_object_add(r, "seed", json_hex(p->seed, 1));
    add_text(r, "class", p->slots ? "slot" : "simulate");
    add_text(r, "target", p->o->target ? p->o->target : p->o->arch);
    add_text(r, "rule", p->rule);
    add_text(r, "file", p->file);
    add_number(r, "count", p->count);
    add_number(r, "time", p->seconds);
    add_number(r, "states", p->states);
    add_number(shard, "index", p->shard);
    add_number(shard, "of", p->shards);
    json_object_object_add(r, "shard", shard);
    json_object_object_add(r, "interrupted", json_object_new_boolean(0));
    json_object_object_add(r, "summary", json_object_new_array());
    json_object_object_add(r, "rules", json_object_new_array());
    json_object_object_add(r, "divergences", json_object_new_array());
    json_object_object_add(r, "failures", json_object_new_array());
    return r;
}

/* ---- rules, divergences ---------------------------------------------------------------------------- */

static json_object *rule_json(const part *pt, const xs_case *c, const tally *t)
{
    json_object *row = json_object_new_object();
    const xs_counts *n = &t->counts;
    const xs_slot_counts *s = &t->slot;
    bool slots = pt->p->slots;
    add_text(row, "arch", pt->cases.arch->name);
    add_text(row, "rule", c->e->rule->name);
    add_text(row, "handler", slots ? "-" : c->e->decision->handler);
    add_text(row, "target", c->target);
    add_number(row, "words", slots ? s->words : n->words);
    add_number(row, "checks", slots ? s->checks : n->checks);
    add_number(row, "faults", slots ? s->faults : n->faults);
    add_number(row, "unsupported", slots ? s->unsupported : n->unsupported);
    add_number(row, "unstable", s->unstable);
    add_number(row, "diverged", n->diverged);
    add_number(row, "differences", slots ? s->differences : n->differences);
    add_number(row, "ungenerated", slots ? s->ungenerated : n->ungenerated);
    return row;
}

static json_object *divergence_json(const part *pt, const xs_divergence *d)
{
    json_object *row = json_object_new_object();
    char word[16];
    snprintf(word, sizeof word, "0x%08" PRIx32, d->word);
    add_text(row, "arch", pt->cases.arch->name);
    add_number(row, "line", d->line);
    add_text(row, "about", *d->rule ? d->rule : word);
    add_text(row, "field", xs_field_name(d->field));
    add_text(row, "ours", d->ours);
    add_text(row, "theirs", d->theirs);
    add_number(row, "tested", d->tested);
    add_number(row, "used", d->used);
    add_text(row, "reason", d->reason);
    return row;
}

/* ---- a failure -------------------------------------------------------------------------------------- */

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
        add_text(m, "bytes", hex);
        json_object_array_add(list, m);
    }
    return list;
}

/* The command that does it again. Zero registers are left out, and memory that is all zero. */
static void replay_text(const part *pt, const char *target, uint32_t word, unsigned width,
                        json_object *start, json_object *memory, char *buf, size_t size)
{
    int at = snprintf(buf, size, "xolsim lockstep%s --target %s --word 0x%0*" PRIx32, pt->p->slots ? " --slots" : "",
                      target, (int)width / 4, word);
    json_object_object_foreach(start, name, value)
    {
        bool own = strcmp(name, "pc") == 0 || strcmp(name, "sp") == 0 || strcmp(name, "nzcv") == 0;
        if (at < (int)size)
            at += snprintf(buf + at, size - (size_t)at, own ? " --%s %s" : " --reg %s=%s", name,
                           json_object_get_string(value));
    }
    for (size_t i = 0; memory && i < json_object_array_length(memory); i++) {
        json_object *m = json_object_array_get_idx(memory, i);
        if (strspn(text_in(m, "bytes"), "0") == strlen(text_in(m, "bytes"))) continue;
        if (at < (int)size)
            at += snprintf(buf + at, size - (size_t)at, " --mem %s:%s", text_in(m, "addr"), text_in(m, "bytes"));
    }
}

/* What the table says is wrong with it. */
static unsigned hazards_of(const part *pt, const xs_insn *insn)
{
    size_t count;
    const xs_decoder *ideal = pt->view.ideal;
    return xs_hazards(insn, ideal ? &xs_decoder_entries(ideal, &count)[xs_lookup(ideal, insn->word)] : NULL);
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
    add_text(f, "arch", pt->cases.arch->name);
    add_text(f, "rule", c->e->rule->name);
    add_text(f, "told", telling_rule(&pt->view, &insn)->name);
    json_object_object_add(f, "hazards", json_hazards(hazards_of(pt, &insn)));
    add_text(f, "target", c->target);
    json_object_object_add(f, "seed", json_hex(pt->p->seed, 1));
    json_object_object_add(f, "word", json_hex(word, c->e->rule->width / 4));
    add_text(f, "text", text.text);
    replay_text(pt, c->target, word, c->e->rule->width, start, memory, replay, sizeof replay);
    json_object_object_add(f, "start", start);
    json_object_object_add(f, "memory", memory);
    add_text(f, "replay", replay);
    return f;
}

static json_object *end_json(const xs_oracle_arch *a, const char *status, bool faulted, uint64_t addr,
                             const xs_any_cpu *cpu, const xs_any_cpu *start)
{
    json_object *end = json_object_new_object();
    add_text(end, "status", status);
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
    json_object_object_add(f, "differs", list);
}

json_object *failure_json(const part *pt, const xs_case *c, const xs_check *k)
{
    const xs_oracle_arch *a = pt->cases.arch;
    json_object *f = failure_begin(pt, c, k->word, k->at, state_json(a, &k->start, NULL), memory_json(k));
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
        add_text(f, "first_byte", text);
    }
    return f;
}

json_object *slot_failure_json(const part *pt, const xs_case *c, const xs_slot_check *k)
{
    const xs_oracle_arch *a = pt->cases.arch;
    json_object *f = failure_begin(pt, c, k->word, k->at, state_json(a, &k->start, NULL), NULL);
    xs_any_cpu away = k->start;
    unsigned fields = (unsigned)k->end << XS_FIELD_END | (unsigned)k->fault << XS_FIELD_FAULT |
                      (unsigned)k->pc << XS_FIELD_PC | (unsigned)k->memory << XS_FIELD_MEMORY;
    add_differs(f, a, fields, k->registers);
    if (k->more)
        json_object_array_add(json_object_object_get(f, "differs"), json_object_new_string("vector registers"));
    xs_reg_set(a, &away, a->pc, k->slot);
    json_object_object_add(f, "home",
                           end_json(a, xs_end_name(k->home.end), k->home.fault != 0, k->home.fault, &k->home.cpu, &k->start));
    json_object_object_add(f, "slot",
                           end_json(a, xs_end_name(k->away.end), k->away.fault != 0, k->away.fault, &k->away.cpu, &away));
    return f;
}

/* ---- putting it together ------------------------------------------------------------------------------ */

void report_add(json_object *report, const part *pt)
{
    json_object *rules = json_object_object_get(report, "rules"),
                *failures = json_object_object_get(report, "failures"),
                *divergences = json_object_object_get(report, "divergences");
    json_object *time = json_object_new_object();
    for (size_t i = 0; i < pt->cases.count; i++) {
        const tally *t = &pt->sum[i];
        const xs_case *c = &pt->cases.list[i];
        json_object_array_add(rules, rule_json(pt, c, t));
        if (t->check.differs) json_object_array_add(failures, failure_json(pt, c, &t->check));
        for (unsigned k = 0; k < t->proof_count; k++)
            json_object_array_add(failures, slot_failure_json(pt, c, &t->proofs[k]));
    }
    for (unsigned i = 0; !pt->p->slots && i < pt->divergences.count; i++)
        json_object_array_add(divergences, divergence_json(pt, &pt->divergences.list[i]));
    if (pt->interrupted) json_object_object_add(report, "interrupted", json_object_new_boolean(1));
    add_text(time, "arch", pt->cases.arch->name);
    json_object_object_add(time, "seconds", json_object_new_double(pt->seconds));
    json_object_array_add(json_object_object_get(report, "summary"), time);
    report_total(report);
}

static void total_arch(json_object *rules, json_object *total)
{
    static const char *const keys[] = {"words", "checks", "faults", "unsupported", "unstable", "diverged", "differences",
                                       "ungenerated"};
    const char *arch = text_in(total, "arch");
    uint64_t count = 0, untested = 0, sums[sizeof keys / sizeof *keys] = {0};
    for (size_t i = 0; i < json_object_array_length(rules); i++) {
        json_object *row = json_object_array_get_idx(rules, i);
        if (strcmp(text_in(row, "arch"), arch) != 0) continue;
        count++;
        untested += number_in(row, "checks") == 0;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            sums[k] += number_in(row, keys[k]);
    }
    add_number(total, "rules", count);
    add_number(total, "unchecked_rules", untested);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        add_number(total, keys[k], sums[k]);
    double seconds = json_object_get_double(json_object_object_get(total, "seconds"));
    json_object_object_add(total, "rate",
                           json_object_new_int64(seconds > 0 ? (int64_t)((double)sums[1] / seconds) : 0));
}

void report_total(json_object *report)
{
    json_object *summary = json_object_object_get(report, "summary");
    for (size_t i = 0; i < json_object_array_length(summary); i++)
        total_arch(json_object_object_get(report, "rules"), json_object_array_get_idx(summary, i));
}

static bool is_stale(json_object *divergence)
{
    xs_divergence d = {.tested = number_in(divergence, "tested"), .used = number_in(divergence, "used")};
    return xs_divergence_stale(&d);
}

int report_status(json_object *report)
{
    json_object *divergences = json_object_object_get(report, "divergences"),
                *summary = json_object_object_get(report, "summary");
    int status = STATUS_OK;
    for (size_t i = 0; i < json_object_array_length(summary); i++)
        if (number_in(json_object_array_get_idx(summary, i), "differences")) status = STATUS_FOUND;
    for (size_t i = 0; i < json_object_array_length(divergences); i++)
        if (is_stale(json_object_array_get_idx(divergences, i))) status = STATUS_FOUND;
    return status;
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
    snprintf(head, sizeof head, "%-7s %s%s%s,", title, text_in(end, "status"),
             json_object_object_get(end, "fault") ? " at " : "",
             json_object_object_get(end, "fault") ? text_in(end, "fault") : "");
    print_regs(f, head, json_object_object_get(end, "changed"), differs);
}

void failure_print(FILE *f, json_object *k)
{
    json_object *differs = json_object_object_get(k, "differs"), *memory = json_object_object_get(k, "memory");
    json_object *hazards = json_object_object_get(k, "hazards");
    fprintf(f, "%s  %s  %s (%s, seed %s)", text_in(k, "word"), text_in(k, "text"), text_in(k, "told"),
            text_in(k, "target"), text_in(k, "seed"));
    for (size_t i = 0; i < json_object_array_length(hazards); i++)
        fprintf(f, "%s%s", i ? "," : ", hazard ", json_object_get_string(json_object_array_get_idx(hazards, i)));
    fputc('\n', f);
    fputs("  differs", f);
    for (size_t i = 0; i < json_object_array_length(differs); i++)
        fprintf(f, "%s %s", i ? "," : "", json_object_get_string(json_object_array_get_idx(differs, i)));
    fputs(json_object_array_length(differs) ? "\n" : " in nothing\n", f);
    print_regs(f, "start", json_object_object_get(k, "start"), NULL);
    for (size_t i = 0; memory && i < json_object_array_length(memory); i++) {
        json_object *m = json_object_array_get_idx(memory, i);
        fprintf(f, "  memory  %s: %s\n", text_in(m, "addr"), text_in(m, "bytes"));
    }
    print_end(f, "ours", json_object_object_get(k, "ours"), differs);
    print_end(f, "theirs", json_object_object_get(k, "theirs"), differs);
    print_end(f, "home", json_object_object_get(k, "home"), differs);
    print_end(f, "slot", json_object_object_get(k, "slot"), differs);
    if (json_object_object_get(k, "first_byte"))
        fprintf(f, "  memory  %s (ours, theirs)\n", text_in(k, "first_byte"));
    fprintf(f, "  again   %s\n", text_in(k, "replay"));
}

static const column rule_columns[] = {
    {"arch", "ARCH", 8},       {"rule", "RULE", 14},         {"handler", "HANDLER", 26}, {"words", "WORDS", 9},
    {"checks", "CHECKS", 11},  {"faults", "FAULTS", 9},      {"unsupported", "UNSUPPORTED", 11},
    {"diverged", "DIVERGED", 9}, {"differences", "DIFFERENCES", 11}, {"target", "TARGET", 0}};

static void print_summary(FILE *f, json_object *report)
{
    json_object *summary = json_object_object_get(report, "summary"),
                *divergences = json_object_object_get(report, "divergences");
    for (size_t i = 0; i < json_object_array_length(summary); i++) {
        json_object *t = json_object_array_get_idx(summary, i);
        fprintf(f,
                "%s: %" PRIu64 " checks of %" PRIu64 " words by %" PRIu64 " rules, %" PRIu64
                " differences, %" PRIu64 " explained, %" PRIu64 " words unsupported, %" PRIu64
                " rules without a check; %.2f s, %" PRIu64 " checks/s\n",
                text_in(t, "arch"), number_in(t, "checks"), number_in(t, "words"), number_in(t, "rules"),
                number_in(t, "differences"), number_in(t, "diverged"), number_in(t, "unsupported"),
                number_in(t, "unchecked_rules"), json_object_get_double(json_object_object_get(t, "seconds")),
                number_in(t, "rate"));
    }
    for (size_t i = 0; i < json_object_array_length(divergences); i++) {
        json_object *d = json_object_array_get_idx(divergences, i);
        if (is_stale(d))
            fprintf(f, "%s: divergences line %" PRIu64 " is no longer needed: %s %s %s %s\n", text_in(d, "arch"),
                    number_in(d, "line"), text_in(d, "about"), text_in(d, "field"), text_in(d, "ours"),
                    text_in(d, "theirs"));
    }
    if (json_object_get_boolean(json_object_object_get(report, "interrupted"))) fputs("interrupted\n", f);
}

static void write_lists(output *out, json_object *report)
{
    json_object *rules = json_object_object_get(report, "rules"),
                *failures = json_object_object_get(report, "failures");
    output_list(out, "rules", rule_columns, sizeof rule_columns / sizeof *rule_columns);
    for (size_t i = 0; i < json_object_array_length(rules); i++)
        output_row(out, "rule", json_object_get(json_object_array_get_idx(rules, i)));
    output_list_end(out);
    for (size_t i = 0; out->format == FORMAT_TEXT && i < json_object_array_length(failures); i++) {
        fputc('\n', out->f);
        failure_print(out->f, json_object_array_get_idx(failures, i));
    }
    for (size_t i = 0; out->format == FORMAT_JSONL && i < json_object_array_length(failures); i++)
        output_row(out, "failure", json_object_get(json_object_array_get_idx(failures, i)));
}

int report_write(const options *o, json_object *report)
{
    output out;
    if (!output_open(&out, o)) return STATUS_INPUT;
    if (o->format == FORMAT_JSON) {
        fprintf(out.f, "%s\n", json_object_to_json_string_ext(report, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
        out.comma = false;
        return output_close(&out);
    }
    if (o->format == FORMAT_TEXT) fprintf(out.f, "seed %s\n\n", text_in(report, "seed"));
    write_lists(&out, report);
    if (o->format == FORMAT_TEXT) {
        fputc('\n', out.f);
        print_summary(out.f, report);
    }
    return output_close(&out);
}
