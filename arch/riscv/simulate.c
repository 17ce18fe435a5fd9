/* RISC-V: one function for each way of carrying an instruction out. What they do is the unprivileged
 * specification's; where kernels differ there is a quirk. RV32 computes in 64 bits: registers are kept
 * sign-extended and addresses zero-extended, so that only writing them differs. */
#include "cpu.h"

#define OPERANDS(O) O(rd) O(rs1) O(rs2) O(rdc) O(rs1c) O(rs2c) O(imm) O(simm) O(uimm) O(funct3)

/* Kernel bugs that can be asked for; the table says which kernels have them. */
#define QUIRKS(Q)                                                                                            \
    Q(X0_STALLS, "x0-stalls")               /* a write to x0 makes the handler give up (..6.7) */            \
    Q(LINK_FIRST, "link-first")             /* jalr writes rd before it reads rs1 (..6.2) */                 \
    Q(ODD_TARGET, "odd-target")             /* c.jr, c.jalr do not clear bit 0 of the target (6.6..) */      \
    Q(NO_BRANCH_STALLS, "no-branch-stalls") /* funct3 010 and 011 leave the pc where it is (5.15..) */

#include "names.h"

enum { RA = 1, SP = 2, LONG = 4, SHORT = 2 };

static uint64_t reg(const xs_riscv_cpu *cpu, int64_t r)
{
    return r == 0 ? 0 : cpu->x[r];
}

static void set_reg(xs_riscv_cpu *cpu, int64_t r, uint64_t value)
{
    if (r != 0) cpu->x[r] = cpu->xlen == 32 ? (uint64_t)(int64_t)(int32_t)value : value;
}

static uint64_t address(const xs_riscv_cpu *cpu, uint64_t value)
{
    return cpu->xlen == 32 ? (uint32_t)value : value;
}

static xs_sim_status next(xs_riscv_cpu *cpu, unsigned size)
{
    cpu->pc = address(cpu, cpu->pc + size);
    return XS_SIM_OK;
}

/* Jump to target, with the address behind an instruction of size bytes in rd. */
static xs_sim_status jump(xs_riscv_cpu *cpu, const xs_env *env, uint64_t target, int64_t rd, unsigned size)
{
    target = address(cpu, target);
    if (cpu->no_compressed && target % 4) return xs_env_fail(env, XS_SIM_PC, target);
    set_reg(cpu, rd, cpu->pc + size);
    cpu->pc = target;
    return XS_SIM_OK;
}

static xs_sim_status branch_if(xs_riscv_cpu *cpu, const xs_env *env, bool taken, const int64_t *op,
                               unsigned size)
{
    return taken ? jump(cpu, env, cpu->pc + (uint64_t)op[OP_imm], 0, size) : next(cpu, size);
}

static bool stalls(const int64_t *op, const xs_env *env)
{
    return op[OP_rd] == 0 && (env->quirks & X0_STALLS);
}

/* ---- jumps and branches ----------------------------------------------------------------------- */

static xs_sim_status jal(const int64_t *op, void *state, const xs_env *env)
{
    xs_riscv_cpu *cpu = state;
    if (stalls(op, env)) return XS_SIM_STUCK;
    return jump(cpu, env, cpu->pc + (uint64_t)op[OP_imm], op[OP_rd], LONG);
}

static xs_sim_status jalr(const int64_t *op, void *state, const xs_env *env)
{
    xs_riscv_cpu *cpu = state;
    if (stalls(op, env)) return XS_SIM_STUCK;
    bool late = (env->quirks & LINK_FIRST) && op[OP_rs1] == op[OP_rd] && op[OP_rd] != 0;
    uint64_t base = late ? cpu->pc + LONG : reg(cpu, op[OP_rs1]);
    return jump(cpu, env, (base + (uint64_t)op[OP_simm]) & ~UINT64_C(1), op[OP_rd], LONG);
}

static xs_sim_status auipc(const int64_t *op, void *state, const xs_env *env)
{
    xs_riscv_cpu *cpu = state;
    if (stalls(op, env)) return XS_SIM_STUCK;
    set_reg(cpu, op[OP_rd], cpu->pc + (uint64_t)op[OP_simm]);
    return next(cpu, LONG);
}

/* funct3 in the order of the opcode map; 2 and 3 are no branches. */
static bool compare(int64_t funct3, uint64_t a, uint64_t b)
{
    switch (funct3) {
    case 0: return a == b;
    case 1: return a != b;
    case 4: return (int64_t)a < (int64_t)b;
    case 5: return (int64_t)a >= (int64_t)b;
    case 6: return a < b;
    default: return a >= b;
    }
}

