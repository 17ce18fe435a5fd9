/* audit: findings, run in Unicorn: a word at its own address and in a slot, or by a handler with its bug. */
#include <inttypes.h>
#include <string.h>

#include "audit.h"
#include "campaign.h"

/* fixtures/<isa>/divergences.txt, put in by tests/lockstep.mk. */
extern const char xs_arm64_divergences[], xs_riscv_divergences[];

/* Words that Unicorn executes, of so many tried; states for each. */
enum { WORDS = 48, TRIED = 512, STATES = 24, PLACE = 256 };

typedef struct prover {
    audit *a;
    plan p;
    part pt; /* what lockstep's reports are made from */
    xs_case c;
    xs_divergences known;
    xs_simulator *simulator; /* of the kernel's handlers; NULL: some are not known here */
    xs_lockstep *ls;
} prover;

/* ---- life -------------------------------------------------------------------------------------- */

static int prover_open(prover *pr, audit *a, const options *o)
{
    char why[200];
    const view *v = a->view;
    *pr = (prover){.a = a, .p = {.o = o}};
    pr->pt = (part){.p = &pr->p, .view = *v};
    pr->pt.cases =
        (xs_cases){.table = v->table, .arch = xs_oracle_arch_find(xs_table_arch(v->table, v->target.arch))};
    if (!pr->pt.cases.arch)
        return complain(STATUS_INPUT, "%s: Unicorn cannot run it; see --no-proof", v->name);
    if (!xs_divergences_parse(v->is_arm ? xs_arm64_divergences : xs_riscv_divergences, &pr->known, why,
                              sizeof why))
        return complain(STATUS_INTERNAL, "built-in divergences: %s", why);
    xs_simulator_new(v->decoder, pr->pt.cases.arch->sim, &pr->simulator, why, sizeof why);
    pr->ls = xs_lockstep_open(&pr->pt.cases, &pr->known, NULL, false, why, sizeof why);
    pr->pt.cases.list = &pr->c;
    return pr->ls ? STATUS_OK : complain(STATUS_INTERNAL, "%s", why);
}

static void prover_close(prover *pr)
{
    xs_lockstep_close(pr->ls);
    xs_simulator_free(pr->simulator);
}

/* What is run stands for the finding: it is one of its words. */
static bool is_about(const void *arg, uint32_t word)
{
    return audit_holds(arg, word);
}

/* The words are run as the rule of one side: the kernel's, or, when that refuses them, ideal's. */
static void choose(prover *pr, const finding *f, bool kernel, xs_simulator *simulator)
{
    size_t count;
    const view *v = pr->a->view;
    pr->c = (xs_case){.decoder = kernel ? v->decoder : v->ideal,
                      .simulator = simulator,
                      .entry = kernel ? f->kernel.entry : f->ideal,
                      .about = is_about,
                      .about_arg = f};
    pr->c.e = &xs_decoder_entries(pr->c.decoder, &count)[pr->c.entry];
    xs_target_format(v->table, xs_decoder_target(pr->c.decoder), pr->c.target, sizeof pr->c.target);
}

static uint64_t place(const prover *pr)
{
    return pr->pt.cases.arch->code + PLACE;
}

/* ---- what cannot be run --------------------------------------------------------------------------- */

static const xs_taken_for *taken_for(const prover *pr, const finding *f)
{
    for (unsigned i = 0; i < pr->known.taken_for_count; i++)
        if (strcmp(pr->known.taken_for[i].rule, f->told->name) == 0) return &pr->known.taken_for[i];
    return NULL;
}

static const xs_not_run *not_run_line(const prover *pr, const finding *f)
{
    for (unsigned i = 0; i < pr->known.not_run_count; i++)
        if (strcmp(pr->known.not_run[i].rule, f->told->name) == 0) return &pr->known.not_run[i];
    return NULL;
}

static void unknown_to_unicorn(const prover *pr, finding *f, uint64_t words)
{
    const xs_not_run *line = not_run_line(pr, f);
    f->proof.verdict = PROOF_NOT_RUN;
    if (line)
        snprintf(f->proof.reason, sizeof f->proof.reason, "%s: %s", line->why, line->sound);
    else
        snprintf(f->proof.reason, sizeof f->proof.reason,
                 "Unicorn does not know the instruction, it executes none of %" PRIu64 " words tried", words);
}

/* It runs, with equal effects, and is wrong all the same: the harm is not in what one instruction does. */
static void beyond_one(finding *f, xs_reason why)
{
    f->proof.verdict = PROOF_NOT_RUN;
    snprintf(
        f->proof.reason, sizeof f->proof.reason, "%s",
        f->quirk >= 0 ? "the result is right; the harm is in how the kernel gets it"
        : why == XS_WHY_EXCLUSIVE
            ? "one alone has the same effect at both places; the harm is in the breakpoint's exception "
              "between a load-exclusive and its store"
        : why == XS_WHY_SEQUENCE
            ? "one alone has the same effect at both places; the harm is in the exception between it and its "
              "neighbours"
            : "it has the same effect at both places; the harm is in the kernel's own exception and step");
}

