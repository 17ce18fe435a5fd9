/* RISC-V: the state that probes change, and the names that bind the table to its handlers. */
#ifndef XOLSIM_RISCV_CPU_H
#define XOLSIM_RISCV_CPU_H

#include "simulator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The registers of a task at a probe. */
typedef struct xs_riscv_cpu {
    uint64_t x[32];     /* x[0] is not looked at; RV32: kept sign-extended */
    uint64_t pc;        /* RV32: kept zero-extended */
    uint8_t xlen;       /* 32 or 64 */
    bool no_compressed; /* without the C extension a jump to an address that is no multiple of 4 traps */
} xs_riscv_cpu;

extern const xs_sim_arch xs_riscv_arch;

#ifdef __cplusplus
}
#endif
#endif
