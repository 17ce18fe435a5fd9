/* Capstone's opinion of an instruction: its text, and what kind of control flow it is. The only user
 * of Capstone in the project.
 *
 * Capstone 4 (Debian 12, Ubuntu 24.04) knows AArch64 as of about 2016 and no RISC-V; Capstone 5 (Debian
 * 13) knows both. Where Capstone has no opinion the caller writes its own text: nothing that xolsim
 * decides depends on this file. */
#ifndef XOLSIM_ORACLE_DISASM_H
#define XOLSIM_ORACLE_DISASM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct xs_disasm xs_disasm;

typedef enum xs_disasm_arch { XS_DISASM_ARM64, XS_DISASM_RISCV32, XS_DISASM_RISCV64 } xs_disasm_arch;

/* Text exactly as Capstone prints it, so that versions differ: `bti c` is "hint" "#0x22" in 4. */
typedef struct xs_disasm_text {
    char mnemonic[32];
    char operands[160];
} xs_disasm_text;

/* A bit set, as Capstone gives it: for AArch64 it leaves some out (4: CALL of bl and blr; all: ERET,
 * BRK, HVC, SMC); for RISC-V 5.0.0 leaves most out and 5.0.7 calls every jal and jalr, `ret` too, CALL. */
typedef enum xs_disasm_group {
    XS_DISASM_JUMP = 1 << 0,
    XS_DISASM_CALL = 1 << 1,
    XS_DISASM_RETURN = 1 << 2,
    XS_DISASM_INTERRUPT = 1 << 3, /* takes an exception, or returns from one */
    XS_DISASM_PRIVILEGED = 1 << 4,
    XS_DISASM_BRANCH_RELATIVE = 1 << 5 /* the target is the pc plus a constant */
} xs_disasm_group;

/* NULL when the Capstone at hand does not know the architecture, or when memory is out. RISC-V is
 * opened with its C extension. For one thread at a time; free with xs_disasm_close. */
xs_disasm *xs_disasm_open(xs_disasm_arch arch);
void xs_disasm_close(xs_disasm *disasm); /* NULL is allowed */

/* The text of the instruction `word` of `size` bytes (2 or 4) at address addr. False, and two empty
 * strings, when Capstone has no opinion: disasm is NULL, or it does not know the word, or takes it for
 * an instruction of another size. */
bool xs_disasm_word(xs_disasm *disasm, uint32_t word, unsigned size, uint64_t addr, xs_disasm_text *text);

/* The xs_disasm_group bits of a word; *groups is 0 with false, as above. Slower than the text alone. */
bool xs_disasm_groups(xs_disasm *disasm, uint32_t word, unsigned size, unsigned *groups);

/* The Capstone this was built with and what it knows: "Capstone 4.0.2 (AArch64)"; a static string. */
const char *xs_disasm_version(void);

#endif
