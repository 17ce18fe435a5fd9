/* Text to classes: the choice of a path, what is left over by whole blocks, and the path for any machine. */
#include <stdlib.h>
#include <string.h>

#include "classifier.h"

/* ---- the scalar path -------------------------------------------------------------------------------- */

static bool always(void)
{
    return true;
}

/* Numbers whose lowest byte comes first in memory. */
static uint64_t load64(const uint8_t *b)
{
    uint64_t value;
    memcpy(&value, b, sizeof value);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? value : __builtin_bswap64(value);
}

static void store64(uint8_t *b, uint64_t value)
{
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) value = __builtin_bswap64(value);
    memcpy(b, &value, sizeof value);
}

static const uint64_t each_byte = UINT64_C(0x0101010101010101);

/* Bit `bit` of each of eight bytes, side by side: the product shifts that of byte k to place 56 + k. */
static inline uint64_t bits_of(uint64_t eight, unsigned bit)
{
    return ((eight >> bit & each_byte) * UINT64_C(0x0102040810204080)) >> 56;
}

/* What the halves of a block's words say, one look at each; returns a bit for each code that is open. */
static inline __attribute__((always_inline)) uint64_t
codes_by_half(const xs_classifier *c, const uint8_t *text, size_t step /* constant */, uint8_t codes[BLOCK])
{
    const uint8_t *half = text + c->f.half_at, *code = c->f.half;
    uint64_t open = 0;
    for (size_t i = 0; i < BLOCK; i += 8, half += 8 * step) {
        uint64_t eight = code[xs_load16(half)];
        eight |= (uint64_t)code[xs_load16(half + step)] << 8;
        eight |= (uint64_t)code[xs_load16(half + 2 * step)] << 16;
        eight |= (uint64_t)code[xs_load16(half + 3 * step)] << 24;
        eight |= (uint64_t)code[xs_load16(half + 4 * step)] << 32;
        eight |= (uint64_t)code[xs_load16(half + 5 * step)] << 40;
        eight |= (uint64_t)code[xs_load16(half + 6 * step)] << 48;
        eight |= (uint64_t)code[xs_load16(half + 7 * step)] << 56;
        store64(codes + i, eight);
        open |= bits_of(eight, OPEN_BIT) << i;
    }
    return open;
}

static void words_scalar(const xs_classifier *c, const uint8_t *text, size_t count, uint8_t *classes)
{
    for (size_t at = 0; at < count; at += BLOCK)
        xs_close_open(c, text + 4 * at, 4, codes_by_half(c, text + 4 * at, 4, classes + at), classes + at);
}

static uint64_t longs_of(const uint8_t codes[BLOCK])
{
    uint64_t longs = 0;
    for (unsigned i = 0; i < BLOCK; i += 8)
        longs |= bits_of(load64(codes + i), LONG_BIT) << i;
    return longs;
}

