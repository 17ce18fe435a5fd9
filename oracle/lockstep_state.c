/* States worth trying for a word: what its registers are for is found out, not known. */
#include <string.h>

#include "lockstep_internal.h"

enum { NEAR = 1 << 20 };

static bool near(uint64_t a, uint64_t b, uint64_t distance)
{
    return a - b + distance <= 2 * distance;
}

static void add_live(xs_shape *s, int reg)
{
    for (unsigned i = 0; i < s->live_count; i++)
        if ((int)s->live[i] == reg) return;
    if (reg >= 0 && s->live_count < XS_LIVE) s->live[s->live_count++] = (unsigned)reg;
}

static void add_operands(xs_lockstep *ls)
{
    size_t count;
    int64_t op[XS_MAX_OPERANDS];
    const xs_rule *rule = ls->c->e->rule;
    const xs_operand *operands = xs_table_operands(ls->cases->table, &count);
    const xs_piece *pieces = xs_table_pieces(ls->cases->table, rule);
    xs_rule_operands(ls->cases->table, rule, ls->word, op);
    for (size_t i = 0; i < rule->piece_count; i++) {
        const xs_operand *o = &operands[pieces[i].operand];
        if (o->kind == XS_OPERAND_REG && strcmp(o->prefix, "x") == 0)
            add_live(&ls->shape, ls->arch->reg_of(op[pieces[i].operand]));
    }
    add_live(&ls->shape, (int)ls->arch->sp);
    add_live(&ls->shape, ls->arch->flags);
}

/* A value no other register is near, and no word. */
static uint64_t mark(const xs_lockstep *ls, unsigned reg)
{
    return ls->arch->width == 32 ? (reg + 1) << 24 | 1u << 23 : (uint64_t)(reg + 1) << 40 | UINT64_C(1) << 39;
}

static int near_which(const xs_lockstep *ls, uint64_t value, uint64_t *distance)
{
    for (unsigned i = 0; i < ls->arch->count; i++) {
        if (i == ls->arch->pc || (int)i == ls->arch->flags || !near(value, mark(ls, i), NEAR)) continue;
        *distance = value - mark(ls, i);
        return (int)i;
    }
    return -1;
}

void xs_shape_begin(xs_lockstep *ls)
{
    const xs_oracle_arch *a = ls->arch;
    ls->shape = (xs_shape){.base = -1, .target = -1};
    add_operands(ls);
    a->reset(&ls->start);
    for (unsigned i = 0; i < a->count; i++)
        xs_reg_set(a, &ls->start, i, (int)i == a->flags ? 0 : mark(ls, i));
    xs_reg_set(a, &ls->start, a->pc, ls->at);
}

void xs_shape_access(xs_lockstep *ls, uint64_t addr)
{
    xs_shape *s = &ls->shape;
    s->base = near_which(ls, addr, &s->base_to);
    if (s->base < 0 && near(addr, ls->at, ls->reach)) s->literal = addr;
    add_live(s, s->base);
}

void xs_shape_find(xs_lockstep *ls)
{
    xs_shape *s = &ls->shape;
    xs_shape_begin(ls);
    ls->granting = true;
    xs_simulate_ours(ls);
    ls->granting = false;
    if (ls->touch_count) xs_shape_access(ls, ls->touched[0].addr);
    uint64_t pc = xs_reg_get(ls->arch, &ls->ours, ls->arch->pc);
    if (ls->status == XS_SIM_OK && pc != ls->at + ls->size) s->target = near_which(ls, pc, &s->target_to);
    add_live(s, s->target);
}

/* Mostly inside the data region, sometimes across or beyond its ends, its pages' ends, read-only, or
 * anywhere. */
static uint64_t data_address(xs_lockstep *ls)
{
    uint64_t data = ls->arch->data, random = xs_rng_next(ls->rng) >> 8;
    switch (xs_rng_below(ls->rng, 64)) {
    case 0: return data + XS_DATA - random % 24;
    case 1: return data - random % 24;
    case 2: return ls->window + random % ls->window_size;
    case 3: return xs_generate_value(ls->rng);
    case 4:
    case 5: return data + (1 + random % 3) * XS_PAGE - (random >> 8) % 24;
    case 6:
    case 7:
    case 8:
    case 9: return data + 32 + random % (XS_DATA - 64);
    default: return data + 32 + random % (XS_DATA - 64) / 16 * 16;
    }
}

