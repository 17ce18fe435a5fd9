/* Sets of words as cubes, beside the same sets as bits: of small parts of the words, every one is looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "../cli/cubes.h"
#include "tests.h"

enum { DOMAIN = 1 << 16 };

/* Which words of the domain a range has put there, and how often. */
static uint8_t seen[DOMAIN];

/* The domain's words are 0, step, 2 * step ...: with step 65536 it is the upper halfwords below one lower
 * one. */
static uint32_t word_of(uint32_t i, uint32_t step)
{
    return i * step + (step == 1 ? 0xabcd0000u : 0x1234);
}

static uint32_t below(rng *r, uint32_t n)
{
    return rng_next(r) % n;
}

/* Ranges of any length, in any order, none of which touches a word of another. */
static cube_list random_list(rng *r, uint32_t step, unsigned ranges)
{
    cube_list cubes = {0};
    memset(seen, 0, sizeof seen);
    for (unsigned n = 0; n < ranges; n++) {
        uint32_t first = below(r, DOMAIN), last = first + below(r, 1u << below(r, 14)), end = first;
        while (end < DOMAIN && end <= last && !seen[end])
            seen[end++] = 1;
        if (end > first)
            ck_assert(cubes_add_words(&cubes, word_of(first, step), word_of(end - 1, step), step));
    }
    return cubes;
}

static size_t holders(const cube_list *cubes, uint32_t word)
{
    size_t n = 0;
    for (size_t i = 0; i < cubes->count; i++)
        n += cube_holds(cubes->list[i], word);
    return n;
}

static void check_same(const cube_list *cubes, uint32_t step)
{
    uint64_t words = 0, expected = 0;
    for (size_t i = 0; i < cubes->count; i++)
        words += cube_words(cubes->list[i]);
    for (uint32_t i = 0; i < DOMAIN; i++) {
        expected += seen[i];
        if (holders(cubes, word_of(i, step)) != seen[i]) wrong("0x%08x, step %u", word_of(i, step), step);
    }
    ck_assert_uint_eq(words, expected);
}

START_TEST(ranges_and_joins)
{
    const uint32_t step = _i % 2 ? 1 : 1u << 16;
    rng r = rng_new("ranges_and_joins");
    for (unsigned n = 0; n < 12; n++) {
        cube_list cubes = random_list(&r, step, 1 + below(&r, 40));
        check_same(&cubes, step);
        size_t before = cubes.count;
        cubes_join(&cubes);
        ck_assert_uint_le(cubes.count, before);
        check_same(&cubes, step);
        cubes_close(&cubes);
    }
    all_right();
}
END_TEST

/* A rule's words in pieces become the rule again, whatever bits it has; so do all words. */
START_TEST(pieces_of_a_cube)
{
    rng r = rng_new("pieces_of_a_cube");
    for (unsigned n = 0; n < 50; n++) {
        cube_list cubes = {0};
        uint32_t mask = rng_next(&r) | rng_next(&r), value = rng_next(&r) & mask, left = 0;
        do
            ck_assert(cubes_add_words(&cubes, value | left, value | left, 1));
        while ((left = (left - ~mask) & ~mask) != 0);
        cubes_join(&cubes);
        ck_assert_uint_eq(cubes.count, 1);
        ck_assert(cubes.list[0].mask == mask && cubes.list[0].value == value);
        cubes_close(&cubes);
    }
    cube_list all = {0};
    ck_assert(cubes_add_words(&all, 0, 6, 1) && cubes_add_words(&all, 7, UINT32_MAX, 1));
    cubes_join(&all);
    ck_assert_uint_eq(all.count, 1);
    ck_assert_uint_eq(cube_words(all.list[0]), UINT64_C(1) << 32);
    cubes_close(&all);
}
END_TEST

/* ---- cutting ----------------------------------------------------------------------------------- */

typedef struct pieces {
    const cube_list *by;
    cube whole;
    uint64_t words;
    unsigned left; /* calls until it says stop */
} pieces;

/* Every word of the piece is of the whole, and in the cube that it is said to be in, or in none. */
static bool look(void *arg, cube piece, size_t in)
{
    pieces *p = arg;
    uint32_t bits = 0;
    do {
        uint32_t word = piece.value | bits;
        size_t n = holders(p->by, word);
        bool right = in == SIZE_MAX ? n == 0 : n == 1 && cube_holds(p->by->list[in], word);
        if (!right || !cube_holds(p->whole, word)) wrong("0x%08x is in the wrong piece", word);
    } while ((bits = (bits - ~piece.mask) & ~piece.mask) != 0);
    p->words += cube_words(piece);
    return --p->left > 0;
}

START_TEST(cuts)
{
    rng r = rng_new("cuts");
    for (unsigned n = 0; n < 60; n++) {
        const uint32_t step = n % 2 ? 1 : 1u << 16;
        cube_list cubes = random_list(&r, step, below(&r, 30));
        cubes_join(&cubes);
        uint32_t mask = rng_next(&r) | ~((DOMAIN - 1) * step),
                 value = word_of(below(&r, DOMAIN), step) & mask;
        pieces p = {.by = &cubes, .whole = {mask, value}, .left = UINT32_MAX};
        ck_assert(cubes_cut(&cubes, p.whole, look, &p));
        ck_assert_uint_eq(p.words, cube_words(p.whole)); /* and so none is there twice */
        cubes_close(&cubes);
    }
    all_right();
}
END_TEST

static bool add_up(void *arg, cube piece, size_t in)
{
    uint64_t *words = arg;
    words[in == SIZE_MAX] += cube_words(piece);
    return true;
}

/* Words without any pattern, as of a kernel that answers at random: no faster than n log n would end. */
START_TEST(many_of_no_pattern)
{
    rng r = rng_new("many_of_no_pattern");
    cube_list cubes = {0};
    uint64_t words[2] = {0};
    for (uint32_t word = 0x0b000000; word < 0x0c000000; word += 1 + below(&r, 512))
        ck_assert(cubes_add_words(&cubes, word, word, 1));
    uint64_t count = cubes.count;
    cubes_join(&cubes);
    ck_assert(cubes_cut(&cubes, (cube){0xf0000000, 0}, add_up, words));
    ck_assert_uint_ge(count, 60000);
    ck_assert_uint_eq(words[0], count);
    ck_assert_uint_eq(words[1], (1u << 28) - count);
    cubes_close(&cubes);
}
END_TEST

START_TEST(stops_when_told)
{
    cube_list cubes = {0};
    ck_assert(cubes_add_words(&cubes, 0x101, 0x1fe, 1));
    for (unsigned calls = 1; calls < 8; calls++) {
        pieces p = {.by = &cubes, .whole = {~UINT32_C(0x3ff), 0}, .left = calls};
        ck_assert(!cubes_cut(&cubes, p.whole, look, &p));
        ck_assert_uint_eq(p.left, 0);
    }
    all_right();
    cubes_close(&cubes);
}
END_TEST

Suite *cubes_suite(void)
{
    Suite *s = suite_create("cubes");
    TCase *t = tcase_create("cubes");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, ranges_and_joins, 0, 2);
    tcase_add_test(t, pieces_of_a_cube);
    tcase_add_test(t, cuts);
    tcase_add_test(t, many_of_no_pattern);
    tcase_add_test(t, stops_when_told);
    suite_add_tcase(s, t);
    return s;
}
