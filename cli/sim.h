/* What `simulate` is made of: a target's handlers, a state whose registers have names, and memory of
 * which only the given bytes exist. Nothing here prints. */
#ifndef XOLSIM_SIM_H
#define XOLSIM_SIM_H

#include "arm64/cpu.h"
#include "riscv/cpu.h"
#include "simulator.h"

/* Why something was refused: one sentence for the user. */
typedef struct sim_why {
    char text[256];
} sim_why;
bool sim_refuse(sim_why *why, const char *format, ...) __attribute__((format(printf, 2, 3))); /* false */

/* The value of a hexadecimal digit; -1: it is none. A look-up, because the digits of a batch are random and
 * there are hundreds in a line. */
extern const unsigned char sim_hex_plus_1[256];
static inline int sim_hex_digit(char c)
{
    return sim_hex_plus_1[(unsigned char)c] - 1;
}

/* "0x..." or decimal, up to 64 bits. */
bool sim_number(const char *text, uint64_t *out);

/* ---- simmachine.c: a decoder with its handlers ----------------------------------------------- */

typedef struct sim_machine {
    const xs_decoder *decoder; /* not owned */
    const xs_sim_arch *arch;
    xs_simulator *simulator;
    bool is_arm, no_compressed;
    bool in_kernel; /* kprobes: the probed code runs in kernel mode */
    uint8_t xlen;
} sim_machine;

bool sim_machine_open(sim_machine *m, const xs_decoder *decoder, sim_why *why);
void sim_machine_close(sim_machine *m);

/* The instruction that begins with the word's lowest bits; of a compressed one the upper half belongs
 * to its neighbour and is not looked at, as in kernels. */
xs_insn sim_decode(const sim_machine *m, uint32_t word);

/* Add a quirk by name to *quirks; "kernel": all that the target's kernel has on this word. */
bool sim_quirk(const sim_machine *m, const xs_insn *insn, const char *name, uint32_t *quirks, sim_why *why);

/* ---- simstate.c: registers by name ----------------------------------------------------------- */

typedef struct sim_state {
    const sim_machine *machine;
    union {
        xs_arm64_cpu arm64;
        xs_riscv_cpu riscv;
    } cpu;
    uint64_t given; /* registers that were set, a bit each */
} sim_state;

void sim_state_init(sim_state *s, const sim_machine *m); /* all zero */

/* Set a register: x0..x30, fp, lr, sp, pc, nzcv, gcspr (which turns the guarded control stack on, of user
 * mode alone), btype, guarded, sp_check; RISC-V: x0..x31, the ABI names, pc. Each only once. nzcv is a number
 * with the flags in bits 31..28, or below 16 the four flags alone, or letters: capital is set ("NzCv", "C").
 */
bool sim_state_set(sim_state *s, const char *name, const char *value, sim_why *why);

/* The registers a report is about: general ones, sp, nzcv, gcspr; not pc and btype. */
size_t sim_register_count(const sim_machine *m);
void sim_register_name(const sim_machine *m, size_t i, char name[8]);
uint64_t sim_register(const sim_state *s, size_t i);
uint64_t sim_pc(const sim_state *s);
unsigned sim_btype(const sim_state *s); /* RISC-V: 0 */
unsigned sim_ss(const sim_state *s);    /* RISC-V: 0 */

/* ---- simmemory.c: only the given bytes exist -------------------------------------------------- */

enum { SIM_PIECES = 256, SIM_WRITES = 4, SIM_ACCESS = 16 };

typedef struct sim_piece {
    uint64_t addr, size;
    uint8_t *bytes;
} sim_piece;

/* What a store replaced, and by what. */
typedef struct sim_write {
    uint64_t addr;
    size_t size;
    uint8_t before[SIM_ACCESS], after[SIM_ACCESS];
} sim_write;

typedef struct sim_memory {
    uint64_t mask; /* of addresses: where they wrap */
    sim_piece piece[SIM_PIECES];
    size_t pieces;
    sim_write write[SIM_WRITES];
    size_t writes;
} sim_memory;

void sim_memory_init(sim_memory *m, const sim_machine *machine);

/* Memory from addr on. hex is overwritten by its bytes and must stay where it is. */
bool sim_memory_add(sim_memory *m, uint64_t addr, char *hex, sim_why *why);
xs_bus sim_memory_bus(sim_memory *m);

#endif
