/* The limit: loops that touch memory as a classifier must, and do nothing else. */
#include "bench.h"

#include <string.h>

/* The plain loops, vectorized by the compiler for what the machine has. */
#if defined __x86_64__ && defined __gnu_linux__ && __has_attribute(target_clones)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CLONES
#endif

static uint32_t word_at(const uint8_t *text)
{
    uint32_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

CLONES static void tops_plain(const uint8_t *restrict text, size_t words, uint8_t *restrict out)
{
    for (size_t i = 0; i < words; i++)
        out[i] = (uint8_t)(word_at(text + 4 * i) >> 24);
}

CLONES static uint64_t read_plain(const uint8_t *text, size_t words)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < words / 2; i++) {
        uint64_t two;
        memcpy(&two, text + 8 * i, sizeof two);
        sum += two;
    }
    return sum;
}

#ifdef __x86_64__
#include <immintrin.h>

/* One store of 64 bytes for 64 words: a little better than what compilers make of the plain loop. */
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) static void tops_vbmi(const uint8_t *text,
                                                                             size_t words, uint8_t *out)
{
    uint8_t tops[64];
    for (unsigned i = 0; i < 64; i++)
        tops[i] = (uint8_t)(i % 32 * 4 + 3);
    const __m512i index = _mm512_loadu_si512(tops);
    for (size_t i = 0; i < words; i += 64, text += 256) {
        __m512i low =
            _mm512_permutex2var_epi8(_mm512_loadu_si512(text), index, _mm512_loadu_si512(text + 64));
        __m512i high =
            _mm512_permutex2var_epi8(_mm512_loadu_si512(text + 128), index, _mm512_loadu_si512(text + 192));
        _mm512_storeu_si512(out + i, _mm512_inserti64x4(low, _mm512_castsi512_si256(high), 1));
    }
}

static bool has_vbmi(void)
{
    return __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bw");
}
#else
static void tops_vbmi(const uint8_t *text, size_t words, uint8_t *out)
{
    tops_plain(text, words, out);
}

static bool has_vbmi(void)
{
    return false;
}
#endif

void memory_copy_tops(const uint8_t *text, size_t words, uint8_t *out)
{
    if (has_vbmi())
        tops_vbmi(text, words, out);
    else
        tops_plain(text, words, out);
}

volatile uint64_t memory_sum; /* wanted, so that the loop stays */

void memory_read(const uint8_t *text, size_t words)
{
    memory_sum = read_plain(text, words);
}

const char *memory_how(void)
{
    return has_vbmi() ? "AVX-512 VBMI" : "the compiler's vectors";
}
