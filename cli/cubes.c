/* Sets of words as cubes. */
#include "cubes.h"

#include <stdlib.h>

uint64_t cube_words(cube c)
{
    return UINT64_C(1) << (32 - __builtin_popcount(c.mask));
}

bool cube_holds(cube c, uint32_t word)
{
    return (word & c.mask) == c.value;
}

bool cubes_add(cube_list *cubes, cube c)
{
    if (cubes->count == cubes->room) {
        size_t room = cubes->room ? cubes->room * 2 : 16;
        cube *larger = reallocarray(cubes->list, room, sizeof *larger);
        if (!larger) return false;
        cubes->list = larger;
        cubes->room = room;
    }
    cubes->list[cubes->count++] = c;
    return true;
}

/* Counted in steps, the words are a range: it is made of blocks of a power of two, each where such a block
 * may begin. */
bool cubes_add_words(cube_list *cubes, uint32_t first, uint32_t last, uint32_t step)
{
    uint64_t at = first / step, end = (uint64_t)(last / step) + 1, size;
    bool ok = true;
    for (; ok && at < end; at += size) {
        for (size = 1; at % (size * 2) == 0 && at + size * 2 <= end;)
            size *= 2;
        ok = cubes_add(cubes, (cube){~(uint32_t)((size - 1) * step), (uint32_t)at * step + first % step});
    }
    return ok;
}

void cubes_close(cube_list *cubes)
{
    free(cubes->list);
    *cubes = (cube_list){0};
}

/* ---- joining ----------------------------------------------------------------------------------- */

static int by_value(const void *x, const void *y)
{
    const cube *a = x, *b = y;
    if (a->mask != b->mask) return a->mask < b->mask ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

static void sort(cube_list *cubes)
{
    if (cubes->count) qsort(cubes->list, cubes->count, sizeof *cubes->list, by_value);
}

static void rotate(cube_list *cubes, unsigned bits)
{
    for (size_t i = 0; bits && i < cubes->count; i++)
        cubes->list[i].value = cubes->list[i].value >> bits | cubes->list[i].value << (32 - bits);
}

/* Of two cubes that differ in this bit one is made. They are neighbours when that bit counts least. */
static void join_at(cube_list *cubes, unsigned bit)
{
    size_t kept = 0;
    rotate(cubes, bit);
    sort(cubes);
    for (size_t i = 0; i < cubes->count; i++) {
        cube c = cubes->list[i], *before = kept ? &cubes->list[kept - 1] : NULL;
        if (before && before->mask == c.mask && (before->value ^ c.value) == 1) {
            before->mask &= ~(1u << bit);
            before->value &= ~1u;
        } else {
            cubes->list[kept++] = c;
        }
    }
    cubes->count = kept;
    rotate(cubes, (32 - bit) % 32);
}

void cubes_join(cube_list *cubes)
{
    size_t before;
    do {
        before = cubes->count;
        for (unsigned bit = 32; bit-- > 0;)
            join_at(cubes, bit);
    } while (cubes->count < before);
    sort(cubes);
}

/* ---- cutting ----------------------------------------------------------------------------------- */

static bool meet(cube a, cube b)
{
    return ((a.value ^ b.value) & a.mask & b.mask) == 0;
}

/* Those of some cubes of the list (NULL: of all) that meet another; NULL: no memory. */
static size_t *meeting(const cube_list *cubes, const size_t *some, size_t *count, cube whole)
{
    size_t n = 0, *found = calloc(*count + 1, sizeof *found);
    for (size_t i = 0; found && i < *count; i++) {
        size_t place = some ? some[i] : i;
        if (meet(whole, cubes->list[place])) found[n++] = place;
    }
    *count = n;
    return found;
}

/* What is outside of the first that meets it is cut along that one's bits: the n-th piece has the first n - 1
 * of them as that cube has, and the n-th not. It cannot meet more of the list's cubes than the whole does. */
static bool cut(const cube_list *cubes, const size_t *some, size_t count, cube whole, cube_piece_fn *fn,
                void *arg)
{
    size_t *found = meeting(cubes, some, &count, whole);
    if (!found) return false;
    if (count == 0) {
        free(found);
        return fn(arg, whole, SIZE_MAX);
    }
    const cube by = cubes->list[found[0]];
    bool ok = true;
    for (uint32_t left = by.mask & ~whole.mask; ok && left; left &= left - 1) {
        uint32_t bit = left & -left;
        whole.mask |= bit;
        const cube outside = {whole.mask, whole.value | (~by.value & bit)};
        ok = cut(cubes, found + 1, count - 1, outside, fn, arg);
        whole.value |= by.value & bit;
    }
    ok = ok && fn(arg, whole, found[0]);
    free(found);
    return ok;
}

bool cubes_cut(const cube_list *cubes, cube whole, cube_piece_fn *fn, void *arg)
{
    return cut(cubes, NULL, cubes->count, whole, fn, arg);
}
