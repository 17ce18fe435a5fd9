/* Words from the table's fields. */
#include "generate.h"

#include <string.h>

xs_rng xs_rng_new(uint64_t seed, const char *name, uint64_t number)
{
    xs_rng r = {seed};
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    r.state = xs_rng_next(&r) ^ hash;
    r.state = xs_rng_next(&r) ^ number;
    return r;
}

static uint64_t bits_below(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* A value of a field that is width bits wide. */
static uint64_t field_value(xs_rng *r, const xs_operand *operand, unsigned width, uint64_t other)
{
    bool is_register = operand->kind == XS_OPERAND_REG;
    uint64_t max = bits_below(width), edge = (max >> 1) + 1;
    switch (xs_rng_below(r, 16)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return max;
    case 3: return is_register ? max - 1 : edge; /* x30, x1, x2: those that have a job */
    case 4: return is_register ? 2 : edge - 1;
    case 5: return other;
    case 6: return is_register ? max - 1 : UINT64_C(1) << xs_rng_below(r, width);
    case 7: return is_register ? 1 : ~(UINT64_C(1) << xs_rng_below(r, width));
    case 8: return xs_rng_below(r, 16);
    case 9: return ~(uint64_t)xs_rng_below(r, 16);
    default: return xs_rng_next(r);
    }
}

/* Where an operand's bits lie: lowest, and how many up to the highest. */
static unsigned operand_span(const xs_piece *pieces, size_t count, unsigned operand, unsigned *low)
{
    unsigned high = 0;
    *low = 64;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].operand != operand) continue;
        unsigned end = pieces[i].to + pieces[i].len;
        if (pieces[i].to < *low) *low = pieces[i].to;
        if (end > high) high = end;
    }
    return high - *low;
}

static uint32_t scatter(const xs_piece *pieces, size_t count, unsigned operand, uint64_t value)
{
    uint32_t word = 0;
    for (size_t i = 0; i < count; i++)
        if (pieces[i].operand == operand)
            word |= (uint32_t)(value >> pieces[i].to & bits_below(pieces[i].len)) << pieces[i].lsb;
    return word;
}

uint32_t xs_generate_from_rule(const xs_table *table, const xs_rule *rule, xs_rng *r)
{
    size_t count;
    const xs_operand *operands = xs_table_operands(table, &count);
    const xs_piece *pieces = xs_table_pieces(table, rule);
    uint32_t word = (uint32_t)(xs_rng_next(r) & bits_below(rule->width));
    uint64_t done = 0, other = 31;
    for (size_t i = 0; i < rule->piece_count; i++) {
        unsigned low, operand = pieces[i].operand, width;
        if (done >> operand & 1) continue;
        done |= UINT64_C(1) << operand;
        width = operand_span(pieces, rule->piece_count, operand, &low);
        uint64_t value = field_value(r, &operands[operand], width, other);
        word &= ~scatter(pieces, rule->piece_count, operand, UINT64_MAX);
        word |= scatter(pieces, rule->piece_count, operand, value << low);
        other = value;
    }
    return (word & ~rule->mask) | rule->value;
}

uint32_t xs_generate_with(const xs_table *table, const xs_rule *rule, unsigned operand, uint64_t value)
{
    const xs_piece *pieces = xs_table_pieces(table, rule);
    return (scatter(pieces, rule->piece_count, operand, value) & ~rule->mask) | rule->value;
}

static bool is_wide(const xs_rule *rule)
{
    return __builtin_popcount(rule->mask) <= 8;
}

/* Its operand is the rest of the word: nothing to choose. */
static uint32_t random_word(const xs_rule *rule, xs_rng *r)
{
    return (uint32_t)(xs_rng_next(r) & bits_below(rule->width) & ~rule->mask) | rule->value;
}

/* A word of that rule, or one that misses it by a bit: what the rule leaves to a wider one is there. */
static uint32_t word_near(const xs_table *table, const xs_rule *rule, xs_rng *r)
{
    uint32_t word = is_wide(rule) ? random_word(rule, r) : xs_generate_from_rule(table, rule, r);
    return xs_rng_below(r, 2) ? word : word ^ UINT32_C(1) << xs_rng_below(r, rule->width);
}

bool xs_generate_word(const xs_decoder *decoder, size_t entry, xs_rng *r, uint32_t *word)
{
    size_t count, rules;
    const xs_table *table = xs_decoder_table(decoder);
    const xs_rule *own = xs_decoder_entries(decoder, &count)[entry].rule,
                  *all = xs_table_rules(table, &rules);
    for (unsigned i = 0; i < 512; i++) {
        bool other = is_wide(own) && i % 2 == 0;
        const xs_rule *rule = other ? &all[xs_rng_below(r, (unsigned)rules)] : own;
        if (rule->width != own->width || rule->scan) continue;
        *word = other           ? word_near(table, rule, r)
                : is_wide(rule) ? random_word(rule, r)
                                : xs_generate_from_rule(table, rule, r);
        if (xs_lookup(decoder, *word) == entry) return true;
    }
    *word = 0;
    return false;
}

uint64_t xs_generate_value(xs_rng *r)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     UINT64_MAX,
                                     2,
                                     0x7fffffff,
                                     0x80000000,
                                     0xffffffff,
                                     0x100000000,
                                     UINT64_C(0xffffffff80000000),
                                     UINT64_C(0x7fffffffffffffff),
                                     UINT64_C(0x8000000000000000),
                                     UINT64_C(0x8000000000000001),
                                     UINT64_C(0xffffffff00000000),
                                     UINT64_C(0xffffffff7fffffff),
                                     0xfff,
                                     0x1000,
                                     0x7ff,
                                     0x800,
                                     UINT64_C(0xfffffffffffff000),
                                     UINT64_C(0xfffffffffffffffe)};
    uint64_t random = xs_rng_next(r);
    switch (random & 7) {
    case 0:
    case 1:
    case 2: return edges[(random >> 32) % (sizeof edges / sizeof *edges)];
    case 3: return UINT64_C(1) << (random >> 58);
    case 4: return ~(UINT64_C(1) << (random >> 58));
    case 5: return random >> 32 & 0xff;
    case 6: return random >> 32;
    default: return xs_rng_next(r);
    }
}
