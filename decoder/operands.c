/* From the bits of a word to ready operands. */
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

static int64_t sign_extend(int64_t value, unsigned bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)(((uint64_t)value ^ sign) - sign);
}

/* Pieces stand in word order, so an operand's pieces may be anywhere in the list: all values are
 * cleared first, then gathered, then finished. At most a dozen pieces in any encoding. */
void xs_rule_operands(const xs_table *table, const xs_rule *rule, uint32_t word, int64_t op[XS_MAX_OPERANDS])
{
    const xs_piece *piece = table->pieces + rule->piece_index, *end = piece + rule->piece_count;
    unsigned top[XS_MAX_OPERANDS];
    for (const xs_piece *p = piece; p < end; p++)
        op[p->operand] = top[p->operand] = 0;
    for (const xs_piece *p = piece; p < end; p++) {
        uint32_t bits = (word >> p->lsb) & (uint32_t)((UINT64_C(1) << p->len) - 1);
        op[p->operand] |= (int64_t)((uint64_t)bits << p->to);
        if (top[p->operand] < p->to + (unsigned)p->len) top[p->operand] = p->to + (unsigned)p->len;
    }
    for (const xs_piece *p = piece; p < end; p++) {
        const xs_operand *o = &table->operands[p->operand];
        if (!top[p->operand]) continue; /* finished with an earlier piece */
        if (o->kind == XS_OPERAND_REG)
            op[p->operand] += o->base;
        else if (o->kind != XS_OPERAND_UNSIGNED)
            op[p->operand] = sign_extend(op[p->operand], top[p->operand]);
        top[p->operand] = 0;
    }
}
