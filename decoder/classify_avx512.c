/* 64 words at a time by the byte shuffles of AVX-512 VBMI. */
#include "classifier.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

/* A table of 256 bytes in registers. */
typedef struct table256 {
    __m512i part[4];
} table256;

static bool usable(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vbmi");
}

AVX512 static inline table256 table_at(const uint8_t bytes[256])
{
    return (table256){{_mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes + 64),
                       _mm512_loadu_si512(bytes + 128), _mm512_loadu_si512(bytes + 192)}};
}

/* A shuffle of two registers looks at 7 bits; the eighth chooses between two of them. */
AVX512 static inline __m512i look_up(const table256 *t, __m512i i)
{
    __m512i low = _mm512_permutex2var_epi8(t->part[0], i, t->part[1]);
    __m512i high = _mm512_permutex2var_epi8(t->part[2], i, t->part[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(i), low, high);
}

/* A pair_table, and the shuffles that collect its two bytes of all words of a block. */
typedef struct pair256 {
    table256 byte[2], cell;
} pair256;

AVX512 static inline pair256 pair_at(const pair_table *p)
{
    return (pair256){{table_at(p->byte[0]), table_at(p->byte[1])}, table_at(p->cell)};
}

AVX512 static inline __m512i cell_of(const pair256 *p, const __m512i bytes[2])
{
    return look_up(&p->cell, _mm512_add_epi8(look_up(&p->byte[0], bytes[0]), look_up(&p->byte[1], bytes[1])));
}

/* Of each word in two registers its byte at[0], in the lower half, and at[1]. */
AVX512 static inline __m512i every_word(const unsigned at[2])
{
    uint8_t from[64];
    for (size_t i = 0; i < 64; i++)
        from[i] = (uint8_t)(i % 32 * 4 + at[i / 32]);
    return _mm512_loadu_si512(from);
}

/* ---- words of 4 bytes ------------------------------------------------------------------------------- */

AVX512 static inline void planes_of_words(const __m512i v[4], __m512i from, __m512i planes[2])
{
    __m512i a = _mm512_permutex2var_epi8(v[0], from, v[1]), b = _mm512_permutex2var_epi8(v[2], from, v[3]);
    planes[0] = _mm512_shuffle_i64x2(a, b, 0x44);
    planes[1] = _mm512_shuffle_i64x2(a, b, 0xee);
}

AVX512 static void words(const xs_classifier *c, const uint8_t *text, size_t count, uint8_t *classes)
{
    const pair256 first = pair_at(&c->f.first), second = pair_at(&c->f.second);
    const table256 join = table_at(c->f.join);
    const __m512i from = every_word(c->f.first.at), other = every_word(c->f.second.at);
    const bool has_second = c->f.has_second;
    for (size_t at = 0; at < count; at += BLOCK, text += 4 * BLOCK) {
        __m512i v[4], planes[2];
        for (size_t i = 0; i < 4; i++)
            v[i] = _mm512_loadu_si512(text + 64 * i);
        planes_of_words(v, from, planes);
        __m512i code = cell_of(&first, planes);
        if (has_second) {
            planes_of_words(v, other, planes);
            code = look_up(&join, _mm512_add_epi8(code, cell_of(&second, planes)));
        }
        _mm512_storeu_si512(classes + at, code);
        xs_close_open(c, text, 4, _mm512_movepi8_mask(code), classes + at);
    }
}

/* ---- parcels of 2 bytes ----------------------------------------------------------------------------- */

/* The bytes at[0] and at[1], which are of one half, of the 64 words that begin at each parcel. */
AVX512 static inline void planes_of_parcels(const uint8_t *text, const unsigned at[2], __m512i from,
                                            __m512i planes[2])
{
    const uint8_t *half = text + (at[0] & 2);
    __m512i a = _mm512_loadu_si512(half), b = _mm512_loadu_si512(half + 64);
    planes[0] = _mm512_permutex2var_epi8(a, from, b);
    planes[1] = _mm512_permutex2var_epi8(a, _mm512_xor_si512(from, _mm512_set1_epi8(1)), b);
}

AVX512 static inline __m512i every_parcel(const unsigned at[2])
{
    uint8_t from[64];
    for (size_t i = 0; i < 64; i++)
        from[i] = (uint8_t)(2 * i + (at[0] & 1));
    return _mm512_loadu_si512(from);
}

AVX512 static size_t parcels(const xs_classifier *c, const uint8_t *text, size_t count, uint8_t *classes,
                             unsigned *carry)
{
    const pair256 first = pair_at(&c->f.first), second = pair_at(&c->f.second);
    const table256 join = table_at(c->f.join);
    const __m512i from = every_parcel(c->f.first.at), other = every_parcel(c->f.second.at);
    const __m512i long_flag = _mm512_set1_epi8(CODE_LONG), class_bits = _mm512_set1_epi8(CODE_CLASS);
    const bool has_second = c->f.has_second;
    size_t begun = count;
    for (size_t at = 0; at < count; at += BLOCK, text += 2 * BLOCK) {
        __m512i planes[2];
        planes_of_parcels(text, c->f.first.at, from, planes);
        __m512i code = cell_of(&first, planes);
        if (has_second) {
            planes_of_parcels(text, c->f.second.at, other, planes);
            code = look_up(&join, _mm512_add_epi8(code, cell_of(&second, planes)));
        }
        uint64_t open = _mm512_movepi8_mask(code);
        if (open) {
            uint8_t codes[BLOCK];
            _mm512_storeu_si512(codes, code);
            xs_close_open(c, text, 2, open, codes);
            code = _mm512_loadu_si512(codes);
        }
        uint64_t tails = xs_tails(_mm512_test_epi8_mask(code, long_flag), carry);
        code = _mm512_mask_mov_epi8(_mm512_and_si512(code, class_bits), tails, class_bits);
        _mm512_storeu_si512(classes + at, code);
        begun -= (size_t)__builtin_popcountll(tails);
    }
    return begun;
}

#else
static bool usable(void)
{
    return false;
}
#define words   NULL
#define parcels NULL
#endif

const classify_path xs_path_avx512 = {"avx512-vbmi", usable, words, parcels};
