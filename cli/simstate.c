/* Registers by name. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Numbers of what can be set; the general registers are 0..31, AArch64's sp is 31. */
enum { R_SP = 31, R_NZCV, R_GCSPR, R_PC, R_BTYPE, R_GUARDED, R_SP_CHECK, R_SS };

static const struct {
    const char *name;
    int number;
} arm_names[] = {{"sp", R_SP},       {"pc", R_PC},
                 {"nzcv", R_NZCV},   {"gcspr", R_GCSPR},
                 {"btype", R_BTYPE}, {"guarded", R_GUARDED},
                 {"lr", 30},         {"sp_check", R_SP_CHECK},
                 {"fp", 29},         {"ss", R_SS}},
  riscv_names[] = {{"pc", R_PC}, {"zero", 0}, {"ra", 1},  {"sp", 2},  {"gp", 3},  {"tp", 4},  {"t0", 5},
                   {"t1", 6},    {"t2", 7},   {"s0", 8},  {"fp", 8},  {"s1", 9},  {"a0", 10}, {"a1", 11},
                   {"a2", 12},   {"a3", 13},  {"a4", 14}, {"a5", 15}, {"a6", 16}, {"a7", 17}, {"s2", 18},
                   {"s3", 19},   {"s4", 20},  {"s5", 21}, {"s6", 22}, {"s7", 23}, {"s8", 24}, {"s9", 25},
                   {"s10", 26},  {"s11", 27}, {"t3", 28}, {"t4", 29}, {"t5", 30}, {"t6", 31}};

void sim_state_init(sim_state *s, const sim_machine *m)
{
    memset(s, 0, sizeof *s);
    s->machine = m;
    if (m->is_arm) return;
    s->cpu.riscv.xlen = m->xlen;
    s->cpu.riscv.no_compressed = m->no_compressed;
}

/* "x0".."x31" without leading zeros; -1: something else. */
static int numbered(const char *name, int last)
{
    if (name[0] != 'x' || name[1] < '0' || name[1] > '9') return -1;
    int n = name[1] - '0';
    if (name[2] == '\0') return n;
    if (n == 0 || name[2] < '0' || name[2] > '9' || name[3] != '\0') return -1;
    n = n * 10 + name[2] - '0';
    return n <= last ? n : -1;
}

static int register_named(const sim_machine *m, const char *name)
{
    int n = numbered(name, m->is_arm ? 30 : 31);
    if (n >= 0) return n;
    for (size_t i = 0; m->is_arm && i < sizeof arm_names / sizeof *arm_names; i++)
        if (strcmp(arm_names[i].name, name) == 0) return arm_names[i].number;
    for (size_t i = 0; !m->is_arm && i < sizeof riscv_names / sizeof *riscv_names; i++)
        if (strcmp(riscv_names[i].name, name) == 0) return riscv_names[i].number;
    return -1;
}

/* Letters: each flag at most once, a capital sets it. */
static bool flags_from_letters(const char *text, uint32_t *out)
{
    static const char letters[] = "nzcv";
    uint32_t seen = 0;
    *out = 0;
    for (; *text; text++) {
        const char *at = strchr(letters, *text | 32);
        uint32_t bit = at && *at ? UINT32_C(1) << (31 - (at - letters)) : 0;
        if (!bit || (seen & bit)) return false;
        seen |= bit;
        if (!(*text & 32)) *out |= bit;
    }
    return seen != 0;
}

static bool set_flags(sim_state *s, const char *text, sim_why *why)
{
    uint64_t value;
    if (flags_from_letters(text, &s->cpu.arm64.nzcv)) return true;
    if (!sim_number(text, &value) || value > UINT32_MAX || (value > 15 && (value & 0x0fffffff)))
        return sim_refuse(why, "nzcv: '%.40s' is not bits 31..28, a number below 16 or letters of NZCV",
                          text);
    s->cpu.arm64.nzcv = (uint32_t)(value > 15 ? value : value << 28);
    return true;
}

static bool set_small(const char *name, uint64_t value, uint64_t max, sim_why *why)
{
    return value <= max ? true : sim_refuse(why, "%s is at most %" PRIu64, name, max);
}

