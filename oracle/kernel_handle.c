/* A kernel's simulate_* functions: called with the saved registers of a task, as a probe's handler calls
 * them.
 *
 * void (arm64) or bool (RISC-V) simulate_x(u32 word, unsigned long address, struct pt_regs *regs); the first
 * members of pt_regs are ABI: arm64 x0..x30, sp, pc, pstate; RISC-V epc, x1..x31. */
#include <string.h>

#include "kernel_handle.h"
#include "kernel_internal.h"

enum { REGS_AT = 0x4000, REGS_SIZE = 0x800, LITERALS_AT = 0x1400000 };

/* Place of a register in pt_regs, in units of 8 bytes. */
static unsigned slot_of(const xs_oracle_arch *arch, unsigned reg)
{
    bool arm = arch->flags >= 0;
    if (reg == arch->pc) return arm ? 32 : 0;
    if ((int)reg == arch->flags) return 33;
    return arm ? reg : reg + 1;
}

uint64_t xs_kernel_site(uint64_t random)
{
    return KERNEL_DATA + LITERALS_AT + 0x200000 + random % 0x10000 * 4;
}

uint8_t *xs_kernel_literal(const xs_kernel *k, uint64_t addr, size_t size)
{
    uint64_t at = addr - (KERNEL_DATA + LITERALS_AT);
    if (at >= KERNEL_DATA_SIZE - LITERALS_AT || size > KERNEL_DATA_SIZE - LITERALS_AT - at) return NULL;
    return k->room + (addr - KERNEL_ROOM);
}

bool xs_kernel_handle(xs_kernel *k, const xs_oracle_arch *arch, uint64_t handler, uint32_t word,
                      const xs_any_cpu *start, xs_any_cpu *end)
{
    uint64_t result, first = word;
    uint8_t *regs = k->room + REGS_AT;
    uint64_t pc = xs_reg_get(arch, start, arch->pc);
    memset(regs, 0, REGS_SIZE);
    for (unsigned i = 0; i < arch->count; i++)
        kernel_put(regs + 8 * slot_of(arch, i), xs_reg_get(arch, start, i), 8);
    *end = *start;
    if (k->image->arch == XS_IMAGE_RISCV64)
        first = (uint64_t)(int64_t)(int32_t)word; /* its psABI: also when unsigned */
    if (!xs_kernel_call(k, handler, (uint64_t[XS_KERNEL_ARGS]){first, pc, KERNEL_ROOM + REGS_AT}, &result))
        return false;
    for (unsigned i = 0; i < arch->count; i++)
        xs_reg_set(arch, end, i, kernel_address_at(regs + 8 * slot_of(arch, i)));
    return true;
}
