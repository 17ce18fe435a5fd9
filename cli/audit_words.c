/* audit: what there is to say about a finding. */
#include <inttypes.h>
#include <string.h>

#include "audit.h"
#include "campaign.h"

static const xs_decision *needed(const audit *a, const finding *f)
{
    size_t count;
    return xs_decoder_entries(a->view->ideal, &count)[f->ideal].decision;
}

/* The table's note is on what it says itself. */
static const char *kernel_note(const audit *a, const finding *f)
{
    size_t count;
    return f->kernel.own ? "" : xs_decoder_entries(a->view->decoder, &count)[f->kernel.entry].decision->note;
}

static const xs_quirk *quirk_named(const audit *a, const finding *f)
{
    size_t count;
    return f->quirk < 0 ? NULL : &xs_table_quirks(a->view->table, &count)[f->quirk];
}

/* ---- which words ------------------------------------------------------------------------------- */

/* The condition on which the bug shows, "rd=rs1"; false: on all words. */
static bool condition(const audit *a, const finding *f, char *buf, size_t size)
{
    size_t count;
    char value[64];
    const xs_operand *operands = xs_table_operands(a->view->table, &count);
    const xs_decision *d = xs_decoder_entries(a->view->decoder, &count)[f->kernel.entry].decision;
    for (int i = 0; i < d->quirk_count; i++) {
        const xs_quirk_use *u = &d->quirk[i];
        if (u->quirk != f->quirk || u->left < 0) continue;
        operand_text(&operands[u->left], u->value, 0, value, sizeof value);
        snprintf(buf, size, "%s=%s", operands[u->left].name, u->right < 0 ? value : operands[u->right].name);
        return true;
    }
    return false;
}

static int cube_text(const cube *c, unsigned width, char *buf, size_t size)
{
    int at = 0;
    for (unsigned b = width; b-- > 0 && at + 1 < (int)size;)
        buf[at++] = !(c->mask >> b & 1) ? '-' : c->value >> b & 1 ? '1' : '0';
    buf[at] = '\0';
    return at;
}

void audit_where(const audit *a, const finding *f, char *buf, size_t size)
{
    enum { SHOWN = 2 };
    int at = 0;
    buf[0] = '\0';
    if (f->words == UINT64_C(1) << (32 - __builtin_popcount(f->told->mask))) return;
    if (f->quirk >= 0 && condition(a, f, buf, size)) return;
    for (size_t i = 0; i < f->cubes.count && i < SHOWN; i++) {
        at += snprintf(buf + at, size - (size_t)at, "%s", i ? ", " : "");
        at += cube_text(&f->cubes.list[i], f->told->width, buf + at, size - (size_t)at);
    }
    if (f->cubes.count > SHOWN)
        snprintf(buf + at, size - (size_t)at, " and %zu more patterns", f->cubes.count - SHOWN);
}

/* ---- what is done, what is needed, and why ------------------------------------------------------- */

void audit_does(const finding *f, char *buf, size_t size)
{
    const char *more = f->kernel.cls == XS_SIMULATE ? f->kernel.handler
                       : f->kernel.cls == XS_REJECT ? f->kernel.error
                                                    : "-";
    bool none = strcmp(more, "-") == 0; /* a kernel file does not say its errno */
    snprintf(buf, size, "%s%s%s", xs_class_name(f->kernel.cls), none ? "" : " ", none ? "" : more);
}

const char *audit_kernels_text(const finding *f)
{
    return *f->kernels ? f->kernels : "none of the table";
}

const char *audit_fit(const audit_kernel *k)
{
    return k && k->differ ? ", the nearest" : "";
}

void audit_answerer_text(const audit *a, const audit_kernel *k, char *buf, size_t size)
{
    if (k->exhaustive)
        snprintf(buf, size, "the kernel's own answers to every word: %" PRIu64 " word%s from %s", k->differ,
                 k->differ == 1 ? " differs" : "s differ", a->view->name);
    else
        snprintf(buf, size, "%s: %zu telling words agree; --exhaustive asks it every word", a->view->name,
                 k->telling);
}

void audit_needs(const audit *a, const finding *f, char *buf, size_t size)
{
    const xs_decision *d = needed(a, f);
    bool handler = d->cls == XS_SIMULATE, bug = f->quirk >= 0 && strcmp(d->handler, f->kernel.handler) == 0;
    snprintf(buf, size, "%s%s%s%s (%s)", xs_class_name(d->cls), handler ? " " : "", handler ? d->handler : "",
             bug ? " without the bug" : "", xs_reason_name(d->reason));
}

