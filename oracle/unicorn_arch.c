/* The architectures as Unicorn numbers them. */
#include <stddef.h>
#include <string.h>

#include "unicorn.h"

/* clang-format off */
#define X(n) {"x" #n, offsetof(xs_arm64_cpu, x) + 8 * n, 8, UC_ARM64_REG_X0 + n}
static const xs_reg arm64_regs[] = {
    X(0), X(1), X(2), X(3), X(4),
    X(5), X(6), X(7), X(8), X(9),
    X(10), X(11), X(12), X(13), X(14),
    X(15), X(16), X(17), X(18), X(19),
    X(20), X(21), X(22), X(23), X(24),
    X(25), X(26), X(27), X(28),
    {"x29", offsetof(xs_arm64_cpu, x) + 8 * 29, 8, UC_ARM64_REG_X29},
    {"x30", offsetof(xs_arm64_cpu, x) + 8 * 30, 8, UC_ARM64_REG_X30},
    {"sp", offsetof(xs_arm64_cpu, sp), 8, UC_ARM64_REG_SP},
    {"nzcv", offsetof(xs_arm64_cpu, nzcv), 4, UC_ARM64_REG_NZCV},
    {"pc", offsetof(xs_arm64_cpu, pc), 8, UC_ARM64_REG_PC},
};
#undef X
/* clang-format on */

enum { ARM64_SP = 31, ARM64_NZCV = 32, ARM64_PC = 33, RISCV_SP = 1, RISCV_PC = 31 };

/* clang-format off */
#define Q(n) UC_ARM64_REG_Q0 + n
static const int arm64_more[] = {
    Q(0), Q(1), Q(2), Q(3), Q(4), Q(5), Q(6), Q(7),
    Q(8), Q(9), Q(10), Q(11), Q(12), Q(13), Q(14), Q(15),
    Q(16), Q(17), Q(18), Q(19), Q(20), Q(21), Q(22), Q(23),
    Q(24), Q(25), Q(26), Q(27), Q(28), Q(29), Q(30), Q(31),
    UC_ARM64_REG_FPCR, UC_ARM64_REG_FPSR, -1};
#undef Q
/* clang-format on */

/* The FP registers are off at reset: CPACR_EL1.FPEN. */
static bool arm64_open(uc_engine *uc)
{
    uint64_t value = 3u << 20;
    return uc_reg_write(uc, UC_ARM64_REG_CPACR_EL1, &value) == UC_ERR_OK;
}

static void arm64_reset(xs_any_cpu *cpu)
{
    memset(cpu, 0, sizeof *cpu);
}

/* Unicorn does not tell PSTATE.BTYPE. */
static void arm64_settle(xs_any_cpu *cpu)
{
    cpu->arm64.btype = 0;
}

static int arm64_reg_of(int64_t number)
{
    return number >= 0 && number <= ARM64_SP ? (int)number : -1;
}

/* clang-format off */
#define X(n) {"x" #n, offsetof(xs_riscv_cpu, x) + 8 * n, 8, UC_RISCV_REG_X0 + n}
static const xs_reg riscv_regs[] = {
    X(1), X(2), X(3), X(4), X(5),
    X(6), X(7), X(8), X(9), X(10),
    X(11), X(12), X(13), X(14), X(15),
    X(16), X(17), X(18), X(19), X(20),
    X(21), X(22), X(23), X(24), X(25),
    X(26), X(27), X(28), X(29), X(30),
    X(31),
    {"pc", offsetof(xs_riscv_cpu, pc), 8, UC_RISCV_REG_PC},
};
#undef X
/* clang-format on */

/* clang-format off */
#define F(n) UC_RISCV_REG_F0 + n
static const int riscv_more[] = {
    F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7),
    F(8), F(9), F(10), F(11), F(12), F(13), F(14), F(15),
    F(16), F(17), F(18), F(19), F(20), F(21), F(22), F(23),
    F(24), F(25), F(26), F(27), F(28), F(29), F(30), F(31),
    -1};
#undef F
/* clang-format on */

