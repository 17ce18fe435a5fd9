/* AArch64: one function for each way of carrying an instruction out. What they do is the Arm ARM's
 * pseudocode of the instruction (chapter C6.2); where kernels differ there is a quirk. */
#include "cpu.h"

#include <stddef.h>

#define OPERANDS(O)                                                                                          \
    O(rd)                                                                                                    \
    O(rn) O(rm) O(rt) O(rt2) O(imm) O(page) O(simm) O(uimm) O(sf) O(link) O(ret) O(nz) O(bit) O(cond) O(op)

/* Kernel bugs that can be asked for; the table says which kernels have them. */
#define QUIRKS(Q)                                                                                            \
    Q(WIDE_LITERAL, "wide-literal")   /* a W literal is read as 8 bytes (..6.12) */                          \
    Q(PSTATE_KEPT, "pstate-kept")     /* only nop changes PSTATE.BTYPE and SS */                             \
    Q(GCS_POP_MOVES, "gcs-pop-moves") /* GCSPR has moved when the return address is wrong (6.18..) */        \
    Q(PUSH_FAULT_ADVANCES,                                                                                   \
      "push-fault-advances")                    /* sp and pc have moved when the store faults (stp-2024) */  \
    Q(PUSH_CHECKS_NEW_SP, "push-checks-new-sp") /* the new sp must be aligned, not the old (stp-2024) */

#include "names.h"

enum { FP = 29, LR = 30, ZR = 31 }; /* register 31 is the zero register unless a handler says sp */

static uint64_t reg(const xs_arm64_cpu *cpu, int64_t r)
{
    return r == ZR ? 0 : cpu->x[r];
}

static void set_reg(xs_arm64_cpu *cpu, int64_t r, uint64_t value)
{
    if (r != ZR) cpu->x[r] = value;
}

/* An operand of sf ? 64 : 32 bits. */
static uint64_t sized(uint64_t value, int64_t sf)
{
    return sf ? value : (uint32_t)value;
}

/* Every instruction sets PSTATE.BTYPE, to 0 unless it is a branch to a register, and uses up the step of
 * a debugger (Arm ARM D2.12, software step). */
static xs_sim_status finish(xs_arm64_cpu *cpu, uint32_t quirks, uint64_t target, uint8_t btype)
{
    cpu->pc = target;
    if (quirks & PSTATE_KEPT) return XS_SIM_OK;
    cpu->btype = btype;
    cpu->ss = false;
    return XS_SIM_OK;
}

static xs_sim_status go(xs_arm64_cpu *cpu, const xs_env *env, uint64_t target)
{
    return finish(cpu, env->quirks, target, 0);
}

static xs_sim_status next(xs_arm64_cpu *cpu, const xs_env *env)
{
    return go(cpu, env, cpu->pc + 4);
}

static xs_sim_status branch_if(xs_arm64_cpu *cpu, const xs_env *env, bool taken, const int64_t *op)
{
    return go(cpu, env, cpu->pc + (taken ? (uint64_t)op[OP_imm] : 4));
}

/* ---- the guarded control stack (Arm ARM D11) ---------------------------------------------------- */

static xs_sim_status gcs_push(xs_arm64_cpu *cpu, const xs_env *env)
{
    if (!cpu->gcs) return XS_SIM_OK;
    xs_sim_status status = xs_env_store(env, cpu->gcspr - 8, cpu->pc + 4, 8);
    if (status == XS_SIM_OK) cpu->gcspr -= 8;
    return status;
}

static xs_sim_status gcs_pop(xs_arm64_cpu *cpu, const xs_env *env, uint64_t target)
{
    uint64_t expected;
    if (!cpu->gcs) return XS_SIM_OK;
    xs_sim_status status = xs_env_load(env, cpu->gcspr, &expected, 8);
    if (status != XS_SIM_OK) return status;
    bool matches = expected == target;
    if (matches || (env->quirks & GCS_POP_MOVES)) cpu->gcspr += 8;
    return matches ? XS_SIM_OK : xs_env_fail(env, XS_SIM_GCS, target);
}

/* ---- branches -------------------------------------------------------------------------------- */

static xs_sim_status b_bl(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    if (op[OP_link]) {
        xs_sim_status status = gcs_push(cpu, env);
        if (status != XS_SIM_OK) return status;
        cpu->x[LR] = cpu->pc + 4;
    }
    return branch_if(cpu, env, true, op);
}