static const char *slot_sentence(xs_reason why)
{
    switch (why) {
    case XS_WHY_PC_RELATIVE: return "Stepped in the slot it sees the slot's address instead of its own.";
    case XS_WHY_BRANCH:
        return "It branches, but is stepped in the slot: the kernel goes on behind the probed instruction "
               "whatever "
               "the step did to the pc, so the branch is lost.";
    case XS_WHY_EXCLUSIVE:
        return "The breakpoint's exception clears the reservation: the store-exclusive fails every time, and "
               "the loop "
               "around it may never end.";
    case XS_WHY_SYSTEM_REGISTER: return "In the slot it reads or changes what the step itself has set up.";
    case XS_WHY_SEQUENCE:
        return "It belongs to the instructions beside it: an exception between them, as the step takes, is "
               "not "
               "allowed for.";
    case XS_WHY_EXCEPTION: return "It takes or returns from an exception in the middle of the step.";
    default: return "It waits, or leaves the step, while the step is under way.";
    }
}

/* The sentence that holds for every finding of the kind. */
static const char *kind_sentence(const audit *a, const finding *f)
{
    bool hangs = 1u << f->hazard == XS_HAZARD_HANGS;
    if (f->quirk >= 0)
        return hangs ? "The probe is hit again for ever: its handler gives up and the pc stays."
                     : "The kernel's handler has a bug.";
    if (f->handler) return "The handler does something else than the instruction.";
    if (f->kernel.cls == XS_REJECT)
        return "Refused, though it does the same at any address: the slot is right for it.";
    return slot_sentence(needed(a, f)->reason);
}

const char *audit_place_sentence(unsigned hazard)
{
    if (1u << hazard == XS_HAZARD_LIVELOCK)
        return "Between a load-exclusive and its store: the breakpoint's exception clears the reservation, "
               "and the "
               "loop around them may never end.";
    if (1u << hazard == XS_HAZARD_NEEDLESS)
        return "Refused by the kernel's search for exclusive sequences, which takes another instruction for "
               "a "
               "load-exclusive.";
    return "Not the start of an instruction: the breakpoint overwrites parts of two.";
}

void audit_sentence(const audit *a, const finding *f, char *buf, size_t size)
{
    const char *notes[3] = {quirk_named(a, f) ? quirk_named(a, f)->note : "", kernel_note(a, f),
                            needed(a, f)->note};
    int at = snprintf(buf, size, "%s", kind_sentence(a, f));
    for (int i = 0; i < 3 && at < (int)size; i++) {
        bool again = i == 2 && strcmp(notes[1], notes[2]) == 0;
        if (*notes[i] && !again)
            at += snprintf(buf + at, size - (size_t)at, "%s%s: %s.", at ? " " : "",
                           i == 0   ? quirk_named(a, f)->name
                           : i == 1 ? f->kernel.rule
                                    : f->told->name,
                           notes[i]);
    }
}

/* ---- the proof --------------------------------------------------------------------------------- */

const char *audit_verdict_name(audit_verdict verdict)
{
    static const char *const names[] = {"skipped", "differs", "equal", "not-executable", "contradiction"};
    return (unsigned)verdict < sizeof names / sizeof *names ? names[verdict] : "?";
}

/* "x0, pc" */
static void list_text(json_object *list, char *buf, size_t size)
{
    int at = 0;
    buf[0] = '\0';
    for (size_t i = 0; list && i < json_object_array_length(list) && at < (int)size; i++)
        at += snprintf(buf + at, size - (size_t)at, "%s%s", i ? ", " : "",
                       json_object_get_string(json_object_array_get_idx(list, i)));
}

/* "landed, x1=0x5, pc=0x10": how an end came about and what it changed. */
static void end_text(json_object *run, const char *side, char *buf, size_t size)
{
    json_object *end = json_object_object_get(run, side), *changed = json_object_object_get(end, "changed");
    int at = snprintf(buf, size, "%s", json_text(end, "status"));
    if (json_object_object_get(end, "fault"))
        at += snprintf(buf + at, size - (size_t)at, " at %s", json_text(end, "fault"));
    json_object_object_foreach(changed, name, value)
    {
        if (at < (int)size)
            at += snprintf(buf + at, size - (size_t)at, ", %s=%s", name, json_object_get_string(value));
    }
    if (!json_object_object_get(changed, "pc") && at < (int)size)
        snprintf(buf + at, size - (size_t)at, ", pc as it was");
}

/* What the run shows; a jump is lost even when it lands on the same place from everywhere. */
static void run_text(const audit_proof *p, char *buf, size_t size)
{
    char fields[200], first[400], second[400];
    bool slots = json_object_object_get(p->run, "home");
    list_text(json_object_object_get(p->run, "differs"), fields, sizeof fields);
    end_text(p->run, slots ? "home" : "ours", first, sizeof first);
    end_text(p->run, slots ? "slot" : "theirs", second, sizeof second);
    snprintf(buf, size, "%s differs in %s: %s: %s; %s: %s%s%s%s", json_text(p->run, "word"), fields,
             slots ? "at its address" : "the kernel's handler", first, slots ? "in a slot" : "Unicorn",
             second, *p->vector ? "; " : "", p->vector,
             slots && strstr(fields, "pc") ? "; behind the slot the kernel goes on at the next instruction"
                                           : "");
}

