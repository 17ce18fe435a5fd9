/* The hot path: a word to its entry, bytes to an instruction. */
#include <string.h>

#include "internal.h"

size_t xs_lookup(const xs_decoder *decoder, uint32_t word)
{
    return xs_index_find(&decoder->index, word);
}

xs_status xs_decode(const xs_decoder *decoder, const void *bytes, size_t avail, xs_insn *insn)
{
    insn->word = 0;
    insn->entry = NULL;
    insn->size = (uint8_t)decoder->table->granule;
    if (avail < decoder->table->granule) return XS_E_TRUNCATED;
    uint32_t word = avail >= 4 ? xs_load32(bytes) : xs_load16(bytes);
    size_t i = xs_index_find(&decoder->index, word);
    /* By the first byte where that is enough: a caller's walk then need not wait for the rule. */
    uint8_t length = decoder->lengths[word & 255];
    insn->size = length ? length : decoder->sizes[i];
    if (insn->size > avail) return XS_E_TRUNCATED;
    insn->word = insn->size == 4 ? word : word & 0xffff;
    insn->entry = &decoder->entries[i];
    xs_steps_take(decoder->steps[i], decoder->step_count[i], insn->word, insn->op);
    return XS_OK;
}