static xs_sim_status branch(const int64_t *op, void *state, const xs_env *env)
{
    xs_riscv_cpu *cpu = state;
    if (op[OP_funct3] == 2 || op[OP_funct3] == 3)
        return env->quirks & NO_BRANCH_STALLS ? XS_SIM_STUCK : XS_SIM_NO_HANDLER;
    return branch_if(cpu, env, compare(op[OP_funct3], reg(cpu, op[OP_rs1]), reg(cpu, op[OP_rs2])), op, LONG);
}

static xs_sim_status c_j(const int64_t *op, void *state, const xs_env *env)
{
    return branch_if(state, env, true, op, SHORT);
}

static xs_sim_status c_jal(const int64_t *op, void *state, const xs_env *env)
{
    xs_riscv_cpu *cpu = state;
    return jump(cpu, env, cpu->pc + (uint64_t)op[OP_imm], RA, SHORT);
}

static uint64_t register_target(const xs_riscv_cpu *cpu, const int64_t *op, const xs_env *env)
{
    uint64_t target = reg(cpu, op[OP_rs1]);
    return env->quirks & ODD_TARGET ? target : target & ~UINT64_C(1);
}

static xs_sim_status c_jr(const int64_t *op, void *state, const xs_env *env)
{
    return jump(state, env, register_target(state, op, env), 0, SHORT);
}

static xs_sim_status c_jalr(const int64_t *op, void *state, const xs_env *env)
{
    return jump(state, env, register_target(state, op, env), RA, SHORT);
}

static xs_sim_status c_beqz(const int64_t *op, void *state, const xs_env *env)
{
    xs_riscv_cpu *cpu = state;
    return branch_if(cpu, env, reg(cpu, op[OP_rs1c]) == 0, op, SHORT);
}

static xs_sim_status c_bnez(const int64_t *op, void *state, const xs_env *env)
{
    xs_riscv_cpu *cpu = state;
    return branch_if(cpu, env, reg(cpu, op[OP_rs1c]) != 0, op, SHORT);
}

/* ---- prologues: sums, moves, loads and stores -------------------------------------------------- */

static xs_sim_status set(xs_riscv_cpu *cpu, int64_t rd, uint64_t value, unsigned size)
{
    set_reg(cpu, rd, value);
    return next(cpu, size);
}

static xs_sim_status addi(const int64_t *op, void *state, const xs_env *env)
{
    (void)env;
    return set(state, op[OP_rd], reg(state, op[OP_rs1]) + (uint64_t)op[OP_simm], LONG);
}

/* rd += simm: c.addi, c.addi16sp, c.nop. */
static xs_sim_status c_addi(const int64_t *op, void *state, const xs_env *env)
{
    (void)env;
    return set(state, op[OP_rd], reg(state, op[OP_rd]) + (uint64_t)op[OP_simm], SHORT);
}

static xs_sim_status c_addi4spn(const int64_t *op, void *state, const xs_env *env)
{
    (void)env;
    return set(state, op[OP_rdc], reg(state, SP) + (uint64_t)op[OP_uimm], SHORT);
}

static xs_sim_status lui(const int64_t *op, void *state, const xs_env *env)
{
    (void)env;
    return set(state, op[OP_rd], (uint64_t)op[OP_simm], LONG);
}

/* c.li, c.lui. */
static xs_sim_status c_li(const int64_t *op, void *state, const xs_env *env)
{
    (void)env;
    return set(state, op[OP_rd], (uint64_t)op[OP_simm], SHORT);
}

static xs_sim_status c_mv(const int64_t *op, void *state, const xs_env *env)
{
    (void)env;
    return set(state, op[OP_rd], reg(state, op[OP_rs2]), SHORT);
}

/* An access: its base and displacement, the register, the bytes, and the instruction's own length. */
static xs_sim_status load(xs_riscv_cpu *cpu, const xs_env *env, uint64_t addr, int64_t rd, unsigned bytes,
                          unsigned size)
{
    uint64_t value = 0;
    xs_sim_status status = xs_env_load(env, address(cpu, addr), &value, bytes);
    if (status != XS_SIM_OK) return status;
    return set(cpu, rd, bytes == 4 ? (uint64_t)(int64_t)(int32_t)value : value, size);
}

static xs_sim_status store(xs_riscv_cpu *cpu, const xs_env *env, uint64_t addr, int64_t rs2, unsigned bytes,
                           unsigned size)
{
    xs_sim_status status = xs_env_store(env, address(cpu, addr), reg(cpu, rs2), bytes);
    return status == XS_SIM_OK ? next(cpu, size) : status;
}

static uint64_t at_rs1(const int64_t *op, const void *state)
{
    return reg(state, op[OP_rs1]) + (uint64_t)op[OP_simm];
}

