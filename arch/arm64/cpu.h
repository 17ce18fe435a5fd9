/* AArch64: the state that probes change, and the names that bind the table to its handlers. */
#ifndef XOLSIM_ARM64_CPU_H
#define XOLSIM_ARM64_CPU_H

#include "simulator.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The registers of a task at a probe. */
typedef struct xs_arm64_cpu {
    uint64_t x[31]; /* x0..x30 */
    uint64_t sp, pc;
    uint64_t gcspr; /* GCSPR_EL0, when gcs is on */
    uint32_t nzcv;  /* N, Z, C, V in bits 31..28 */
    uint8_t btype;  /* PSTATE.BTYPE, 0..3 */
    bool ss;        /* PSTATE.SS: a debugger single-steps the task, and the step is still to be done */
    bool gcs;       /* the guarded control stack is on for the task */
    bool sp_check;  /* SCTLR_ELx.SA0: sp must be a multiple of 16 when memory is accessed through it */
    bool guarded;   /* the page of pc has GP set: landing pads are checked */
} xs_arm64_cpu;

extern const xs_sim_arch xs_arm64_arch;

#ifdef __cplusplus
}
#endif
#endif
