/* Words and values worth trying: drawn from a table's own fields, and from the edges of arithmetic. */
#ifndef XOLSIM_ORACLE_GENERATE_H
#define XOLSIM_ORACLE_GENERATE_H

#include "xolsim.h"

/* The same numbers for the same seed, name and number, whatever ran before (splitmix64). */
typedef struct xs_rng {
    uint64_t state;
} xs_rng;
xs_rng xs_rng_new(uint64_t seed, const char *name, uint64_t number);

static inline uint64_t xs_rng_next(xs_rng *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline unsigned xs_rng_below(xs_rng *r, unsigned n)
{
    return (unsigned)(((xs_rng_next(r) >> 32) * n) >> 32);
}

/* A word of this rule: its operands are 0, 1, the largest, next to the sign's edge, equal to each other, one
 * bit, small, or random; bits nobody looks at are random. */
uint32_t xs_generate_from_rule(const xs_table *table, const xs_rule *rule, xs_rng *r);

/* A word of this rule with one operand as given and every other free bit zero. */
uint32_t xs_generate_with(const xs_table *table, const xs_rule *rule, unsigned operand, uint64_t value);

/* A word that the decoder gives to this entry, whatever stands before it. A rule that fixes few bits gets
 * half of its words from the other rules of the table, or a bit beside them. false: none was found. */
bool xs_generate_word(const xs_decoder *decoder, size_t entry, xs_rng *r, uint32_t *word);

/* A number at an edge: 0, 1, -1, around 2^31, 2^32, 2^63, a page, one bit, small, or random. */
uint64_t xs_generate_value(xs_rng *r);

#endif