/* The FP registers are off at reset: mstatus.FS. */
static bool riscv_open(uc_engine *uc)
{
    uint64_t status = 0;
    if (uc_reg_read(uc, UC_RISCV_REG_MSTATUS, &status) != UC_ERR_OK) return false;
    status |= 3u << 13;
    return uc_reg_write(uc, UC_RISCV_REG_MSTATUS, &status) == UC_ERR_OK;
}

static void riscv64_reset(xs_any_cpu *cpu)
{
    memset(cpu, 0, sizeof *cpu);
    cpu->riscv.xlen = 64;
}

static void riscv32_reset(xs_any_cpu *cpu)
{
    memset(cpu, 0, sizeof *cpu);
    cpu->riscv.xlen = 32;
}

static void riscv_settle(xs_any_cpu *cpu)
{
    (void)cpu;
}

static int riscv_reg_of(int64_t number)
{
    return number > 0 && number < 32 ? (int)number - 1 : -1;
}

static const xs_oracle_arch archs[] = {
    {"arm64",
     UC_ARCH_ARM64,
     UC_MODE_ARM,
     UC_CPU_ARM64_MAX,
     1,
     64,
     UINT64_C(0xaaaa08000000),
     UINT64_C(0xffffe4a50000),
     arm64_regs,
     34,
     ARM64_PC,
     ARM64_SP,
     ARM64_NZCV,
     0xf0000000,
     arm64_more,
     16,
     &xs_arm64_arch,
     "state",
     arm64_open,
     arm64_reset,
     arm64_settle,
     arm64_reg_of},
    {"riscv64",
     UC_ARCH_RISCV,
     UC_MODE_RISCV64,
     -1,
     2,
     64,
     UINT64_C(0x2aaa08000000),
     UINT64_C(0x3ffffe4a5000),
     riscv_regs,
     32,
     RISCV_PC,
     RISCV_SP,
     -1,
     0,
     riscv_more,
     8,
     &xs_riscv_arch,
     "x0",
     riscv_open,
     riscv64_reset,
     riscv_settle,
     riscv_reg_of},
    {"riscv32",
     UC_ARCH_RISCV,
     UC_MODE_RISCV32,
     -1,
     2,
     32,
     UINT64_C(0x10000000),
     UINT64_C(0x7f4a5000),
     riscv_regs,
     32,
     RISCV_PC,
     RISCV_SP,
     -1,
     0,
     riscv_more,
     8,
     &xs_riscv_arch,
     "x0",
     riscv_open,
     riscv32_reset,
     riscv_settle,
     riscv_reg_of},
};

const xs_oracle_arch *xs_oracle_arch_find(const char *name)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (strcmp(archs[i].name, name) == 0) return &archs[i];
    return NULL;
}

/* A register is 8 bytes of the state, or (the flags) 4. */
uint64_t xs_reg_get(const xs_oracle_arch *arch, const xs_any_cpu *cpu, unsigned reg)
{
    const char *at = (const char *)cpu + arch->regs[reg].offset;
    uint32_t word;
    uint64_t value;
    if (arch->regs[reg].bytes == 4) {
        memcpy(&word, at, sizeof word);
        return word;
    }
    memcpy(&value, at, sizeof value);
    return value;
}

/* As the state keeps it: 32-bit registers sign-extended, addresses zero-extended, flags only. */
void xs_reg_set(const xs_oracle_arch *arch, xs_any_cpu *cpu, unsigned reg, uint64_t value)
{
    char *at = (char *)cpu + arch->regs[reg].offset;
    if (arch->regs[reg].bytes == 4) {
        uint32_t word = (uint32_t)value & arch->flag_bits;
        memcpy(at, &word, sizeof word);
        return;
    }
    if (arch->width == 32) value = reg == arch->pc ? (uint32_t)value : (uint64_t)(int64_t)(int32_t)value;
    memcpy(at, &value, sizeof value);
}

uint64_t xs_address(const xs_oracle_arch *arch, uint64_t value)
{
    return arch->width == 32 ? (uint32_t)value : value;
}
