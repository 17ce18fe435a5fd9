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

/* The steps of one rule while they are made. */
typedef struct maker {
    const xs_table *table;
    const xs_piece *first, *end;
    xs_step *step, *next;          /* the newest, NULL before the first; where the next one goes */
    size_t takes;                  /* in the newest */
    uint64_t right[XS_STEP_PARTS]; /* what bits its products are to have */
} maker;

static uint32_t mask_of(const xs_piece *piece)
{
    return (uint32_t)(((UINT64_C(1) << piece->len) - 1) << piece->lsb);
}

/* Only registers count from something, which is below 32. */
static xs_place place_of(const maker *m, uint8_t operand, unsigned shift)
{
    const xs_operand *o = &m->table->operands[operand];
    uint32_t base = o->kind == XS_OPERAND_REG ? o->base : 0;
    return base << 24 | (uint32_t)operand << 8 | shift;
}

static bool has_sign(const maker *m, uint8_t operand)
{
    xs_operand_kind kind = m->table->operands[operand].kind;
    return kind != XS_OPERAND_REG && kind != XS_OPERAND_UNSIGNED;
}

static void begin_step(maker *m, uint8_t operand, unsigned shift)
{
    if (m->step) {
        bool more = xs_place_operand(m->step->place) == operand;
        m->step->place |= (uint32_t)(more ? XS_THEN_MORE : XS_THEN_OTHERS) << 16;
    }
    m->step = m->next++;
    *m->step = (xs_step){.place = place_of(m, operand, shift)};
    for (size_t i = 0; i < XS_STEP_TAKES; i++)
        m->step->takes[i].place = place_of(m, operand, 0);
    m->takes = 0;
    memset(m->right, 0, sizeof m->right);
}

/* Whether what a product has from shift on is right and no more, and no two bits meet. */
static bool is_clean(uint32_t of, uint64_t by, unsigned shift, uint64_t right)
{
    uint64_t product = 0;
    for (; by; by &= by - 1) {
        uint64_t moved = of * (by & -by);
        if (product & moved) return false;
        product |= moved;
    }
    return product >> shift == right >> shift;
}

/* false: there is no room. */
static bool add_part(maker *m, const xs_piece *piece)
{
    xs_step *s = m->step;
    const unsigned shift = xs_place_shift(s->place);
    uint64_t by = UINT64_C(1) << (shift + piece->to - piece->lsb), right = mask_of(piece) * by;
    for (size_t i = 0; i < XS_STEP_PARTS; i++) {
        if (!is_clean(s->of[i] | mask_of(piece), s->by[i] | by, shift, m->right[i] | right)) continue;
        s->of[i] |= mask_of(piece);
        s->by[i] |= by;
        m->right[i] |= right;
        return true;
    }
    return false;
}

/* How far up an operand stands: its highest bit is the 64th if that is the sign, else one below at most. */
static unsigned shift_of(const maker *m, uint8_t operand)
{
    unsigned bits = 0;
    for (const xs_piece *p = m->first; p < m->end; p++)
        if (p->operand == operand && bits < p->to + (unsigned)p->len) bits = p->to + (unsigned)p->len;
    return 64 - bits - (bits < 64 && !has_sign(m, operand));
}

/* An operand's pieces from its first one on. One for which that is not high enough, because it comes from far
 * up in the word, stands where it is. */
static void add_pieces(maker *m, const xs_piece *from)
{
    const unsigned up = shift_of(m, from->operand);
    for (const xs_piece *p = from; p < m->end; p++) {
        if (p->operand != from->operand) continue;
        unsigned shift = up + p->to < p->lsb ? p->lsb - (unsigned)p->to : up;
        if (p > from && xs_place_shift(m->step->place) == shift && add_part(m, p)) continue;
        begin_step(m, p->operand, shift);
        add_part(m, p);
    }
}

/* An operand that can be a take is one if there is room. */
static void add_take(maker *m, const xs_piece *p)
{
    if (!m->step || m->takes == XS_STEP_TAKES)
        add_pieces(m, p);
    else
        m->step->takes[m->takes++] =
            (xs_take){mask_of(p), place_of(m, p->operand, (unsigned)(p->lsb - p->to) & 63)};
}

typedef enum role { TAKE, PIECES, NOT_THE_FIRST } role;

static role role_of(const maker *m, const xs_piece *piece)
{
    for (const xs_piece *p = m->first; p < piece; p++)
        if (p->operand == piece->operand) return NOT_THE_FIRST;
    for (const xs_piece *p = piece + 1; p < m->end; p++)
        if (p->operand == piece->operand) return PIECES;
    return has_sign(m, piece->operand) ? PIECES : TAKE;
}

/* Those that can be takes last: they fill the room there is. Each step begins with a piece of its own, so
 * that there are not more steps than pieces. */
static void make_steps(maker *m)
{
    for (const xs_piece *p = m->first; p < m->end; p++)
        if (role_of(m, p) == PIECES) add_pieces(m, p);
    for (const xs_piece *p = m->first; p < m->end; p++)
        if (role_of(m, p) == TAKE) add_take(m, p);
}

bool xs_steps_make(xs_table *table)
{
    table->steps = calloc(table->piece_count + 1, sizeof *table->steps);
    for (size_t r = 0; table->steps && r < table->rule_count; r++) {
        const xs_rule *rule = &table->rules[r];
        maker m = {.table = table,
                   .first = table->pieces + rule->piece_index,
                   .end = table->pieces + rule->piece_index + rule->piece_count,
                   .next = table->steps + rule->piece_index};
        make_steps(&m);
    }
    return table->steps != NULL;
}

const xs_step *xs_steps_of(const xs_table *table, const xs_rule *rule)
{
    return rule->piece_count ? table->steps + rule->piece_index : NULL;
}

/* ---- for every word --------------------------------------------------------------------------------- */

void xs_rule_operands(const xs_table *table, const xs_rule *rule, uint32_t word, int64_t op[XS_MAX_OPERANDS])
{
    const xs_step *steps = xs_steps_of(table, rule);
    if (steps) xs_steps_take(steps, word, op);
}
