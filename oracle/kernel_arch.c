/* The kernel oracle's architectures: registers, and the machine code that is put beside the kernel. */
#include "kernel_internal.h"

/* For word = first..last: call function(word or its address, structure), and where its answer is another one
 * than that for the word before, write a record of 16 bytes: word, answer, handler (0 unless it is
 * simulated). Ends at the last word with structure = 0, or when there is no room for another record with the
 * next word at hand. Stores are what costs most (kernel_internal.h), so there is none for most words. */
static const uint32_t arm64_loop[] = {
    0xd503201f, /* loop: by_value or by_address */
    0xd503201f, /*       likewise */
    0xaa1603e1, /*       mov  x1, x22 */
    0xd63f02a0, /*       blr  x21 */
    0x7100041f, /*       cmp  w0, #1 */
    0x54000081, /*       b.ne none */
    0xf94002e1, /*       ldr  x1, [x23] */
    0xf90002ff, /*       str  xzr, [x23] */
    0x14000002, /*       b    compare */
    0xd2800001, /* none: mov  x1, #0 */
    0x6b1a001f, /* compare: cmp w0, w26 */
    0xfa5b0020, /*       ccmp x1, x27, #0, eq */
    0x540000c0, /*       b.eq next */
    0x2a0003fa, /*       mov  w26, w0 */
    0xaa0103fb, /*       mov  x27, x1 */
    0x29000313, /*       stp  w19, w0, [x24] */
    0xf9000701, /*       str  x1, [x24, #8] */
    0x91004318, /*       add  x24, x24, #16 */
    0x6b14027f, /* next: cmp  w19, w20 */
    0x540000a0, /*       b.eq done */
    0x11000673, /*       add  w19, w19, #1 */
    0xeb19031f, /*       cmp  x24, x25 */
    0x54fffd41, /*       b.ne loop */
    0xd61f03a0, /*       br   x29 */
    0xd2800016, /* done: mov  x22, #0 */
    0xd61f03a0, /*       br   x29 */
};
static const uint32_t arm64_by_value[] = {
    0xd51bd053, /* msr tpidr_el0, x19: far cheaper than a store */
    0x2a1303e0, /* mov w0, w19 */
};
static const uint32_t arm64_by_address[] = {
    0xb9000393, /* str w19, [x28] */
    0xaa1c03e0, /* mov x0, x28 */
};

static const uint32_t arm64_jump[] = {
    0x58000050, /* ldr x16, .+8 */
    0xd61f0200, /* br  x16 */
};

static const uint32_t arm64_answer[] = {
    0x58000280, /* ldr x0, KERNEL_VALUES + 16 */
    0xb40000e0, /* cbz x0, end */
    0x580001c3, /* ldr x3, KERNEL_VALUES */
    0x580001e4, /* ldr x4, KERNEL_VALUES + 8 */
    0xb4000041, /* cbz x1, .+8 */
    0xf9000023, /* str x3, [x1] */
    0xb4000042, /* cbz x2, .+8 */
    0xf9000044, /* str x4, [x2] */
    0xd65f03c0, /* end: ret */
};

static const uint32_t riscv_loop[] = {
    0x00000013, /* loop:    by_value or by_address */
    0x00000013, /*          likewise */
    0x000a0593, /*          mv    a1, s4 */
    0x000980e7, /*          jalr  ra, 0(s3) */
    0x00100613, /*          li    a2, 1 */
    0x00000593, /*          li    a1, 0 */
    0x00c51663, /*          bne   a0, a2, compare */
    0x000ab583, /*          ld    a1, 0(s5) */
    0x000ab023, /*          sd    zero, 0(s5) */
    0x01851463, /* compare: bne   a0, s8, changed */
    0x01958e63, /*          beq   a1, s9, next */
    0x00050c13, /* changed: mv    s8, a0 */
    0x00058c93, /*          mv    s9, a1 */
    0x009b2023, /*          sw    s1, 0(s6) */
    0x00ab2223, /*          sw    a0, 4(s6) */
    0x00bb3423, /*          sd    a1, 8(s6) */
    0x010b0b13, /*          addi  s6, s6, 16 */
    0x01248863, /* next:    beq   s1, s2, done */
    0x0014849b, /*          addiw s1, s1, 1 */
    0xfb7b1ae3, /*          bne   s6, s7, loop */
    0x00040067, /*          jr    s0 */
    0x00000a13, /* done:    li    s4, 0 */
    0x00040067, /*          jr    s0 */
};
static const uint32_t riscv_by_address[] = {
    0x009d2023, /* sw s1, 0(s10) */
    0x000d0513, /* mv a0, s10 */
};