/* Mostly few places, because each costs a translation; odd ones; some that nobody can execute. */
static uint64_t target_address(xs_lockstep *ls)
{
    uint64_t random = xs_rng_next(ls->rng) >> 8;
    switch (xs_rng_below(ls->rng, 64)) {
    case 0: return xs_generate_value(ls->rng);
    case 1:
        return random & 256 ? ls->o->code_at + random % ls->o->code_size : ls->arch->data + random % XS_DATA;
    case 2:
    case 3:
    case 4: return ls->at + 256 + random % 8;
    case 5: return ls->at;
    case 6:
    case 7: return ls->at + ls->size;
    default: return ls->at + 64 * (1 + random % 3);
    }
}

static uint64_t plain_value(xs_lockstep *ls)
{
    unsigned other = ls->shape.live[xs_rng_below(ls->rng, ls->shape.live_count)];
    uint64_t random = xs_rng_next(ls->rng);
    switch (random & 15) {
    case 0:
    case 1:
    case 2: return xs_reg_get(ls->arch, &ls->start, other);
    case 3: return xs_reg_get(ls->arch, &ls->start, other) + 1;
    case 4: return xs_reg_get(ls->arch, &ls->start, other) - 1;
    case 5:
    case 6:
    case 7: return 0;
    case 8: return data_address(ls);
    default: return xs_generate_value(ls->rng);
    }
}

uint64_t xs_state_value(xs_lockstep *ls, unsigned reg)
{
    const xs_shape *s = &ls->shape;
    if ((int)reg == s->base) return data_address(ls) - s->base_to;
    if ((int)reg == s->target) return target_address(ls) - s->target_to;
    if ((int)reg == ls->arch->flags) return xs_rng_next(ls->rng) >> 32 & ls->arch->flag_bits;
    if (reg == ls->arch->sp && xs_rng_next(ls->rng) & 1) return data_address(ls);
    return plain_value(ls);
}

static uint8_t *literal(const xs_lockstep *ls)
{
    bool writable;
    if (!ls->shape.literal || near(ls->shape.literal, ls->at, 32)) return NULL;
    uint8_t *bytes = xs_oracle_bytes(ls->o, ls->shape.literal, 16, &writable);
    return writable ? NULL : bytes;
}

/* What a load relative to the pc will find. The word itself and where it lands stay as they are. */
static void new_literal(xs_lockstep *ls)
{
    uint64_t value[2] = {xs_generate_value(ls->rng), xs_rng_next(ls->rng)};
    uint8_t *bytes = literal(ls);
    if (bytes) memcpy(bytes, value, sizeof value);
}

void xs_literal_clear(xs_lockstep *ls)
{
    uint8_t *bytes = literal(ls);
    if (bytes) memset(bytes, 0, 16);
}

unsigned xs_state_next(xs_lockstep *ls, unsigned *regs)
{
    const xs_shape *s = &ls->shape;
    unsigned count = 0, wild = xs_rng_below(ls->rng, ls->arch->count);
    if (wild != ls->arch->pc) {
        xs_reg_set(ls->arch, &ls->start, wild, xs_generate_value(ls->rng));
        regs[count++] = wild;
    }
    for (unsigned i = 0; i < s->live_count; i++) {
        xs_reg_set(ls->arch, &ls->start, s->live[i], xs_state_value(ls, s->live[i]));
        regs[count++] = s->live[i];
    }
    new_literal(ls);
    return count;
}

void xs_state_first(xs_lockstep *ls)
{
    unsigned regs[XS_LIVE + 2];
    ls->arch->reset(&ls->start);
    for (unsigned i = 0; i < ls->arch->count; i++)
        xs_reg_set(ls->arch, &ls->start, i, xs_rng_next(ls->rng));
    xs_reg_set(ls->arch, &ls->start, ls->arch->pc, ls->at);
    xs_state_next(ls, regs);
}
