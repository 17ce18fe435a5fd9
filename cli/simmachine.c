/* A decoder with the handlers of its architecture. */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool sim_refuse(sim_why *why, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return false;
}

const unsigned char sim_hex_plus_1[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static bool from_hex(const char *c, uint64_t *out)
{
    for (; *c; c++) {
        int d = sim_hex_digit(*c);
        if (d < 0 || *out >> 60) return false;
        *out = *out << 4 | (uint64_t)d;
    }
    return true;
}

static bool from_decimal(const char *c, uint64_t *out)
{
    for (; *c; c++) {
        uint64_t d = (uint64_t)*c - '0';
        if (d > 9 || *out > (UINT64_MAX - d) / 10) return false;
        *out = *out * 10 + d;
    }
    return true;
}

bool sim_number(const char *text, uint64_t *out)
{
    bool hex = text[0] == '0' && (text[1] | 32) == 'x';
    *out = 0;
    if (!text[hex ? 2 : 0]) return false;
    return hex ? from_hex(text + 2, out) : from_decimal(text, out);
}

bool sim_machine_open(sim_machine *m, const xs_decoder *decoder, sim_why *why)
{
    const xs_table *table = xs_decoder_table(decoder);
    const xs_target *target = xs_decoder_target(decoder);
    const char *arch = xs_table_arch(table, target->arch);
    *m = (sim_machine){.decoder = decoder, .is_arm = strcmp(arch, "arm64") == 0, .xlen = 64};
    m->in_kernel = strcmp(xs_table_mode(table, target->mode), "kprobe") == 0;
    if (strncmp(arch, "riscv", 5) == 0) {
        m->xlen = strcmp(arch, "riscv32") == 0 ? 32 : 64;
        m->no_compressed = !(target->ext & xs_table_ext_bit(table, "c"));
    } else if (!m->is_arm) {
        return sim_refuse(why, "there is no simulator for %s", arch);
    }
    m->arch = m->is_arm ? &xs_arm64_arch : &xs_riscv_arch;
    xs_status status = xs_simulator_new(decoder, m->arch, &m->simulator, why->text, sizeof why->text);
    if (status == XS_OK) return true;
    return status == XS_E_SYNTAX ? false : sim_refuse(why, "%s", xs_status_text(status));
}

void sim_machine_close(sim_machine *m)
{
    xs_simulator_free(m->simulator);
    *m = (sim_machine){0};
}

xs_insn sim_decode(const sim_machine *m, uint32_t word)
{
    xs_insn insn;
    const uint8_t bytes[] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                             (uint8_t)(word >> 24)};
    xs_decode(m->decoder, bytes, sizeof bytes, &insn); /* four bytes are always enough */
    return insn;
}

/* Quirks by the simulator's numbers, from the table's. Those that no handler can act out (an unchecked
 * access to memory) have none. */
static uint32_t kernel_quirks(const sim_machine *m, const xs_insn *insn)
{
    size_t count;
    const xs_quirk *known = xs_table_quirks(xs_decoder_table(m->decoder), &count);
    uint32_t has = xs_quirks(m->decoder, insn), quirks = 0;
    for (size_t i = 0; i < count; i++)
        if (has >> i & 1) quirks |= xs_quirk_bit(m->arch, known[i].name);
    return quirks;
}

bool sim_quirk(const sim_machine *m, const xs_insn *insn, const char *name, uint32_t *quirks, sim_why *why)
{
    bool kernel = strcmp(name, "kernel") == 0;
    uint32_t bits = kernel ? kernel_quirks(m, insn) : xs_quirk_bit(m->arch, name);
    *quirks |= bits;
    if (bits || kernel) return true;
    sim_refuse(why, "unknown quirk '%.40s': kernel", name);
    for (size_t i = 0; m->arch->quirks[i]; i++) {
        size_t at = strlen(why->text);
        snprintf(why->text + at, sizeof why->text - at, ", %s", m->arch->quirks[i]);
    }
    return false;
}
