/* What LLVM's instruction descriptions say of a word: a witness that knows nothing of our tables. */
#ifndef XOLSIM_WITNESS_LLVM_H
#define XOLSIM_WITNESS_LLVM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LLVM_KNOWN = 1,  /* it is an instruction */
    LLVM_BRANCH = 2, /* sets the pc: branch, call, return, or described as changing the flow */
    LLVM_PCREL = 4,  /* has an operand that is relative to the pc */
    LLVM_RETURN = 8  /* described as a return: exception returns too */
};

typedef struct llvm_said {
    unsigned flags;
    const char *name; /* LLVM's own, of the opcode; NULL: none */
} llvm_said;

/* "20.1.2" */
const char *llvm_version(void);

/* The architecture ("arm64", "riscv64", "riscv32") with every standard extension. zc: RISC-V's Zcmp and Zcmt,
 * which take the place of the compressed stores of D. 0: this LLVM does not have it. */
int llvm_open(const char *arch, int zc);

/* A word of 2 or 4 bytes. */
llvm_said llvm_say(uint32_t word, unsigned size);

#ifdef __cplusplus
}
#endif
#endif