/* For each condition, the values of NZCV with which it holds, as bits 8 N + 4 Z + 2 C + V. They come in
 * pairs, the odd one the opposite of the even; 14 and 15 are both "always". */
static bool holds(uint32_t nzcv, int64_t cond)
{
    static const uint16_t with[16] = {0xf0f0, 0x0f0f, 0xcccc, 0x3333, 0xff00, 0x00ff, 0xaaaa, 0x5555,
                                      0x0c0c, 0xf3f3, 0xaa55, 0x55aa, 0x0a05, 0xf5fa, 0xffff, 0xffff};
    return with[cond] >> (nzcv >> 28) & 1;
}

static xs_sim_status b_cond(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    return branch_if(cpu, env, holds(cpu->nzcv, op[OP_cond]), op);
}

static xs_sim_status cbz_cbnz(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    bool nonzero = sized(reg(cpu, op[OP_rt]), op[OP_sf]) != 0;
    return branch_if(cpu, env, nonzero == (bool)op[OP_nz], op);
}

static xs_sim_status tbz_tbnz(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    bool set = reg(cpu, op[OP_rt]) >> op[OP_bit] & 1;
    return branch_if(cpu, env, set == (bool)op[OP_nz], op);
}

/* What a landing pad at the target will be asked about. X16 and X17 are the registers of veneers. */
static uint8_t btype_after(const xs_arm64_cpu *cpu, const int64_t *op)
{
    if (op[OP_ret]) return 0;
    if (op[OP_link]) return 2;
    return !cpu->guarded || op[OP_rn] == 16 || op[OP_rn] == 17 ? 1 : 3;
}

static xs_sim_status br_blr_ret(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    uint64_t target = reg(cpu, op[OP_rn]); /* read before x30 is written: blr x30 */
    uint8_t btype = btype_after(cpu, op);
    xs_sim_status status = op[OP_ret]    ? gcs_pop(cpu, env, target)
                           : op[OP_link] ? gcs_push(cpu, env)
                                         : XS_SIM_OK;
    if (status != XS_SIM_OK) return status;
    if (op[OP_link]) cpu->x[LR] = cpu->pc + 4;
    return finish(cpu, env->quirks, target, btype);
}

/* ---- addresses and literals ------------------------------------------------------------------ */

/* ADR draws imm, ADRP page; what a line does not draw is 0. */
static xs_sim_status adr_adrp(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    uint64_t base = op[OP_op] ? cpu->pc & ~UINT64_C(0xfff) : cpu->pc;
    set_reg(cpu, op[OP_rd], base + (uint64_t)(op[OP_imm] + op[OP_page]));
    return next(cpu, env);
}

/* Of a size that is known where it is inlined. */
static inline xs_sim_status load_register(const xs_env *env, uint64_t addr, bool wide, uint64_t *value)
{
    return wide ? xs_env_load(env, addr, value, 8) : xs_env_load(env, addr, value, 4);
}

static xs_sim_status ldr_literal(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    uint64_t value = 0;
    bool wide = op[OP_sf] || (env->quirks & WIDE_LITERAL);
    xs_sim_status status = load_register(env, cpu->pc + (uint64_t)op[OP_imm], wide, &value);
    if (status != XS_SIM_OK) return status;
    set_reg(cpu, op[OP_rt], sized(value, op[OP_sf]));
    return next(cpu, env);
}

static xs_sim_status ldrsw_literal(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    uint64_t value;
    xs_sim_status status = xs_env_load(env, cpu->pc + (uint64_t)op[OP_imm], &value, 4);
    if (status != XS_SIM_OK) return status;
    set_reg(cpu, op[OP_rt], (uint64_t)(int64_t)(int32_t)value);
    return next(cpu, env);
}

static xs_sim_status nop(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    (void)op, (void)env;
    return finish(cpu, 0, cpu->pc + 4, 0);
}

/* BTI c, j, jc: does the way we came fit this landing pad (BTypeCompatible_BTI)? */
static xs_sim_status bti(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    static const bool refused[4][4] = {
        {0, 1, 1, 1}, {0, 0, 0, 1}, {0, 0, 1, 0}, {0, 0, 0, 0}}; /* [pad][btype] */
    if (cpu->guarded && refused[op[OP_op]][cpu->btype]) return xs_env_fail(env, XS_SIM_BTI, cpu->pc);
    return nop(op, state, env);
}