void audit_proof_text(const finding *f, char *buf, size_t size)
{
    const audit_proof *p = &f->proof;
    switch (p->verdict) {
    case PROOF_SKIPPED: snprintf(buf, size, "skipped"); return;
    case PROOF_NOT_RUN: snprintf(buf, size, "not executable here: %s", p->reason); return;
    case PROOF_EQUAL:
        snprintf(buf, size,
                 "equal effects at its address and in a slot: %" PRIu64 " runs of %" PRIu64 " word%s",
                 p->runs, p->words, p->words == 1 ? "" : "s");
        return;
    case PROOF_DIFFERS: run_text(p, buf, size); return;
    case PROOF_CONTRADICTION:
        snprintf(buf, size,
                 "CONTRADICTION: %" PRIu64 " runs of %" PRIu64 " words in Unicorn show the opposite", p->runs,
                 p->words);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static json_object *proof_json(const finding *f)
{
    json_object *p = json_object_new_object();
    json_add_text(p, "verdict", audit_verdict_name(f->proof.verdict));
    json_add_text(p, "reason", *f->proof.reason ? f->proof.reason : NULL);
    json_add_number(p, "words", f->proof.words);
    json_add_number(p, "runs", f->proof.runs);
    json_add_text(p, "vector", *f->proof.vector ? f->proof.vector : NULL);
    json_object_object_add(p, "run", json_object_get(f->proof.run));
    return p;
}

static json_object *patterns_json(const finding *f)
{
    enum { SHOWN = 64 };
    char text[40];
    json_object *list = json_object_new_array();
    for (size_t i = 0; i < f->cubes.count && i < SHOWN; i++) {
        cube_text(&f->cubes.list[i], f->told->width, text, sizeof text);
        json_object_array_add(list, json_object_new_string(text));
    }
    return list;
}

static void add_words(const audit *a, const finding *f, json_object *row)
{
    char drawing[DRAWING], where[256];
    insn_text text;
    uint32_t word = audit_example(f);
    size_t count;
    xs_insn insn = {.word = word, .size = (uint8_t)(f->told->width / 8)};
    insn.entry = &xs_decoder_entries(a->view->decoder, &count)[f->kernel.entry];
    rule_drawing(a->view->table, f->told, drawing, sizeof drawing);
    audit_where(a, f, where, sizeof where);
    text_of(a->view, &insn, 0, &text);
    json_add_text(row, "pattern", drawing);
    json_add_text(row, "where", *where ? where : NULL);
    json_object_object_add(row, "patterns", patterns_json(f));
    json_add_number(row, "pattern_count", f->cubes.count);
    json_add_number(row, "words", f->words);
    json_add_number(row, "encodings", audit_encodings(f));
    json_add_number(row, "again", f->again);
    json_object_object_add(row, "example", json_hex(word, f->told->width / 4));
    json_add_text(row, "text", text.text);
    json_add_text(row, "text_source", text.ours ? "table" : "capstone");
}

static json_object *sites_json(json_object *const shown[SITES_SHOWN])
{
    json_object *list = json_object_new_array();
    for (size_t i = 0; i < SITES_SHOWN && shown[i]; i++)
        json_object_array_add(list, json_object_get(shown[i]));
    return list;
}

json_object *place_json(const audit *a, unsigned hazard)
{
    json_object *row = json_object_new_object();
    json_add_text(row, "severity", xs_hazard_name(hazard));
    json_add_text(row, "why", audit_place_sentence(hazard));
    json_add_number(row, "sites", a->places[hazard].sites);
    json_object_object_add(row, "first_sites", sites_json(a->places[hazard].shown));
    return row;
}

json_object *finding_json(const audit *a, const finding *f, bool sites)
{
    char does[96], needs[128], sentence[1600];
    json_object *row = json_object_new_object();
    audit_does(f, does, sizeof does);
    audit_needs(a, f, needs, sizeof needs);
    audit_sentence(a, f, sentence, sizeof sentence);
    json_add_text(row, "severity", xs_hazard_name(f->hazard));
    json_add_text(row, "rule", f->told->name);
    json_add_text(row, "kernel_rule", f->kernel.rule);
    json_add_text(row, "quirk", quirk_named(a, f) ? quirk_named(a, f)->name : NULL);
    add_words(a, f, row);
    json_add_text(row, "does", does);
    json_add_text(row, "needs", needs);
    json_add_text(row, "kernels", audit_kernels_text(f));
    json_add_text(row, "why", sentence);
    json_object_object_add(row, "proof", proof_json(f));
    if (sites) json_add_number(row, "sites", f->sites);
    if (sites) json_object_object_add(row, "first_sites", sites_json(f->shown));
    return row;
}