/* No word is tried twice where there are few. */
static uint64_t tries(const finding *f)
{
    uint64_t all = audit_encodings(f);
    return all < TRIED ? all : TRIED;
}

/* The first vector register that differs: the report's registers are the general ones. */
static void note_vector(const prover *pr, finding *f, const xs_slot_check *k)
{
    unsigned size = pr->pt.cases.arch->more_bytes, i = 0;
    char home[40], slot[40];
    if (!k->more) return;
    while (memcmp(k->home.more + i * size, k->away.more + i * size, size) == 0)
        i++;
    for (unsigned b = 0; b < size; b++) { /* the highest byte first, as a number */
        snprintf(home + 2 * b, 3, "%02x", k->home.more[(i + 1) * size - 1 - b]);
        snprintf(slot + 2 * b, 3, "%02x", k->away.more[(i + 1) * size - 1 - b]);
    }
    snprintf(f->proof.vector, sizeof f->proof.vector,
             "vector register %u is 0x%s at its address, 0x%s in the slot", i, home, slot);
}

/* ---- slots ----------------------------------------------------------------------------------------- */

static bool run_slots(prover *pr, finding *f, xs_slot_counts *counts, xs_slot_check *first)
{
    bool ok = true;
    first->differs = false;
    for (uint64_t n = 0; ok && n < tries(f) && counts->words - counts->unsupported < WORDS && !first->differs;
         n++) {
        xs_rng r = xs_rng_new(2, f->told->name, n);
        ok = xs_slot_given(pr->ls, &pr->c, audit_word(pr->a, f, n), place(pr), &r, STATES, counts, first);
    }
    if (ok && first->differs) ok = xs_slot_minimise(pr->ls, &pr->c, pr->a->view->ideal, first);
    return ok;
}

/* A kernel's own answer may be about few words of a rule, which happen to do the same at both places: a
 * branch to the next instruction. */
static void no_difference(finding *f)
{
    f->proof.verdict = PROOF_NOT_RUN;
    snprintf(f->proof.reason, sizeof f->proof.reason,
             "%" PRIu64 " runs of %" PRIu64 " word%s show no difference", f->proof.runs, f->proof.words,
             f->proof.words == 1 ? "" : "s");
}

static void judge_slots(const prover *pr, finding *f, const xs_slot_counts *counts, bool differs)
{
    size_t count;
    xs_reason why = xs_decoder_entries(pr->a->view->ideal, &count)[f->ideal].decision->reason;
    const xs_taken_for *other = taken_for(pr, f);
    if (differs)
        f->proof.verdict = f->kernel.cls == XS_REJECT ? PROOF_CONTRADICTION : PROOF_DIFFERS;
    else if (counts->checks == 0)
        unknown_to_unicorn(pr, f, counts->words);
    else if (other) {
        f->proof.verdict = PROOF_NOT_RUN;
        snprintf(f->proof.reason, sizeof f->proof.reason, "%s", other->reason);
    } else if (f->kernel.cls == XS_REJECT)
        f->proof.verdict = PROOF_EQUAL;
    else if (1u << f->hazard == XS_HAZARD_CORRUPTS && f->kernel.own)
        no_difference(f);
    else if (1u << f->hazard == XS_HAZARD_CORRUPTS)
        f->proof.verdict = PROOF_CONTRADICTION;
    else
        beyond_one(f, why);
}

static bool prove_slots(prover *pr, finding *f)
{
    static xs_slot_check first; /* too large for a stack */
    xs_slot_counts counts = {0};
    pr->p.slots = true;
    choose(pr, f, f->kernel.cls != XS_REJECT, NULL);
    if (!run_slots(pr, f, &counts, &first)) return false;
    f->proof.words = counts.words - counts.unsupported;
    f->proof.runs = counts.checks;
    judge_slots(pr, f, &counts, first.differs);
    if (first.differs) {
        f->proof.run = slot_failure_json(&pr->pt, &pr->c, &first);
        note_vector(pr, f, &first);
    }
    return true;
}

/* ---- handlers --------------------------------------------------------------------------------------- */

static uint32_t quirk_of(const prover *pr, const finding *f)
{
    size_t count;
    const xs_quirk *quirks = xs_table_quirks(pr->a->view->table, &count);
    return f->quirk < 0 ? 0 : xs_quirk_bit(pr->pt.cases.arch->sim, quirks[f->quirk].name);
}

