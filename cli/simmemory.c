/* Memory of which only the given bytes exist: an access that needs another one is refused. */
#include "sim.h"

#include <string.h>

void sim_memory_init(sim_memory *m, const sim_machine *machine)
{
    m->mask = machine->xlen == 32 ? UINT32_MAX : UINT64_MAX;
    m->pieces = m->writes = 0;
}

/* Half as many bytes as digits, in the same place. */
static bool bytes_from_hex(char *hex, size_t digits)
{
    for (size_t i = 0; i < digits / 2; i++) {
        int high = sim_hex_digit(hex[2 * i]), low = sim_hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        hex[i] = (char)(high << 4 | low);
    }
    return digits % 2 == 0;
}

bool sim_memory_add(sim_memory *m, uint64_t addr, char *hex, sim_why *why)
{
    size_t digits = strlen(hex);
    if (addr & ~m->mask) return sim_refuse(why, "memory address is wider than 32 bits");
    if (m->pieces == SIM_PIECES) return sim_refuse(why, "more than %d pieces of memory", SIM_PIECES);
    if (digits == 0 || !bytes_from_hex(hex, digits))
        return sim_refuse(why, "memory: not pairs of hexadecimal digits");
    m->piece[m->pieces++] = (sim_piece){addr, digits / 2, (uint8_t *)hex};
    return true;
}

/* Where a byte is; of pieces that overlap, in the last. NULL: nowhere. */
static uint8_t *byte_at(const sim_memory *m, uint64_t addr)
{
    for (size_t i = m->pieces; i-- > 0;) {
        uint64_t offset = (addr - m->piece[i].addr) & m->mask;
        if (offset < m->piece[i].size) return m->piece[i].bytes + offset;
    }
    return NULL;
}

static bool load(void *context, uint64_t addr, void *bytes, size_t size)
{
    const sim_memory *m = context;
    uint8_t copy[SIM_ACCESS];
    for (size_t i = 0; i < size; i++) {
        const uint8_t *at = byte_at(m, addr + i);
        if (!at) return false;
        copy[i] = *at;
    }
    memcpy(bytes, copy, size);
    return true;
}

static bool store(void *context, uint64_t addr, const void *bytes, size_t size)
{
    sim_memory *m = context;
    sim_write *w = &m->write[m->writes];
    if (m->writes == SIM_WRITES || !load(m, addr, w->before, size)) return false;
    m->writes++;
    w->addr = addr & m->mask;
    w->size = size;
    memcpy(w->after, bytes, size);
    for (size_t i = 0; i < size; i++)
        *byte_at(m, addr + i) = w->after[i];
    return true;
}

xs_bus sim_memory_bus(sim_memory *m)
{
    return (xs_bus){.load = load, .store = store, .context = m};
}