/* Per-cpu variables are at their link addresses: offset 0. The current task is in sp_el0. */
static bool arm64_begin(xs_kernel *k)
{
    return kernel_set(k, UC_ARM64_REG_SP_EL0, KERNEL_TASK) && kernel_set(k, UC_ARM64_REG_TPIDR_EL1, 0) &&
           kernel_set(k, UC_ARM64_REG_X18, KERNEL_SHADOW);
}

/* gp is the global pointer, or the shadow call stack's where there is one (then nothing is relative to gp).
 * Looked up once: there are 200,000 symbols. */
static bool riscv_begin(xs_kernel *k)
{
    if (!k->gp && !xs_kernel_image_find(k->image, "scs_alloc"))
        k->gp = xs_kernel_image_find(k->image, "__global_pointer$");
    if (!k->gp) k->gp = KERNEL_SHADOW;
    return kernel_set(k, UC_RISCV_REG_TP, KERNEL_TASK) && kernel_set(k, UC_RISCV_REG_GP, k->gp);
}

const kernel_arch kernel_arm64 = {
    .name = "arm64",
    .uc = UC_ARCH_ARM64,
    .mode = UC_MODE_ARM,
    .model = UC_CPU_ARM64_MAX,
    .pc = UC_ARM64_REG_PC,
    .sp = UC_ARM64_REG_SP,
    .link = UC_ARM64_REG_X30,
    .args = {UC_ARM64_REG_X0, UC_ARM64_REG_X1, UC_ARM64_REG_X2, UC_ARM64_REG_X3},
    .undefined = 1,
    .breakpoint = 7,
    .begin = arm64_begin,
    .loop = {.code = arm64_loop,
             .said = UC_ARM64_REG_TPIDR_EL0,
             .words = sizeof arm64_loop / sizeof *arm64_loop,
             .by_value = arm64_by_value,
             .by_address = arm64_by_address,
             .word = UC_ARM64_REG_X19,
             .last = UC_ARM64_REG_X20,
             .function = UC_ARM64_REG_X21,
             .structure = UC_ARM64_REG_X22,
             .field = UC_ARM64_REG_X23,
             .store = UC_ARM64_REG_X28,
             .out = UC_ARM64_REG_X24,
             .out_end = UC_ARM64_REG_X25,
             .cls = UC_ARM64_REG_X26,
             .handler = UC_ARM64_REG_X27,
             .stop = UC_ARM64_REG_X29},
    .jump = arm64_jump,
    .answer = arm64_answer,
    .jump_words = sizeof arm64_jump / sizeof *arm64_jump,
    .answer_words = sizeof arm64_answer / sizeof *arm64_answer,
};

const kernel_arch kernel_riscv64 = {
    .name = "riscv64",
    .uc = UC_ARCH_RISCV,
    .mode = UC_MODE_RISCV64,
    .model = -1,
    .pc = UC_RISCV_REG_PC,
    .sp = UC_RISCV_REG_SP,
    .link = UC_RISCV_REG_RA,
    .args = {UC_RISCV_REG_A0, UC_RISCV_REG_A1, UC_RISCV_REG_A2, UC_RISCV_REG_A3},
    .undefined = 2,
    .breakpoint = 3,
    .begin = riscv_begin,
    .loop = {.code = riscv_loop,
             .said = -1,
             .words = sizeof riscv_loop / sizeof *riscv_loop,
             .by_value = NULL,
             .by_address = riscv_by_address,
             .word = UC_RISCV_REG_S1,
             .last = UC_RISCV_REG_S2,
             .function = UC_RISCV_REG_S3,
             .structure = UC_RISCV_REG_S4,
             .field = UC_RISCV_REG_S5,
             .store = UC_RISCV_REG_S10,
             .out = UC_RISCV_REG_S6,
             .out_end = UC_RISCV_REG_S7,
             .cls = UC_RISCV_REG_S8,
             .handler = UC_RISCV_REG_S9,
             .stop = UC_RISCV_REG_S0},
};
