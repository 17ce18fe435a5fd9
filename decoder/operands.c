/* From the bits of a word to ready operands. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int xs_operand_find(const xs_table *table, const char *name)
{
    for (size_t i = 0; i < table->operand_count; i++)
        if (strcmp(table->operands[i].name, name) == 0) return (int)i;
    return -1;
}

int xs_quirk_find(const xs_table *table, const char *name)
{
    for (size_t i = 0; i < table->quirk_count; i++)
        if (strcmp(table->quirks[i].name, name) == 0) return (int)i;
    return -1;
}

/* ---- once, when the table is read ------------------------------------------------------------------- */

/* How a finished operand becomes a number: what stands left of its sign bit is the sign, registers count
 * from their base. */
static void finish(const xs_operand *o, unsigned bits, xs_step *step)
{
    step->keep = 0;
    if (o->kind == XS_OPERAND_REG)
        step->base = (int32_t)o->base;
    else if (o->kind != XS_OPERAND_UNSIGNED)
        step->sign = UINT64_C(1) << (bits - 1);
}

/* The pieces of one operand, one after the other. */
static size_t gather(const xs_table *t, const xs_rule *rule, uint8_t operand, xs_step *steps)
{
    const xs_piece *piece = t->pieces + rule->piece_index, *end = piece + rule->piece_count;
    unsigned bits = 0;
    size_t count = 0;
    for (; piece < end; piece++) {
        if (piece->operand != operand) continue;
        steps[count++] = (xs_step){.mask = (uint32_t)((UINT64_C(1) << piece->len) - 1),
                                   .lsb = piece->lsb,
                                   .to = piece->to,
                                   .operand = operand,
                                   .keep = UINT64_MAX};
        if (bits < piece->to + (unsigned)piece->len) bits = piece->to + (unsigned)piece->len;
    }
    finish(&t->operands[operand], bits, &steps[count - 1]);
    return count;
}

static bool seen_before(const xs_piece *first, const xs_piece *piece)
{
    for (const xs_piece *p = first; p < piece; p++)
        if (p->operand == piece->operand) return true;
    return false;
}

bool xs_steps_make(xs_table *table)
{
    table->steps = calloc(table->piece_count + 1, sizeof *table->steps);
    for (size_t r = 0; table->steps && r < table->rule_count; r++) {
        const xs_rule *rule = &table->rules[r];
        const xs_piece *piece = table->pieces + rule->piece_index, *end = piece + rule->piece_count;
        xs_step *steps = table->steps + rule->piece_index;
        for (const xs_piece *p = piece; p < end; p++)
            if (!seen_before(piece, p)) steps += gather(table, rule, p->operand, steps);
    }
    return table->steps != NULL;
}

/* ---- for every word --------------------------------------------------------------------------------- */

void xs_rule_operands(const xs_table *table, const xs_rule *rule, uint32_t word, int64_t op[XS_MAX_OPERANDS])
{
    xs_steps_take(table->steps + rule->piece_index, rule->piece_count, word, op);
}