static uint64_t at_rs1c(const int64_t *op, const void *state)
{
    return reg(state, op[OP_rs1c]) + (uint64_t)op[OP_uimm];
}

static uint64_t at_sp(const int64_t *op, const void *state)
{
    return reg(state, SP) + (uint64_t)op[OP_uimm];
}

/* One line each: where, which register, how many bytes (lbu and the 8-byte ones are zero-extended). */
#define LOAD(name, where, rd, bytes, size)                                                                   \
    static xs_sim_status name(const int64_t *op, void *state, const xs_env *env)                             \
    {                                                                                                        \
        return load(state, env, where(op, state), op[OP_##rd], bytes, size);                                 \
    }
LOAD(lbu, at_rs1, rd, 1, LONG)
LOAD(lw, at_rs1, rd, 4, LONG)
LOAD(ld, at_rs1, rd, 8, LONG)
LOAD(c_lw, at_rs1c, rdc, 4, SHORT)
LOAD(c_ld, at_rs1c, rdc, 8, SHORT)
LOAD(c_lwsp, at_sp, rd, 4, SHORT)
LOAD(c_ldsp, at_sp, rd, 8, SHORT)

#define STORE(name, where, rs2, bytes, size)                                                                 \
    static xs_sim_status name(const int64_t *op, void *state, const xs_env *env)                             \
    {                                                                                                        \
        return store(state, env, where(op, state), op[OP_##rs2], bytes, size);                               \
    }
STORE(sw, at_rs1, rs2, 4, LONG)
STORE(sd, at_rs1, rs2, 8, LONG)
STORE(c_sw, at_rs1c, rs2c, 4, SHORT)
STORE(c_sd, at_rs1c, rs2c, 8, SHORT)
STORE(c_swsp, at_sp, rs2, 4, SHORT)
STORE(c_sdsp, at_sp, rs2, 8, SHORT)

/* ---- names ------------------------------------------------------------------------------------ */

/* The kernel's functions by its names, and ideal's. */
static const xs_handler handlers[] = {
    {"simulate_jal", jal, N(rd) | N(imm), false},
    {"simulate_jalr", jalr, N(rd) | N(rs1) | N(simm), false},
    {"simulate_auipc", auipc, N(rd) | N(simm), false},
    {"simulate_branch", branch, N(funct3) | N(rs1) | N(rs2) | N(imm), false},
    {"simulate_c_j", c_j, N(imm), false},
    {"simulate_c_jal", c_jal, N(imm), false},
    {"simulate_c_jr", c_jr, N(rs1), false},
    {"simulate_c_jalr", c_jalr, N(rs1), false},
    {"simulate_c_beqz", c_beqz, N(rs1c) | N(imm), false},
    {"simulate_c_bnez", c_bnez, N(rs1c) | N(imm), false},
    {"simulate_addi", addi, N(rd) | N(rs1) | N(simm), false},
    {"simulate_c_addi", c_addi, N(rd) | N(simm), false},
    {"simulate_c_addi4spn", c_addi4spn, N(rdc) | N(uimm), false},
    {"simulate_lui", lui, N(rd) | N(simm), false},
    {"simulate_c_li", c_li, N(rd) | N(simm), false},
    {"simulate_c_mv", c_mv, N(rd) | N(rs2), false},
    {"simulate_lbu", lbu, N(rd) | N(rs1) | N(simm), false},
    {"simulate_lw", lw, N(rd) | N(rs1) | N(simm), false},
    {"simulate_ld", ld, N(rd) | N(rs1) | N(simm), false},
    {"simulate_sw", sw, N(rs2) | N(rs1) | N(simm), false},
    {"simulate_sd", sd, N(rs2) | N(rs1) | N(simm), false},
    {"simulate_c_lw", c_lw, N(rdc) | N(rs1c) | N(uimm), false},
    {"simulate_c_ld", c_ld, N(rdc) | N(rs1c) | N(uimm), false},
    {"simulate_c_sw", c_sw, N(rs2c) | N(rs1c) | N(uimm), false},
    {"simulate_c_sd", c_sd, N(rs2c) | N(rs1c) | N(uimm), false},
    {"simulate_c_lwsp", c_lwsp, N(rd) | N(uimm), false},
    {"simulate_c_ldsp", c_ldsp, N(rd) | N(uimm), false},
    {"simulate_c_swsp", c_swsp, N(rs2) | N(uimm), false},
    {"simulate_c_sdsp", c_sdsp, N(rs2) | N(uimm), false},
    {NULL, NULL, 0, false},
};

const xs_sim_arch xs_riscv_arch = {operand_names, quirk_names, handlers, NULL, 0};