/* Codes become classes; where tails has a bit, XS_TAIL, which is every bit of a class. */
static void put_tails(uint8_t codes[BLOCK], uint64_t tails)
{
    for (unsigned i = 0; i < BLOCK; i += 8) {
        uint64_t spread = (tails >> i & 255) * each_byte & UINT64_C(0x8040201008040201);
        uint64_t ones =
            (spread + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & each_byte; /* the top one: 0x80 + 0x7f */
        store64(codes + i, (load64(codes + i) & each_byte * CODE_CLASS) | ones * XS_TAIL);
    }
}

size_t xs_parcels_scalar(const xs_classifier *c, const uint8_t *text, size_t count, uint8_t *classes,
                         unsigned *carry)
{
    size_t begun = count;
    for (size_t at = 0; at < count; at += BLOCK) {
        uint8_t *codes = classes + at;
        xs_close_open(c, text + 2 * at, 2, codes_by_half(c, text + 2 * at, 2, codes), codes);
        uint64_t tails = xs_tails(longs_of(codes), carry);
        put_tails(codes, tails);
        begun -= (size_t)__builtin_popcountll(tails);
    }
    return begun;
}

const classify_path xs_path_scalar = {"scalar", always, words_scalar, xs_parcels_scalar};

/* ---- choice ------------------------------------------------------------------------------------------ */

static const classify_path *const paths[] = {&xs_path_avx512, &xs_path_neon, &xs_path_scalar};
enum { PATHS = sizeof paths / sizeof *paths };

const char *xs_classifier_path_name(size_t i)
{
    return i < PATHS ? paths[i]->name : NULL;
}

const char *xs_classifier_path(const xs_classifier *classifier)
{
    return classifier->path->name;
}

static const classify_path *choose(const char *name)
{
    for (size_t i = 0; i < PATHS; i++)
        if ((!name || strcmp(name, paths[i]->name) == 0) && paths[i]->usable()) return paths[i];
    return NULL;
}

static xs_status make(const xs_decoder *d, const uint8_t *classes, const char *path, xs_classifier **out)
{
    *out = NULL;
    const classify_path *chosen = choose(path);
    if (!chosen) return XS_E_RANGE;
    xs_classifier *c = calloc(1, sizeof *c);
    if (!c) return XS_E_NOMEM;
    c->granule = d->table->granule;
    c->path = chosen;
    xs_status status = xs_factor(c, d, classes);
    if (status != XS_OK) {
        xs_classifier_free(c);
        return status;
    }
    *out = c;
    return XS_OK;
}

xs_status xs_classifier_new(const xs_decoder *decoder, const char *path, xs_classifier **out)
{
    return make(decoder, decoder->classes, path, out);
}

xs_status xs_flow_finder_new(const xs_decoder *decoder, xs_flow flow, const char *path, xs_classifier **out)
{
    uint8_t is_flow[XS_MAX_RULES + 1];
    for (size_t i = 0; i <= decoder->count; i++)
        is_flow[i] = decoder->entries[i].rule->flow == flow;
    return make(decoder, is_flow, path, out);
}

void xs_classifier_free(xs_classifier *classifier)
{
    if (!classifier) return;
    xs_index_close(&classifier->index);
    free(classifier);
}

/* ---- whole texts ------------------------------------------------------------------------------------- */

static size_t classify_words(const xs_classifier *c, const uint8_t *text, size_t size, uint8_t *classes,
                             size_t *left)
{
    size_t count = size / 4, blocks = count / BLOCK * BLOCK;
    c->path->words(c, text, blocks, classes);
    for (size_t i = blocks; i < count; i++)
        classes[i] = xs_code_by_rules(c, xs_load32(text + 4 * i));
    *left = size % 4;
    return count;
}

/* One instruction after the other, from the parcel at on; what is no whole instruction is XS_TAIL. */
static size_t walk(const xs_classifier *c, const uint8_t *text, size_t size, size_t at, uint8_t *classes,
                   size_t *left)
{
    size_t begun = 0;
    for (; size - at >= 2; begun++) {
        uint8_t code = xs_code_by_rules(c, size - at >= 4 ? xs_load32(text + at) : xs_load16(text + at));
        size_t length = code & CODE_LONG ? 4 : 2;
        if (length > size - at) break;
        classes[at / 2] = code & CODE_CLASS;
        if (length == 4) classes[at / 2 + 1] = XS_TAIL;
        at += length;
    }
    *left = size - at;
    memset(classes + at / 2, XS_TAIL, size / 2 - at / 2);
    return begun;
}

static size_t classify_parcels(const xs_classifier *c, const uint8_t *text, size_t size, uint8_t *classes,
                               size_t *left)
{
    size_t blocks = size < 2 ? 0 : (size - 2) / 2 / BLOCK * BLOCK; /* each has a whole parcel behind it */
    unsigned carry = 0;
    size_t begun = c->path->parcels(c, text, blocks, classes, &carry);
    if (carry) classes[blocks] = XS_TAIL;
    return begun + walk(c, text, size, 2 * (blocks + carry), classes, left);
}

size_t xs_classify_text(const xs_classifier *classifier, const void *text, size_t size, uint8_t *classes,
                        size_t *left)
{
    return classifier->granule == 4 ? classify_words(classifier, text, size, classes, left)
                                    : classify_parcels(classifier, text, size, classes, left);
}

/* ---- counting ---------------------------------------------------------------------------------------- */

/* Eight sums of at most 255 at a time: how often each bit of a class is set, and both. */
static void count_some(const uint8_t *classes, size_t eights, uint64_t counts[4])
{
    uint64_t low = 0, high = 0, both = 0;
    for (size_t i = 0; i < eights; i++) {
        uint64_t v = load64(classes + 8 * i), l = v & each_byte, h = v >> 1 & each_byte;
        low += l;
        high += h;
        both += l & h;
    }
    for (unsigned i = 0; i < 64; i += 8) {
        uint64_t l = low >> i & 255, h = high >> i & 255, b = both >> i & 255;
        counts[1] += l - b;
        counts[2] += h - b;
        counts[3] += b;
        counts[0] += eights - l - h + b;
    }
}

void xs_count_classes(const uint8_t *classes, size_t count, uint64_t counts[XS_TAIL + 1])
{
    size_t at = 0;
    for (size_t eights; (eights = (count - at) / 8) > 0; at += 8 * eights) {
        if (eights > 255) eights = 255;
        count_some(classes + at, eights, counts);
    }
    for (; at < count; at++)
        counts[classes[at]]++;
}
