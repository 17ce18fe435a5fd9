/* The hot path: a word to its entry, bytes to an instruction. */
#include <string.h>

#include "internal.h"

size_t xs_lookup(const xs_decoder *decoder, uint32_t word)
{
    return xs_index_find(&decoder->index, word);
}

/* The entry of what begins at bytes, of which at least a granule may be read. */
static inline size_t lookup_bytes(const xs_decoder *d, const uint8_t *bytes, size_t avail)
{
    return xs_index_find(&d->index, avail >= 4 ? xs_load32(bytes) : xs_load16(bytes));
}

xs_status xs_decode(const xs_decoder *decoder, const void *bytes, size_t avail, xs_insn *insn)
{
    insn->word = 0;
    insn->entry = NULL;
    insn->size = (uint8_t)decoder->table->granule;
    if (avail < decoder->table->granule) return XS_E_TRUNCATED;
    size_t i = lookup_bytes(decoder, bytes, avail);
    insn->size = decoder->sizes[i];
    if (insn->size > avail) return XS_E_TRUNCATED;
    insn->word = insn->size == 4 ? xs_load32(bytes) : xs_load16(bytes);
    insn->entry = &decoder->entries[i];
    xs_rule_operands(decoder->table, insn->entry->rule, insn->word, insn->op);
    return XS_OK;
}
