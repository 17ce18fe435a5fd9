/* What the files of the kernel oracle share. */
#ifndef XOLSIM_ORACLE_KERNEL_INTERNAL_H
#define XOLSIM_ORACLE_KERNEL_INTERNAL_H

#include <setjmp.h>
#include <signal.h>
#include <unicorn/unicorn.h>

#include "kernel_oracle.h"

/* Where our own parts lie: low addresses, at which no kernel is linked.
 *
 * At every store Unicorn 2.0 looks whether there is translated code on that page, and that is ten times
 * dearer where there is some within 4 MiB. So all that is stored to is in the middle of one region, far from
 * its ends. */
enum {
    KERNEL_CODE = 0x100000, /* our machine code, a part for each piece */
    KERNEL_ANSWER = KERNEL_CODE + 0x1000,
    KERNEL_VALUES = KERNEL_ANSWER + 64,
    KERNEL_CODE_SIZE = 0x10000,
    KERNEL_STOP = 0x180000, /* a call that comes here has ended; far from the code, which Unicorn translates
                               anew wherever `until` is near */
    KERNEL_STOP_SIZE = 0x1000,
    KERNEL_DATA = 0x10000000,
    KERNEL_DATA_SIZE = 0x2000000,
    KERNEL_TASK = KERNEL_DATA + 0xa00000,   /* the current task: zero, as are its canary and its flags */
    KERNEL_SHADOW = KERNEL_DATA + 0xb00000, /* the stack grows down from here, the shadow call stack up */
    KERNEL_ROOM = KERNEL_DATA + 0xc00000
};

/* The kernels are little-endian, whatever the host is. */
static inline void kernel_put(uint8_t *at, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t kernel_address_at(const uint8_t *at)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* Registers of the loop, all of which a function has to preserve. */
typedef struct kernel_loop {
    const uint32_t *code;
    size_t words;
    const uint32_t *by_value,
        *by_address; /* its first two words: say the word at hand,
                       and make it the first argument; NULL: there is no such function */
    int said; /* by_value: the register in which the word at hand is said; by_address: at XS_KERNEL_WORD_AT */
    int word, last;                 /* the word at hand, and the last one */
    int function, structure, field; /* called; its second argument; where in that the handler appears */
    int store;                      /* where the word lies in memory */
    int out, out_end;               /* the next record, and where there is no more room */
    int cls, handler;               /* of the word before */
    int stop;                       /* KERNEL_STOP */
} kernel_loop;

/* An architecture: numbers and machine code. */
typedef struct kernel_arch {
    const char *name; /* as the table's %arch */
    uc_arch uc;
    int mode, model;             /* of Unicorn; model -1: its own choice */
    int pc, sp, link;            /* registers */
    int args[XS_KERNEL_ARGS];    /* args[0] is also where results are */
    int undefined, breakpoint;   /* Unicorn's interrupts */
    bool (*begin)(xs_kernel *k); /* what a kernel expects in registers besides */
    kernel_loop loop;
    const uint32_t *jump;   /* a jump to the address behind it; NULL: not made for this architecture */
    const uint32_t *answer; /* writes KERNEL_VALUES[0], [1] to its 2nd and 3rd argument, returns [2] */
    size_t jump_words, answer_words;
} kernel_arch;

extern const kernel_arch kernel_arm64, kernel_riscv64;

/* What must change once in a while: nothing (a single call), or the word at hand. A function may use every
 * other register, also those it restores. */
enum kernel_progress { KERNEL_CALL, KERNEL_SAID, KERNEL_STORED };

struct xs_kernel {
    const xs_kernel_image *image;
    const kernel_arch *arch;
    uc_engine *uc;
    uint8_t *own; /* host memory of code, stop and data, one behind the other */
    uint8_t *code, *room;
    bool exact, dead;
    uint64_t gp;   /* RISC-V; 0: not looked up yet */
    uint64_t last; /* exact: the instruction that ran last */
    int interrupt; /* -1: none */
    const char *fault;
    uint64_t fault_at;
    enum kernel_progress progress;
    uint64_t seen;               /* the word at hand a second ago */
    volatile sig_atomic_t stuck; /* seconds in which it did not change */
    sigjmp_buf abort;
    xs_kernel_crash crash;
};

/* Run from pc until KERNEL_STOP. false: crashed. */
bool kernel_run(xs_kernel *k, uint64_t pc, enum kernel_progress progress);
uint32_t kernel_word(xs_kernel *k); /* at hand, where it crashed */
void kernel_put_words(uint8_t *at, const uint32_t *words, size_t count);
bool kernel_crash(xs_kernel *k, const char *what, uint64_t pc, uint64_t addr); /* false */
/* The registers a call finds set, but for its arguments. */
bool kernel_begin(xs_kernel *k);
bool kernel_set(xs_kernel *k, int reg, uint64_t value);
uint64_t kernel_get(xs_kernel *k, int reg);

/* kernel_decode.c: what a decode function's answer means. false: it is no class. */
bool kernel_verdict(const xs_kernel_decoder *d, uint32_t answer, uint64_t handler,
                    xs_kernel_verdict *verdict);

#endif
