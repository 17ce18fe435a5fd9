/* The hot path: a word to its entry, bytes to an instruction, text to classes. */
#include <string.h>

#include "internal.h"

static inline size_t lookup(const xs_decoder *d, uint32_t word)
{
    const size_t n = d->set_words;
    const uint64_t *a = d->rows + (word & 255) * n, *b = d->rows + (256 + (word >> 8 & 255)) * n;
    const uint64_t *c = d->rows + (512 + (word >> 16 & 255)) * n, *e = d->rows + (768 + (word >> 24)) * n;
    size_t i = 0;
    uint64_t set = a[0] & b[0] & c[0] & e[0];
    while (set == 0) { /* the last entry matches every word */
        i++;
        set = a[i] & b[i] & c[i] & e[i];
    }
    return i * 64 + (size_t)__builtin_ctzll(set);
}

size_t xs_lookup(const xs_decoder *decoder, uint32_t word)
{
    return lookup(decoder, word);
}

/* Little-endian, whatever the host is. */
static inline uint32_t load16(const uint8_t *b)
{
    return (uint32_t)(b[0] | b[1] << 8);
}

static inline uint32_t load32(const uint8_t *b)
{
    return load16(b) | load16(b + 2) << 16;
}

/* The entry of what begins at bytes, of which at least a granule may be read. */
static inline size_t lookup_bytes(const xs_decoder *d, const uint8_t *bytes, size_t avail)
{
    return lookup(d, avail >= 4 ? load32(bytes) : load16(bytes));
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
    insn->word = insn->size == 4 ? load32(bytes) : load16(bytes);
    insn->entry = &decoder->entries[i];
    xs_rule_operands(decoder->table, insn->entry->rule, insn->word, insn->op);
    return XS_OK;
}

static size_t classify_fixed(const xs_decoder *d, const uint8_t *text, size_t size, uint8_t *classes)
{
    for (size_t i = 0; i < size / 4; i++)
        classes[i] = d->classes[lookup(d, load32(text + 4 * i))];
    return size / 4;
}

static size_t classify_mixed(const xs_decoder *d, const uint8_t *text, size_t size, uint8_t *classes,
                             size_t *done)
{
    size_t at = 0, count = 0;
    while (size - at >= 2) {
        size_t i = lookup_bytes(d, text + at, size - at);
        if (d->sizes[i] > size - at) break;
        classes[at / 2] = d->classes[i];
        if (d->sizes[i] == 4) classes[at / 2 + 1] = XS_TAIL;
        at += d->sizes[i];
        count++;
    }
    *done = at;
    return count;
}

size_t xs_classify_text(const xs_decoder *decoder, const void *text, size_t size, uint8_t *classes,
                        size_t *left)
{
    size_t granule = decoder->table->granule, done = size / 4 * 4;
    size_t count = granule == 4 ? classify_fixed(decoder, text, size, classes)
                                : classify_mixed(decoder, text, size, classes, &done);
    *left = size - done;
    memset(classes + done / granule, XS_TAIL, size / granule - done / granule);
    return count;
}
