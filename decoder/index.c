/* From masks and values to sets of rules by byte. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

bool xs_index_open(xs_index *index, size_t rules)
{
    index->words = (rules + 63) / 64;
    index->rows = calloc(1024 * index->words, sizeof *index->rows);
    return index->rows != NULL;
}

void xs_index_close(xs_index *index)
{
    free(index->rows);
    *index = (xs_index){0};
}

/* The rule joins the rows of the byte values that its mask and value allow. They are the subsets of the
 * free bits, added to the fixed ones. */
void xs_index_add(xs_index *index, size_t rule, uint32_t mask, uint32_t value)
{
    for (unsigned byte = 0; byte < 4; byte++) {
        unsigned free_bits = ~(mask >> (8 * byte)) & 255, fixed = value >> (8 * byte) & 255, subset = 0;
        do {
            uint64_t *set = index->rows + (byte * 256 + (fixed | subset)) * index->words;
            set[rule / 64] |= UINT64_C(1) << (rule % 64);
            subset = (subset - free_bits) & free_bits;
        } while (subset);
    }
}

/* ---- one half by itself ------------------------------------------------------------------------------ */

/* Number the different rows of a byte; row[i] is where the i-th of them stands. Returns how many. */
static uint16_t number_rows(const xs_index *index, unsigned byte, uint16_t kind[256],
                            const uint64_t *row[256])
{
    uint16_t count = 0;
    for (size_t v = 0; v < 256; v++) {
        const uint64_t *mine = index->rows + (byte * 256 + v) * index->words;
        uint16_t k = 0;
        while (k < count && memcmp(mine, row[k], index->words * sizeof *mine) != 0)
            k++;
        if (k == count) row[count++] = mine;
        kind[v] = k;
    }
    return count;
}

/* The first rule of both sets, if it asks no bit outside known. */
static uint16_t decided(const uint64_t *a, const uint64_t *b, const uint32_t *masks, uint32_t known)
{
    size_t w = 0;
    while ((a[w] & b[w]) == 0) /* the last rule matches all */
        w++;
    size_t rule = w * 64 + (size_t)__builtin_ctzll(a[w] & b[w]);
    return masks[rule] & ~known ? XS_OPEN : (uint16_t)rule;
}

bool xs_halves_make(xs_halves *h, const xs_index *index, unsigned shift, const uint32_t *masks)
{
    const uint64_t *low[256], *high[256];
    uint16_t lows = number_rows(index, shift / 8, h->kind[0], low);
    uint16_t highs = number_rows(index, shift / 8 + 1, h->kind[1], high);
    h->shift = shift;
    h->rule = malloc((size_t)lows * highs * sizeof *h->rule);
    if (!h->rule) return false;
    for (size_t i = 0; i < highs; i++)
        for (size_t j = 0; j < lows; j++)
            h->rule[i * lows + j] = decided(low[j], high[i], masks, UINT32_C(0xffff) << shift);
    for (size_t v = 0; v < 256; v++)
        h->kind[1][v] = (uint16_t)(h->kind[1][v] * lows);
    return true;
}