/* ---- loads and stores on sp ------------------------------------------------------------------- */

/* Register 31 is the stack pointer here. */
static uint64_t reg_sp(const xs_arm64_cpu *cpu, int64_t r)
{
    return r == ZR ? cpu->sp : cpu->x[r];
}

static void set_reg_sp(xs_arm64_cpu *cpu, int64_t r, uint64_t value)
{
    *(r == ZR ? &cpu->sp : &cpu->x[r]) = value;
}

/* CheckSPAlignment, for an access whose base is sp. */
static xs_sim_status check_sp(const xs_arm64_cpu *cpu, const xs_env *env, int64_t base, uint64_t sp)
{
    return base == ZR && cpu->sp_check && sp % 16 ? xs_env_fail(env, XS_SIM_SP, sp) : XS_SIM_OK;
}

/* Both registers in one request, so that a store that is refused has stored nothing. */
static inline xs_sim_status store_pair(const xs_arm64_cpu *cpu, const xs_env *env, uint64_t addr,
                                       const int64_t *op)
{
    return xs_env_store_pair(env, addr, reg(cpu, op[OP_rt]), reg(cpu, op[OP_rt2]));
}

static xs_sim_status stp_offset(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    xs_sim_status status = check_sp(cpu, env, op[OP_rn], cpu->sp);
    if (status == XS_SIM_OK)
        status = store_pair(cpu, env, reg_sp(cpu, op[OP_rn]) + (uint64_t)op[OP_simm], op);
    return status == XS_SIM_OK ? next(cpu, env) : status;
}

/* stp rt, rt2, [sp, #simm]! */
static xs_sim_status stp_push(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    uint64_t sp = cpu->sp + (uint64_t)op[OP_simm];
    xs_sim_status status = check_sp(cpu, env, ZR, env->quirks & PUSH_CHECKS_NEW_SP ? sp : cpu->sp);
    if (status != XS_SIM_OK) return status;
    status = store_pair(cpu, env, sp, op);
    if (status != XS_SIM_OK && !(env->quirks & PUSH_FAULT_ADVANCES)) return status;
    cpu->sp = sp;
    next(cpu, env);
    return status;
}

static xs_sim_status str_push(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    uint64_t sp = cpu->sp + (uint64_t)op[OP_simm];
    xs_sim_status status = check_sp(cpu, env, ZR, cpu->sp);
    if (status == XS_SIM_OK) status = xs_env_store(env, sp, reg(cpu, op[OP_rt]), 8);
    if (status != XS_SIM_OK) return status;
    cpu->sp = sp;
    return next(cpu, env);
}

static xs_sim_status ldr(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    uint64_t value = 0;
    xs_sim_status status = check_sp(cpu, env, op[OP_rn], cpu->sp);
    if (status == XS_SIM_OK)
        status = load_register(env, reg_sp(cpu, op[OP_rn]) + (uint64_t)op[OP_uimm], op[OP_sf], &value);
    if (status != XS_SIM_OK) return status;
    set_reg(cpu, op[OP_rt], value);
    return next(cpu, env);
}

/* ---- moves and sums --------------------------------------------------------------------------- */

/* AddWithCarry for a subtraction: the result, and NZCV. */
static uint64_t subtract(uint64_t a, uint64_t b, int64_t sf, uint32_t *nzcv)
{
    uint64_t result = sized(a - b, sf), sign = sf ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    bool n = result & sign, z = result == 0, c = sized(a, sf) >= sized(b, sf),
         v = (a ^ b) & (a ^ result) & sign;
    *nzcv = (uint32_t)n << 31 | (uint32_t)z << 30 | (uint32_t)c << 29 | (uint32_t)v << 28;
    return result;
}

static xs_sim_status add_imm(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    set_reg_sp(cpu, op[OP_rd], sized(reg_sp(cpu, op[OP_rn]) + (uint64_t)op[OP_uimm], op[OP_sf]));
    return next(cpu, env);
}

static xs_sim_status sub_imm(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    set_reg_sp(cpu, op[OP_rd], sized(reg_sp(cpu, op[OP_rn]) - (uint64_t)op[OP_uimm], op[OP_sf]));
    return next(cpu, env);
}

static xs_sim_status subs_imm(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    set_reg(cpu, op[OP_rd], subtract(reg_sp(cpu, op[OP_rn]), (uint64_t)op[OP_uimm], op[OP_sf], &cpu->nzcv));
    return next(cpu, env);
}