/* `simulate` does it again, with the bug; memory that was refused stays away. */
static void replay_by_simulate(const prover *pr, const finding *f, const xs_check *k, json_object *run)
{
    size_t count;
    char text[2048];
    const char *table = pr->p.o->table;
    int at = snprintf(text, sizeof text, "xolsim simulate%s%s --target %s 0x%0*x", table ? " --table " : "",
                      table ? table : "", pr->c.target, pr->c.e->rule->width / 4, k->word);
    if (f->quirk >= 0)
        at += snprintf(text + at, sizeof text - (size_t)at, " --quirk %s",
                       xs_table_quirks(pr->a->view->table, &count)[f->quirk].name);
    json_object_object_foreach(json_object_object_get(run, "start"), name, value)
    {
        bool own = strcmp(name, "pc") == 0 || strcmp(name, "sp") == 0 || strcmp(name, "nzcv") == 0;
        at += snprintf(text + at, sizeof text - (size_t)at, own ? " --%s %s" : " --reg %s=%s", name,
                       json_object_get_string(value));
    }
    json_add_text(run, "replay", text);
}

static bool run_handler(prover *pr, finding *f, xs_counts *counts, xs_check *first)
{
    bool ok = true;
    first->differs = 0;
    for (uint64_t n = 0; ok && n < tries(f) && counts->words - counts->unsupported < WORDS && !first->differs;
         n++) {
        xs_rng r = xs_rng_new(2, f->told->name, n);
        ok = xs_lockstep_given(pr->ls, &pr->c, audit_word(pr->a, f, n), place(pr), &r, STATES, counts, first);
    }
    if (ok && first->differs) ok = xs_lockstep_minimise(pr->ls, &pr->c, first);
    return ok;
}

/* Unicorn has no such instruction; the handler can still be asked what it does. */
static bool ask_handler(prover *pr, finding *f, uint64_t words)
{
    xs_check k = {.word = audit_example(f), .at = place(pr)};
    pr->pt.cases.arch->reset(&k.start);
    unknown_to_unicorn(pr, f, words);
    if (!xs_lockstep_one(pr->ls, &pr->c, &k)) return false;
    size_t at = strlen(f->proof.reason);
    snprintf(f->proof.reason + at, sizeof f->proof.reason - at,
             "; the kernel's handler, simulated, ends as '%s'", xs_sim_status_name(k.status));
    return true;
}

/* Must the handler end differently from the instruction? A bug that hangs or gives a wrong result shows, and
 * a handler that was found to differ from ideal's. */
static bool must_show(const prover *pr, const finding *f)
{
    size_t count;
    if (f->quirk >= 0) return 1u << f->hazard == XS_HAZARD_HANGS || 1u << f->hazard == XS_HAZARD_WRONG;
    return xs_decoder_entries(pr->a->view->ideal, &count)[f->ideal].decision->cls == XS_SIMULATE;
}

static bool judge_handler(prover *pr, finding *f, const xs_counts *counts, const xs_check *first)
{
    f->proof.words = counts->words - counts->unsupported;
    f->proof.runs = counts->checks;
    if (first->differs) {
        f->proof.verdict = PROOF_DIFFERS;
        f->proof.run = failure_json(&pr->pt, &pr->c, first);
        replay_by_simulate(pr, f, first, f->proof.run);
    } else if (counts->checks == 0)
        return ask_handler(pr, f, counts->words);
    else if (must_show(pr, f))
        f->proof.verdict = PROOF_CONTRADICTION;
    else
        beyond_one(f, XS_WHY_DEFAULT);
    return true;
}

static bool prove_handler(prover *pr, finding *f)
{
    xs_counts counts = {0};
    xs_check first;
    pr->p.slots = false;
    choose(pr, f, true, pr->simulator);
    if (!pr->simulator) {
        f->proof.verdict = PROOF_NOT_RUN;
        snprintf(f->proof.reason, sizeof f->proof.reason, "a handler of this kernel is not known here");
        return true;
    }
    xs_lockstep_quirks(pr->ls, quirk_of(pr, f));
    bool ok = run_handler(pr, f, &counts, &first) && judge_handler(pr, f, &counts, &first);
    xs_lockstep_quirks(pr->ls, 0);
    return ok;
}

/* ---- all --------------------------------------------------------------------------------------------- */

static int protest(const prover *pr, const finding *f)
{
    return complain(
        STATUS_INTERNAL, "%s: %s is called %s, and %" PRIu64 " runs of %" PRIu64 " words in Unicorn show %s",
        pr->a->view->name, f->told->name, xs_hazard_name(f->hazard), f->proof.runs, f->proof.words,
        f->kernel.cls == XS_REJECT ? "that its effects differ in a slot" : "no difference");
}

int audit_prove(audit *a, const options *o, bool hit)
{
    prover pr;
    int status = prover_open(&pr, a, o);
    for (size_t i = 0; i < a->count && status < STATUS_USAGE; i++) {
        finding *f = &a->findings[i];
        if (hit && !f->sites) continue;
        if (!(f->quirk >= 0 || f->handler ? prove_handler(&pr, f) : prove_slots(&pr, f)))
            status = complain(STATUS_INTERNAL, "the oracle failed: %s",
                              uc_strerror(xs_lockstep_oracle(pr.ls)->error));
    }
    for (size_t i = 0; i < a->count; i++)
        if (a->findings[i].proof.verdict == PROOF_CONTRADICTION) status = protest(&pr, &a->findings[i]);
    prover_close(&pr);
    return status;
}
