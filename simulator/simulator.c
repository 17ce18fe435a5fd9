/* From a decoder's entries to handlers, and from a decoded instruction to a prepared site. */
#include "simulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct xs_simulator {
    const xs_decoder *decoder;
    int8_t slot[XS_MAX_OPERANDS]; /* table's operand number -> the architecture's, or -1 */
    const xs_sim_arch *arch;
    const xs_handler *handlers[]; /* by entry; NULL: not simulated */
};

static const char *const statuses[XS_SIM_COUNT] = {
    "ok", "load-fault", "store-fault", "sp-alignment", "gcs", "bti", "pc-alignment", "stuck", "no-handler"};

const char *xs_sim_status_name(xs_sim_status status)
{
    return (unsigned)status < XS_SIM_COUNT ? statuses[status] : "?";
}

static int find(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

uint32_t xs_quirk_bit(const xs_sim_arch *arch, const char *name)
{
    int i = find(arch->quirks, name);
    return i < 0 ? 0 : UINT32_C(1) << i;
}

static const xs_handler *find_handler(const xs_sim_arch *arch, const char *name)
{
    for (const xs_handler *h = arch->handlers; h->name; h++)
        if (strcmp(h->name, name) == 0) return h;
    return NULL;
}

/* The architecture's operands that a rule draws. */
static uint32_t drawn(const xs_simulator *s, const xs_rule *rule)
{
    const xs_piece *pieces = xs_table_pieces(xs_decoder_table(s->decoder), rule);
    uint32_t set = 0;
    for (size_t i = 0; i < rule->piece_count; i++)
        if (s->slot[pieces[i].operand] >= 0) set |= UINT32_C(1) << s->slot[pieces[i].operand];
    return set;
}

static bool bind_entry(xs_simulator *s, const xs_sim_arch *arch, size_t i, const xs_entry *e, char *why,
                       size_t size)
{
    if (e->decision->cls != XS_SIMULATE) return true;
    const xs_handler *h = find_handler(arch, e->decision->handler);
    uint32_t missing = h ? h->needs & ~drawn(s, e->rule) : 0;
    if (!h)
        snprintf(why, size, "line %u: '%s' has no function '%s'", e->decision->line, e->rule->name,
                 e->decision->handler);
    else if (missing)
        snprintf(why, size, "line %u: '%s' does not draw operand '%s', which %s reads", e->rule->line,
                 e->rule->name, arch->operands[__builtin_ctz(missing)], h->name);
    else
        s->handlers[i] = h;
    return h && !missing;
}

xs_status xs_simulator_new(const xs_decoder *decoder, const xs_sim_arch *arch, xs_simulator **out, char *why,
                           size_t size)
{
    size_t count, operands;
    const xs_entry *entries = xs_decoder_entries(decoder, &count);
    const xs_operand *known = xs_table_operands(xs_decoder_table(decoder), &operands);
    *out = NULL;
    if (size) *why = '\0';
    xs_simulator *s = calloc(1, sizeof *s + count * sizeof *s->handlers);
    if (!s) return XS_E_NOMEM;
    s->decoder = decoder;
    s->arch = arch;
    for (size_t i = 0; i < operands; i++)
        s->slot[i] = (int8_t)find(arch->operands, known[i].name);
    for (size_t i = 0; i < count; i++)
        if (!bind_entry(s, arch, i, &entries[i], why, size)) {
            free(s);
            return XS_E_SYNTAX;
        }
    *out = s;
    return XS_OK;
}

void xs_simulator_free(xs_simulator *simulator)
{
    free(simulator);
}

void xs_site_prepare(const xs_simulator *s, const xs_insn *insn, xs_prepared *site)
{
    size_t count;
    const xs_entry *entries = xs_decoder_entries(s->decoder, &count);
    const xs_piece *pieces = xs_table_pieces(xs_decoder_table(s->decoder), insn->entry->rule);
    memset(site, 0, sizeof *site);
    const xs_handler *h = s->handlers[insn->entry - entries];
    if (!h) return;
    site->run = h->run;
    site->before = h->lands ? NULL : s->arch->before;
    site->gate = s->arch->gate;
    for (size_t i = 0; i < insn->entry->rule->piece_count; i++) {
        int slot = s->slot[pieces[i].operand];
        if (slot >= 0) site->op[slot] = insn->op[pieces[i].operand];
    }
}

/* ---- the bus --------------------------------------------------------------------------------- */

static uint64_t little_endian(uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(value);
#else
    return value;
#endif
}

xs_sim_status xs_bus_load(const xs_env *env, uint64_t addr, uint64_t *value, uint32_t size)
{
    uint64_t bytes = 0;
    if (!env->bus->load(env->bus->context, addr, &bytes, size)) {
        *env->fault = (xs_fault){addr, size};
        return XS_SIM_LOAD_FAULT;
    }
    *value = little_endian(bytes);
    return XS_SIM_OK;
}

static xs_sim_status store(const xs_env *env, uint64_t addr, const void *bytes, uint32_t size)
{
    if (env->bus->store(env->bus->context, addr, bytes, size)) return XS_SIM_OK;
    *env->fault = (xs_fault){addr, size};
    return XS_SIM_STORE_FAULT;
}

xs_sim_status xs_bus_store(const xs_env *env, uint64_t addr, uint64_t value, uint32_t size)
{
    value = little_endian(value);
    return store(env, addr, &value, size);
}

xs_sim_status xs_bus_store_pair(const xs_env *env, uint64_t addr, uint64_t first, uint64_t second)
{
    const uint64_t pair[2] = {little_endian(first), little_endian(second)};
    return store(env, addr, pair, sizeof pair);
}

/* Whole aligned doublewords one at a time, then the rest, which is mostly nothing or a word. */
static void copy(void *to, const void *from, size_t size, bool atomic_from)
{
    bool aligned = ((uintptr_t)(atomic_from ? from : to) & 7) == 0;
    for (; aligned && size >= 8; size -= 8, to = (char *)to + 8, from = (const char *)from + 8) {
        uint64_t v;
        if (atomic_from)
            v = __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED);
        else
            memcpy(&v, from, 8);
        if (atomic_from)
            memcpy(to, &v, 8);
        else
            __atomic_store_n((uint64_t *)to, v, __ATOMIC_RELAXED);
    }
    if (size == 4)
        memcpy(to, from, 4);
    else if (size != 0)
        memcpy(to, from, size);
}

static uint8_t *plain_at(const xs_plain_memory *m, uint64_t addr, size_t size)
{
    uint64_t offset = addr - m->addr;
    return offset <= m->size && size <= m->size - offset ? m->bytes + offset : NULL;
}

static bool plain_load(void *context, uint64_t addr, void *bytes, size_t size)
{
    const uint8_t *at = plain_at(context, addr, size);
    if (at) copy(bytes, at, size, true);
    return at != NULL;
}

static bool plain_store(void *context, uint64_t addr, const void *bytes, size_t size)
{
    const xs_plain_memory *m = context;
    uint8_t *at = m->read_only ? NULL : plain_at(m, addr, size);
    if (at) copy(at, bytes, size, false);
    return at != NULL;
}

xs_bus xs_plain_bus(xs_plain_memory *memory)
{
    bool is_window =
        !memory->read_only && memory->size >= 16 && ((uintptr_t)memory->bytes - memory->addr) % 8 == 0;
    return (xs_bus){.load = plain_load,
                    .store = plain_store,
                    .context = memory,
                    .window = is_window ? memory->bytes : NULL,
                    .window_addr = memory->addr,
                    .window_size = memory->size};
}
