/* The whole encoding space, cut where a kernel's bugs show. */
#include "internal.h"

typedef struct walk {
    const xs_decoder *a;
    xs_quirk_cube_fn *fn;
    void *arg;
} walk;

/* Word bits that the quirks of a decision look at. */
static uint32_t quirk_bits(const xs_table *table, const xs_entry *e)
{
    const xs_piece *piece = xs_table_pieces(table, e->rule);
    uint32_t bits = 0;
    for (size_t q = 0; q < e->decision->quirk_count; q++) {
        const xs_quirk_use *use = &e->decision->quirk[q];
        for (size_t i = 0; use->left >= 0 && i < e->rule->piece_count; i++)
            if (piece[i].operand == use->left || piece[i].operand == use->right)
                bits |= (uint32_t)((UINT64_C(1) << piece[i].len) - 1) << piece[i].lsb;
    }
    return bits;
}

/* The cube in pieces, one for each value of the bits that matter. */
static bool cut(void *arg, size_t a, size_t b, uint32_t mask, uint32_t value)
{
    const walk *w = arg;
    const xs_entry *e = &w->a->entries[a];
    xs_insn insn = {.entry = e, .size = w->a->sizes[a]};
    uint32_t look = quirk_bits(w->a->table, e) & ~mask, bits = 0;
    do {
        insn.word = value | bits;
        xs_rule_operands(w->a->table, e->rule, insn.word, insn.op);
        if (!w->fn(w->arg, a, b, xs_quirks(w->a, &insn), mask | look, insn.word)) return false;
        bits = (bits - look) & look;
    } while (bits);
    return true;
}

bool xs_quirk_walk(const xs_decoder *a, const xs_decoder *b, xs_quirk_cube_fn *fn, void *arg)
{
    return xs_space_walk(a, b, cut, &(walk){a, fn, arg});
}
