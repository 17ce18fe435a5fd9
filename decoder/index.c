/* From masks and values to sets of rules by byte. */
#include <stdlib.h>

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
