/* kernel --simulate: each simulate_* function of a kernel beside ours, on generated states. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "kernel.h"
#include "kernel_handle.h"

enum { STATES = 2000, STATES_EACH = 16 };

/* What became of one rule. */
typedef struct tally {
    uint64_t checks, quirks, skipped, differences;
    uint32_t names; /* quirks that explained something, by number */
    char first[200];
} tally;

typedef struct match {
    const referee *r;
    xs_kernel_decoder d;
    view view;
    identity id;
    const xs_oracle_arch *arch;
    xs_simulator *simulator;
    xs_bus bus;
    xs_rng rng;
} match;

/* ---- memory: both sides read the kernel's machine ------------------------------------------------- */

static bool load(void *context, uint64_t addr, void *bytes, size_t size)
{
    const match *m = context;
    const uint8_t *at = xs_kernel_literal(m->d.k, addr, size);
    if (at) memcpy(bytes, at, size);
    return at != NULL;
}

static bool store(void *context, uint64_t addr, const void *bytes, size_t size)
{
    (void)context, (void)addr, (void)bytes, (void)size;
    return false;
}

/* Something other than zero all over the place where literals are; once is enough. */
static void fill_literals(match *m)
{
    uint64_t site = xs_kernel_site(0) & ~UINT64_C(7);
    for (uint64_t at = site - (1 << 20); at < site + (2 << 20); at += 8) {
        uint64_t value = xs_rng_next(&m->rng);
        uint8_t *bytes = xs_kernel_literal(m->d.k, at, sizeof value);
        if (bytes) memcpy(bytes, &value, sizeof value);
    }
}

/* ---- one check ------------------------------------------------------------------------------------ */

static void make_state(match *m, xs_any_cpu *cpu)
{
    m->arch->reset(cpu);
    uint64_t some = xs_generate_value(&m->rng);
    for (unsigned i = 0; i < m->arch->count; i++)
        xs_reg_set(m->arch, cpu, i, xs_rng_below(&m->rng, 4) ? xs_generate_value(&m->rng) : some);
    if (m->arch->flags >= 0) xs_reg_set(m->arch, cpu, (unsigned)m->arch->flags, xs_rng_next(&m->rng));
    xs_reg_set(m->arch, cpu, m->arch->pc, xs_kernel_site(xs_rng_next(&m->rng)));
}

static bool alike(const match *m, const xs_any_cpu *a, const xs_any_cpu *b)
{
    for (unsigned i = 0; i < m->arch->count; i++)
        if (xs_reg_get(m->arch, a, i) != xs_reg_get(m->arch, b, i)) return false;
    return true;
}

static xs_sim_status simulate(const match *m, const xs_prepared *site, const xs_any_cpu *start,
                              uint32_t quirks, xs_any_cpu *end)
{
    xs_fault fault;
    *end = *start;
    xs_sim_status status = xs_simulate(site, end, &m->bus, quirks, &fault);
    m->arch->settle(end);
    return status;
}

/* The bits that the simulator knows the table's quirks by. */
static uint32_t quirk_bits(const match *m, uint32_t quirks)
{
    size_t count;
    uint32_t bits = 0;
    const xs_quirk *quirk = xs_table_quirks(m->view.table, &count);
    for (size_t i = 0; i < count; i++)
        if (quirks >> i & 1) bits |= xs_quirk_bit(m->arch->sim, quirk[i].name);
    return bits;
}

static void note_difference(const match *m, tally *t, uint32_t word, const xs_any_cpu *start,
                            const xs_any_cpu *ours, const xs_any_cpu *theirs)
{
    for (unsigned i = 0; i < m->arch->count && !*t->first; i++) {
        uint64_t a = xs_reg_get(m->arch, ours, i), b = xs_reg_get(m->arch, theirs, i);
        if (a != b)
            snprintf(t->first, sizeof t->first,
                     "0x%08" PRIx32 " at 0x%" PRIx64 ": %s was 0x%" PRIx64 ", is 0x%" PRIx64
                     " by ours, 0x%" PRIx64 " by the kernel",
                     word, xs_reg_get(m->arch, start, m->arch->pc), m->arch->regs[i].name,
                     xs_reg_get(m->arch, start, i), a, b);
    }
    t->differences++;
}

/* A target that no instruction can be at, and memory that is not there, are refused by us: nothing to
 * compare. */
static bool can_compare(xs_sim_status status)
{
    return status == XS_SIM_OK || status == XS_SIM_STUCK;
}

static bool check(match *m, const xs_insn *insn, const xs_prepared *site, uint64_t handler, tally *t)
{
    xs_any_cpu start, ours, quirky, theirs;
    make_state(m, &start);
    xs_sim_status status = simulate(m, site, &start, 0, &ours);
    if (!can_compare(status)) {
        t->skipped++;
        return true;
    }
    if (!xs_kernel_handle(m->d.k, m->arch, handler, insn->word, &start, &theirs)) return false;
    t->checks++;
    if (alike(m, &ours, &theirs)) return true;
    uint32_t quirks = xs_quirks(m->view.decoder, insn), bits = quirk_bits(m, quirks);
    if (bits && can_compare(simulate(m, site, &start, bits, &quirky)) && alike(m, &quirky, &theirs)) {
        t->quirks++;
        t->names |= quirks;
    } else {
        note_difference(m, t, insn->word, &start, &ours, &theirs);
    }
    return true;
}

