/* A kernel's simulate_* functions, on states of ours. */
#ifndef XOLSIM_ORACLE_KERNEL_HANDLE_H
#define XOLSIM_ORACLE_KERNEL_HANDLE_H

#include "kernel_oracle.h"
#include "unicorn.h"

/* Carry out word, at the pc of start, by the function at handler. *end is the state after it: all that
 * arch->regs has. false: it crashed, see xs_kernel_crashed. */
bool xs_kernel_handle(xs_kernel *k, const xs_oracle_arch *arch, uint64_t handler, uint32_t word,
                      const xs_any_cpu *start, xs_any_cpu *end);

/* An address for a site from which a literal load (1 MiB each way) ends in memory; xs_kernel_literal is that
 * memory, NULL when the addresses are others. */
uint64_t xs_kernel_site(uint64_t random);
uint8_t *xs_kernel_literal(const xs_kernel *k, uint64_t addr, size_t size);

#endif
