/* Unicorn as an oracle: one instruction at a time, from a state that we choose, in memory that we see.
 *
 * An instruction ends where the next one is about to begin, so a code hook that runs before every
 * instruction sees the state after it. The same word is then given its next state and the pc set back to
 * it, without leaving Unicorn, which has translated it already. */
#ifndef XOLSIM_ORACLE_UNICORN_H
#define XOLSIM_ORACLE_UNICORN_H

#include <setjmp.h>
#include <unicorn/unicorn.h>

#include "arm64/cpu.h"
#include "riscv/cpu.h"
#include "simulator.h"

/* The state of any architecture; the registers are where xs_reg says. */
typedef union xs_any_cpu {
    xs_arm64_cpu arm64;
    xs_riscv_cpu riscv;
} xs_any_cpu;

typedef struct xs_reg {
    const char *name;
    unsigned offset, bytes; /* in the state */
    int id;                 /* Unicorn's number */
} xs_reg;

enum {
    XS_REGS = 34,
    XS_MORE = 34,
    XS_PAGE = 4096,
    XS_DATA = 4 * XS_PAGE,
    XS_SLOT_ROOM = 2 * XS_PAGE,
    XS_WRITES = 40
};

/* What the oracle has to know about an architecture: numbers, and where things are in its state. */
typedef struct xs_oracle_arch {
    const char *name; /* as the table's %arch */
    uc_arch uc;
    int mode, model;
    int undefined;       /* Unicorn's interrupt for an undefined instruction */
    unsigned width;      /* of an address, in bits */
    uint64_t code, data; /* where the regions are: words, and memory that may be written */
    const xs_reg *regs;  /* all that a simulated instruction may read or change */
    unsigned count;      /* of them */
    unsigned pc, sp;     /* their places in regs */
    int flags;           /* likewise, or -1 */
    uint32_t flag_bits;  /* bits of the flags register that exist */
    const int *more;     /* registers that only slot instructions see, ended by -1 */
    unsigned more_bytes; /* of each */
    const xs_sim_arch *sim;
    const char *rest;                /* what in the state is no register that can be compared */
    bool (*open)(uc_engine *uc);     /* enable what is off at reset; false: refused */
    void (*reset)(xs_any_cpu *cpu);  /* everything zero, with the modes that are compared */
    void (*settle)(xs_any_cpu *cpu); /* after a simulation: clear what Unicorn does not tell */
    int (*reg_of)(int64_t number);   /* place of general register `number` as an operand, or -1: zero */
} xs_oracle_arch;

/* By name ("arm64", "riscv64", "riscv32"); NULL when there is none. */
const xs_oracle_arch *xs_oracle_arch_find(const char *name);

uint64_t xs_reg_get(const xs_oracle_arch *arch, const xs_any_cpu *cpu, unsigned reg);
void xs_reg_set(const xs_oracle_arch *arch, xs_any_cpu *cpu, unsigned reg, uint64_t value);
uint64_t xs_address(const xs_oracle_arch *arch, uint64_t value); /* wrapped to the address width */

/* How an instruction ended. */
typedef enum xs_end {
    XS_END_LANDED = 0, /* carried out: pc says where the next one is, whether that can be read or not */
    XS_END_LOAD_FAULT, /* `fault` says where */
    XS_END_STORE_FAULT,
    XS_END_UNSUPPORTED, /* no instruction as far as Unicorn knows */
    XS_END_EXCEPTION    /* any other: a system call, a breakpoint, an alignment check */
} xs_end;
const char *xs_end_name(xs_end end);

typedef struct xs_write {
    uint64_t addr;
    uint32_t size;
    uint8_t before[16];
} xs_write;

/* An engine and its memory. There may be several, but one at a time runs; one per process is the rule. */
typedef struct xs_oracle xs_oracle;

/* Called when the instruction has ended; cpu is the state then, and what it stored is in writes.
 * true: go on with the registers that were set meanwhile, from the same place. */
typedef bool xs_ended_fn(xs_oracle *o, xs_end end, void *arg);

struct xs_oracle {
    const xs_oracle_arch *arch;
    uc_engine *uc;
    uint64_t code_at, code_size; /* address and size of the code region */
    uint8_t *code, *data;        /* the regions' bytes: read and execute only, read and write only */
    uint8_t *slot;               /* XS_SLOT_ROOM bytes at slot_at, likewise code; NULL: not mapped */
    uint64_t slot_at;
    xs_any_cpu cpu; /* registers as last read */
    uint64_t fault; /* address of the access that failed */
    uint32_t fault_size;
    uc_err error;
    unsigned write_count;
    xs_write writes[XS_WRITES]; /* what the instruction stored (or tried to), oldest first */
    bool writes_lost;           /* there were more */
    /* inside */
    int ids[XS_REGS];
    uint64_t at;
    int interrupt; /* -1: none */
    bool before, stopped, faulted, broken, plain;
    xs_ended_fn *ended;
    void *arg;
    sigjmp_buf crash;
    void *host; /* both regions */
    size_t host_size;
};

/* Code is mapped at [code_at, code_at + code_size), which are multiples of a page. plain: for xs_oracle_plain
 * alone, without hooks. NULL: why says what fails. */
xs_oracle *xs_oracle_open(const xs_oracle_arch *arch, uint64_t code_at, uint64_t code_size, bool plain,
                          char *why, size_t size);
void xs_oracle_close(xs_oracle *o); /* NULL is allowed */

/* Host bytes of [addr, addr + size) when all of it is mapped; *writable says in which region. */
uint8_t *xs_oracle_bytes(const xs_oracle *o, uint64_t addr, size_t size, bool *writable);

/* More code, for a slot, XS_SLOT_ROOM bytes at a multiple of a page; false when it cannot be mapped. Two
 * pages: a slot at the end of the first goes on, or is followed by what is fetched next, in the second. */
bool xs_oracle_map_slot(xs_oracle *o, uint64_t addr);

/* Put code there, and make Unicorn see it; false when it is not mapped. */
bool xs_oracle_code(xs_oracle *o, uint64_t addr, const void *bytes, size_t size);

/* All registers in, or some (places in arch->regs); never pc, which is where it runs. */
bool xs_oracle_set(xs_oracle *o, const xs_any_cpu *cpu);
bool xs_oracle_set_some(xs_oracle *o, const xs_any_cpu *cpu, const unsigned *regs, unsigned count);

/* Run the word at `at` until ended says no. false: the engine itself failed. There are words at which Unicorn
 * calls abort(): they end as unsupported (registers as they were before), and a new engine takes over.
 * SIGABRT is caught meanwhile, so only one thread may run an oracle. */
bool xs_oracle_run(xs_oracle *o, uint64_t at, xs_ended_fn *ended, void *arg);

/* The plain pattern, to measure against: write the word, write all registers, run one, read all registers. */
xs_end xs_oracle_plain(xs_oracle *o, uint64_t at, const void *word, size_t size, const xs_any_cpu *cpu);

/* The registers that only slot instructions see, as bytes; more has room for XS_MORE * 16. */
size_t xs_oracle_more(xs_oracle *o, uint8_t *more);
bool xs_oracle_set_more(xs_oracle *o, const uint8_t *more);

#endif