/* ---- one rule ------------------------------------------------------------------------------------- */

static bool check_word(match *m, uint32_t word, tally *t)
{
    xs_insn insn;
    xs_prepared site;
    xs_kernel_verdict v;
    uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
    if (xs_decode(m->view.decoder, bytes, sizeof bytes, &insn) != XS_OK) return true;
    if (!xs_kernel_classify(&m->d, insn.word, &v)) return false;
    if (!verdict_is(&m->d, &v, insn.entry->decision)) {
        if (!*t->first)
            snprintf(t->first, sizeof t->first, "0x%08" PRIx32 ": the kernel has another handler", word);
        t->differences++;
        return true;
    }
    xs_site_prepare(m->simulator, &insn, &site);
    for (unsigned i = 0; i < STATES_EACH; i++)
        if (!check(m, &insn, &site, v.handler, t)) return false;
    return true;
}

static int check_rule(match *m, size_t entry, tally *t)
{
    size_t count;
    uint32_t word;
    const xs_entry *e = &xs_decoder_entries(m->view.decoder, &count)[entry];
    for (unsigned i = 0; i < STATES / STATES_EACH; i++) {
        if (!xs_generate_word(m->view.decoder, entry, &m->rng, &word)) break;
        if (!check_word(m, word, t)) return referee_crashed(m->r, &m->d, word, e->decision->handler);
    }
    return STATUS_OK;
}

/* ---- output --------------------------------------------------------------------------------------- */

static const column columns[] = {{"rule", "RULE", 14},      {"handler", "HANDLER", 24},
                                 {"checks", "CHECKS", 8},   {"skipped", "SKIPPED", 8},
                                 {"by_quirk", "QUIRKY", 8}, {"differences", "DIFFERENCES", 11},
                                 {"quirks", "QUIRKS", 24},  {"first", "FIRST", 0}};

static json_object *quirk_names(const match *m, uint32_t quirks)
{
    size_t count;
    json_object *names = json_object_new_array();
    const xs_quirk *quirk = xs_table_quirks(m->view.table, &count);
    for (size_t i = 0; i < count; i++)
        if (quirks >> i & 1) json_object_array_add(names, json_object_new_string(quirk[i].name));
    return names;
}

static void print_rule(const match *m, const xs_entry *e, const tally *t, output *out)
{
    json_object *row = json_object_new_object();
    json_object_object_add(row, "rule", json_object_new_string(e->rule->name));
    json_object_object_add(row, "handler", json_name(e->decision->handler));
    json_object_object_add(row, "checks", json_object_new_int64((int64_t)t->checks));
    json_object_object_add(row, "skipped", json_object_new_int64((int64_t)t->skipped));
    json_object_object_add(row, "by_quirk", json_object_new_int64((int64_t)t->quirks));
    json_object_object_add(row, "differences", json_object_new_int64((int64_t)t->differences));
    json_object_object_add(row, "quirks", quirk_names(m, t->names));
    json_object_object_add(row, "first", json_name(t->first));
    output_row(out, "handler", row);
}

static int check_all(void *arg, output *out)
{
    match *m = arg;
    size_t count;
    int status = STATUS_OK;
    const xs_entry *entries = xs_decoder_entries(m->view.decoder, &count);
    for (size_t i = 0; i < count && status < STATUS_USAGE; i++) {
        tally t = {0};
        if (entries[i].decision->cls != XS_SIMULATE) continue;
        status = worse(status, check_rule(m, i, &t));
        if (t.differences) status = worse(status, STATUS_FOUND);
        print_rule(m, &entries[i], &t, out);
    }
    return status;
}

/* ---- life ----------------------------------------------------------------------------------------- */

static int open_match(match *m)
{
    char why[256];
    const options *o = m->r->o;
    int status = referee_open(m->r, o->mode ? o->mode : "uprobe", false, &m->d);
    if (status == STATUS_OK) status = referee_target(m->r, &m->d, &m->id, &m->view);
    if (status != STATUS_OK) return status;
    m->arch = xs_oracle_arch_find(m->r->arch);
    m->bus = (xs_bus){.load = load, .store = store, .context = m};
    m->rng = xs_rng_new(m->r->seed, "kernel", 0);
    return xs_simulator_new(m->view.decoder, m->arch->sim, &m->simulator, why, sizeof why) == XS_OK
               ? STATUS_OK
               : complain(STATUS_INTERNAL, "%s", why);
}

int kernel_handlers(const referee *r)
{
    match m = {.r = r};
    int status = open_match(&m);
    if (status == STATUS_OK) {
        fill_literals(&m);
        status = referee_list(r, &m.view, &m.id, "handlers", columns, sizeof columns / sizeof *columns,
                              check_all, &m);
    }
    xs_simulator_free(m.simulator);
    view_close(&m.view);
    identity_close(&m.id);
    xs_kernel_close(m.d.k);
    return status;
}
