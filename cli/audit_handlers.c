/* audit: do two handlers do the same? Carried out on the same words and states. */
#include <string.h>

#include "audit.h"
#include "generate.h"
#include "unicorn.h"

enum { WORDS = 64, STATES = 16, STORES = 4 };

/* Memory that has something everywhere, and notes what is stored. */
typedef struct memory {
    unsigned count;
    struct {
        uint64_t addr;
        size_t size;
        uint8_t bytes[16];
    } stores[STORES];
} memory;

static bool load(void *context, uint64_t addr, void *bytes, size_t size)
{
    (void)context;
    for (size_t i = 0; i < size; i++) {
        xs_rng r = {addr + i};
        ((uint8_t *)bytes)[i] = (uint8_t)xs_rng_next(&r);
    }
    return true;
}

static bool store(void *context, uint64_t addr, const void *bytes, size_t size)
{
    memory *m = context;
    if (m->count == STORES || size > sizeof m->stores->bytes) return false;
    m->stores[m->count].addr = addr;
    m->stores[m->count].size = size;
    memcpy(m->stores[m->count++].bytes, bytes, size);
    return true;
}

/* Everything that a handler has done. */
typedef struct effect {
    xs_any_cpu cpu;
    xs_fault fault;
    xs_sim_status status;
    memory memory;
} effect;

static void carry_out(const xs_oracle_arch *arch, const xs_prepared *site, const xs_any_cpu *start, effect *e)
{
    memset(e, 0, sizeof *e);
    const xs_bus bus = {.load = load, .store = store, .context = &e->memory};
    e->cpu = *start;
    e->status = xs_simulate(site, &e->cpu, &bus, 0, &e->fault);
    arch->settle(&e->cpu);
}

static bool same_effect(const xs_oracle_arch *arch, const effect *a, const effect *b)
{
    bool same = a->status == b->status && memcmp(&a->memory, &b->memory, sizeof a->memory) == 0;
    for (unsigned i = 0; i < arch->count; i++)
        same &= xs_reg_get(arch, &a->cpu, i) == xs_reg_get(arch, &b->cpu, i);
    return same;
}

/* One word in some states. */
static bool same_on(const xs_oracle_arch *arch, const xs_prepared *a, const xs_prepared *b, xs_rng *r)
{
    static effect x, y;
    for (int i = 0; i < STATES; i++) {
        xs_any_cpu start;
        arch->reset(&start);
        for (unsigned n = 0; n < arch->count; n++)
            xs_reg_set(arch, &start, n,
                       (int)n == arch->flags ? xs_rng_next(r) & arch->flag_bits : xs_generate_value(r));
        carry_out(arch, a, &start, &x);
        carry_out(arch, b, &start, &y);
        if (!same_effect(arch, &x, &y)) return false;
    }
    return true;
}

static void prepare(const xs_decoder *d, const xs_simulator *s, size_t entry, uint32_t word, xs_prepared *out)
{
    size_t count;
    xs_insn insn = {.word = word, .entry = &xs_decoder_entries(d, &count)[entry]};
    insn.size = (uint8_t)(insn.entry->rule->width / 8);
    xs_rule_operands(xs_decoder_table(d), insn.entry->rule, word, insn.op);
    xs_site_prepare(s, &insn, out);
}

static audit_same compare_words(const view *v, const xs_simulator *kernel, const xs_simulator *ideal,
                                const size_t entry[2], cube c)
{
    const xs_oracle_arch *arch = xs_oracle_arch_find(xs_table_arch(v->table, v->target.arch));
    size_t count;
    const xs_rule *rule = xs_decoder_entries(v->ideal, &count)[entry[1]].rule;
    xs_rng r = xs_rng_new(1, rule->name, 0);
    for (int i = 0; i < WORDS; i++) {
        xs_prepared a, b;
        uint32_t word = (xs_generate_from_rule(v->table, rule, &r) & ~c.mask) | c.value;
        prepare(v->decoder, kernel, entry[0], word, &a);
        prepare(v->ideal, ideal, entry[1], word, &b);
        if (!same_on(arch, &a, &b, &r)) return HANDLER_OTHER;
    }
    return HANDLER_SAME;
}

audit_same handlers_compare(const view *v, size_t kernel, size_t ideal, cube c)
{
    char why[200];
    const xs_oracle_arch *arch = xs_oracle_arch_find(xs_table_arch(v->table, v->target.arch));
    xs_simulator *a = NULL, *b = NULL;
    audit_same same = HANDLER_UNKNOWN;
    if (arch && xs_simulator_new(v->decoder, arch->sim, &a, why, sizeof why) == XS_OK &&
        xs_simulator_new(v->ideal, arch->sim, &b, why, sizeof why) == XS_OK)
        same = compare_words(v, a, b, (const size_t[]){kernel, ideal}, c);
    xs_simulator_free(a);
    xs_simulator_free(b);
    return same;
}