static xs_sim_status subs_reg(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    set_reg(cpu, op[OP_rd], subtract(reg(cpu, op[OP_rn]), reg(cpu, op[OP_rm]), op[OP_sf], &cpu->nzcv));
    return next(cpu, env);
}

static xs_sim_status mov_reg(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    set_reg(cpu, op[OP_rd], sized(reg(cpu, op[OP_rm]), op[OP_sf]));
    return next(cpu, env);
}

static xs_sim_status movz(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    set_reg(cpu, op[OP_rd], (uint64_t)op[OP_uimm]);
    return next(cpu, env);
}

static xs_sim_status movn(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    set_reg(cpu, op[OP_rd], sized(~(uint64_t)op[OP_uimm], op[OP_sf]));
    return next(cpu, env);
}

static xs_sim_status sxtw(const int64_t *op, void *state, const xs_env *env)
{
    xs_arm64_cpu *cpu = state;
    set_reg(cpu, op[OP_rd], (uint64_t)(int64_t)(int32_t)reg(cpu, op[OP_rn]));
    return next(cpu, env);
}

/* ---- names ------------------------------------------------------------------------------------ */

/* The kernel's functions by its names, and ideal's. adr_adrp is one function there: its table lines
 * draw either imm or page, and the other one is 0. */
static const xs_handler handlers[] = {
    {"simulate_b_bl", b_bl, N(link) | N(imm), false},
    {"simulate_b_cond", b_cond, N(cond) | N(imm), false},
    {"simulate_cbz_cbnz", cbz_cbnz, N(sf) | N(nz) | N(rt) | N(imm), false},
    {"simulate_tbz_tbnz", tbz_tbnz, N(bit) | N(nz) | N(rt) | N(imm), false},
    {"simulate_br_blr_ret", br_blr_ret, N(rn) | N(link) | N(ret), false},
    {"simulate_br_blr", br_blr_ret, N(rn) | N(link) | N(ret), false},
    {"simulate_ret", br_blr_ret, N(rn) | N(link) | N(ret), false},
    {"simulate_adr_adrp", adr_adrp, N(rd) | N(op), false},
    {"simulate_ldr_literal", ldr_literal, N(sf) | N(rt) | N(imm), false},
    {"simulate_ldrsw_literal", ldrsw_literal, N(rt) | N(imm), false},
    {"simulate_nop", nop, 0, false},
    {"simulate_stp_fp_lr_sp_64b", stp_push, N(rt) | N(rt2) | N(simm), false},
    {"simulate_bti", bti, N(op), true},
    {"simulate_stp_push", stp_push, N(rt) | N(rt2) | N(simm), false},
    {"simulate_stp_offset", stp_offset, N(rt) | N(rt2) | N(rn) | N(simm), false},
    {"simulate_str_push", str_push, N(rt) | N(simm), false},
    {"simulate_ldr", ldr, N(sf) | N(rt) | N(rn) | N(uimm), false},
    {"simulate_add_imm", add_imm, N(sf) | N(rd) | N(rn) | N(uimm), false},
    {"simulate_sub_imm", sub_imm, N(sf) | N(rd) | N(rn) | N(uimm), false},
    {"simulate_subs_imm", subs_imm, N(sf) | N(rd) | N(rn) | N(uimm), false},
    {"simulate_subs_reg", subs_reg, N(sf) | N(rd) | N(rn) | N(rm), false},
    {"simulate_mov_reg", mov_reg, N(sf) | N(rd) | N(rm), false},
    {"simulate_movz", movz, N(rd) | N(uimm), false},
    {"simulate_movn", movn, N(sf) | N(rd) | N(uimm), false},
    {"simulate_sxtw", sxtw, N(rd) | N(rn), false},
    {NULL, NULL, 0, false},
};

/* A branch to a register has come to a guarded page: only a landing pad may be there. The breakpoint
 * itself is exempt, so it is up to us. */
static xs_sim_status check_landing(const void *state, const xs_env *env)
{
    const xs_arm64_cpu *cpu = state;
    return cpu->guarded && cpu->btype ? xs_env_fail(env, XS_SIM_BTI, cpu->pc) : XS_SIM_OK;
}

const xs_sim_arch xs_arm64_arch = {operand_names, quirk_names, handlers, check_landing,
                                   offsetof(xs_arm64_cpu, guarded)};
