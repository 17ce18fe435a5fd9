/* What the paths of xs_classifier share. Not installed. */
#ifndef XS_CLASSIFIER_H
#define XS_CLASSIFIER_H

#include "internal.h"

/* What is known of a word: its class, whether it is 4 bytes long, or that the byte tables leave it open. */
enum { LONG_BIT = 2, OPEN_BIT = 7 };
enum { CODE_CLASS = 3, CODE_LONG = 1 << LONG_BIT, CODE_OPEN = 1 << OPEN_BIT };

/* Two bytes of a word become one number below 256: byte[0][b] + byte[1][b'], the partial indices. */
typedef struct pair_table {
    unsigned at[2]; /* which bytes of the word, 0 the lowest */
    uint8_t byte[2][256];
    uint8_t cell[256]; /* the sum -> a code, or a partial index into factors.join */
} pair_table;

/* The factored form of an ordered rule list. The first pair looks at one half of a word and decides most
 * words, or all; where it does not, the second looks at the other half and the two meet in join:
 *     join[first.cell[...] + second.cell[...]]
 * Words that are still open after that go to the rule sets, which decide every word. */
typedef struct factors {
    pair_table first, second;
    bool has_second;
    uint8_t join[256];
    uint8_t lead[256];   /* the code by first.at[0] alone, or CODE_OPEN */
    unsigned half_at;    /* the byte where the first pair's half begins, 0 or 2 */
    uint8_t half[65536]; /* its code by the whole halfword, CODE_OPEN where the second pair would be asked */
} factors;

struct xs_classifier {
    unsigned granule;
    factors f;
    xs_index index; /* of the rules that make a difference to the code */
    uint8_t codes[XS_MAX_RULES + 1];
    const struct classify_path *path;
};

enum { BLOCK = 64 }; /* paths work on whole blocks of so many granules */

/* A way of doing whole blocks. */
typedef struct classify_path {
    const char *name;
    bool (*usable)(void); /* on this machine */
    /* count words, one class each. */
    void (*words)(const xs_classifier *c, const uint8_t *text, size_t count, uint8_t *classes);
    /* count halfwords, of which the first is XS_TAIL when *carry is 1; 2 bytes behind them are read as well.
     * *carry: whether the one behind is XS_TAIL. Returns the number of instructions begun. */
    size_t (*parcels)(const xs_classifier *c, const uint8_t *text, size_t count, uint8_t *classes,
                      unsigned *carry);
} classify_path;

extern const classify_path xs_path_scalar, xs_path_avx512, xs_path_neon;

/* What any machine can do, for paths that have nothing better. */
size_t xs_parcels_scalar(const xs_classifier *c, const uint8_t *text, size_t count, uint8_t *classes,
                         unsigned *carry);

/* factor.c: fills index, codes and f. classes: what is asked for, for each entry of d; below XS_TAIL. */
xs_status xs_factor(xs_classifier *c, const xs_decoder *d, const uint8_t *classes);

/* What no byte table decides. */
static inline uint8_t xs_code_by_rules(const xs_classifier *c, uint32_t word)
{
    return c->codes[xs_index_find(&c->index, word)];
}

/* The words of a block, step bytes apart, for which open has a bit. */
static inline void xs_close_open(const xs_classifier *c, const uint8_t *text, size_t step, uint64_t open,
                                 uint8_t *codes)
{
    for (; open; open &= open - 1) {
        size_t i = (size_t)__builtin_ctzll(open);
        codes[i] = xs_code_by_rules(c, xs_load32(text + i * step));
    }
}

/* Which of 64 parcels are the second half of a 4-byte instruction. longs: those that would be the first half
 * if an instruction began there. In a run of such parcels every second one is a beginning, counted from the
 * run's first, since what stands before a run is 2 bytes long or a tail. */
static inline uint64_t xs_tails(uint64_t longs, unsigned *carry)
{
    const uint64_t even = UINT64_C(0x5555555555555555);
    uint64_t runs = longs & ~(uint64_t)*carry;
    uint64_t sum = runs + (runs & ~(runs << 1) & even); /* clears the runs that begin at even places */
    uint64_t begins = (runs & ~sum & even) | (runs & sum & ~even);
    uint64_t tails = begins << 1 | *carry;
    *carry = (unsigned)(begins >> 63);
    return tails;
}

#endif