/* No kernel uses the guarded control stack in kernel mode, and its handlers leave it alone there. */
static bool set_arm(xs_arm64_cpu *cpu, bool in_kernel, int n, const char *name, uint64_t value, sim_why *why)
{
    switch (n) {
    case R_SP: cpu->sp = value; return true;
    case R_PC: cpu->pc = value; return true;
    case R_GCSPR:
        cpu->gcspr = value;
        cpu->gcs = !in_kernel;
        return true;
    case R_BTYPE: cpu->btype = value & 3; return set_small(name, value, 3, why);
    case R_GUARDED: cpu->guarded = value != 0; return set_small(name, value, 1, why);
    case R_SS: cpu->ss = value != 0; return set_small(name, value, 1, why);
    case R_SP_CHECK: cpu->sp_check = value != 0; return set_small(name, value, 1, why);
    default: cpu->x[n] = value; return true;
    }
}

/* RV32 values are 32 bits, or their sign extension. */
static bool narrow(const char *name, uint64_t *value, sim_why *why)
{
    uint64_t extended = (uint64_t)(int64_t)(int32_t)*value;
    if (*value > UINT32_MAX && *value != extended)
        return sim_refuse(why, "%s: 0x%" PRIx64 " is wider than 32 bits", name, *value);
    *value = extended;
    return true;
}

static bool set_riscv(xs_riscv_cpu *cpu, int n, const char *name, uint64_t value, sim_why *why)
{
    if (cpu->xlen == 32 && !narrow(name, &value, why)) return false;
    if (n == 0 && value != 0) return sim_refuse(why, "%s is always 0", name);
    if (n == R_PC)
        cpu->pc = cpu->xlen == 32 ? (uint32_t)value : value;
    else
        cpu->x[n] = value;
    return true;
}

bool sim_state_set(sim_state *s, const char *name, const char *text, sim_why *why)
{
    uint64_t value = 0;
    int n = register_named(s->machine, name);
    if (n < 0)
        return sim_refuse(why, "%s has no register '%.40s'", s->machine->is_arm ? "arm64" : "RISC-V", name);
    if (s->given >> n & 1) return sim_refuse(why, "%s is given twice", name);
    s->given |= UINT64_C(1) << n;
    if (n == R_NZCV) return set_flags(s, text, why);
    if (!sim_number(text, &value))
        return sim_refuse(why, "%s: '%.40s' is not a number of 64 bits", name, text);
    return s->machine->is_arm ? set_arm(&s->cpu.arm64, s->machine->in_kernel, n, name, value, why)
                              : set_riscv(&s->cpu.riscv, n, name, value, why);
}

/* ---- reports --------------------------------------------------------------------------------- */

size_t sim_register_count(const sim_machine *m)
{
    return m->is_arm ? R_GCSPR + 1 : 32;
}

void sim_register_name(const sim_machine *m, size_t i, char name[8])
{
    const char *own = !m->is_arm || i < R_SP ? NULL : i == R_SP ? "sp" : i == R_NZCV ? "nzcv" : "gcspr";
    if (own)
        snprintf(name, 8, "%s", own);
    else
        snprintf(name, 8, "x%u", (unsigned)(i & 31));
}

uint64_t sim_register(const sim_state *s, size_t i)
{
    const xs_arm64_cpu *arm = &s->cpu.arm64;
    if (!s->machine->is_arm) return s->machine->xlen == 32 ? (uint32_t)s->cpu.riscv.x[i] : s->cpu.riscv.x[i];
    return i < R_SP ? arm->x[i] : i == R_SP ? arm->sp : i == R_NZCV ? arm->nzcv : arm->gcspr;
}

uint64_t sim_pc(const sim_state *s)
{
    return s->machine->is_arm ? s->cpu.arm64.pc : s->cpu.riscv.pc;
}

unsigned sim_ss(const sim_state *s)
{
    return s->machine->is_arm ? s->cpu.arm64.ss : 0;
}

unsigned sim_btype(const sim_state *s)
{
    return s->machine->is_arm ? s->cpu.arm64.btype : 0;
}
