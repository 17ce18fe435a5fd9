/* The hot path: a word to its entry, bytes to an instruction. */
#include <string.h>

#include "internal.h"

size_t xs_lookup(const xs_decoder *decoder, uint32_t word)
{
    return xs_halves_find(&decoder->halves, &decoder->index, word);
}

static inline void fill(const xs_decoder *d, size_t i, uint32_t word, xs_insn *insn)
{
    insn->word = word;
    insn->entry = &d->entries[i];
    if (d->steps[i]) xs_steps_take(d->steps[i], word, insn->op);
}

/* Near the end of the text: a halfword, or too little. */
static xs_status decode_last(const xs_decoder *d, const uint8_t *bytes, size_t avail, xs_insn *insn)
{
    insn->word = 0;
    insn->entry = NULL;
    insn->size = (uint8_t)d->table->granule;
    if (avail < d->table->granule) return XS_E_TRUNCATED;
    size_t i = xs_index_find(&d->index, xs_load16(bytes));
    insn->size = d->sizes[i];
    if (insn->size > avail) return XS_E_TRUNCATED;
    fill(d, i, xs_load16(bytes), insn);
    return XS_OK;
}

xs_status xs_decode(const xs_decoder *decoder, const void *bytes, size_t avail, xs_insn *insn)
{
    if (avail < 4) return decode_last(decoder, bytes, avail, insn);
    uint32_t word = xs_load32(bytes);
    size_t i = xs_halves_find(&decoder->halves, &decoder->index, word);
    /* By the first byte where that is enough: a caller's walk then need not wait for the rule. */
    uint8_t length = decoder->lengths[word & 255];
    insn->size = length ? length : decoder->sizes[i];
    fill(decoder, i, insn->size == 4 ? word : word & 0xffff, insn);
    return XS_OK;
}
