/* image/sort.c against qsort: few and many different places, ties, lists that are sorted, one item, none. */
#include "../image/internal.h"
#include "tests.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS = 5000 };

static int by_order(const void *a, const void *b)
{
    const img_mark *one = a, *two = b;
    return one->order < two->order ? -1 : one->order > two->order;
}

static int by_place(const void *a, const void *b)
{
    const img_mark *one = a, *two = b;
    if (one->section != two->section) return one->section < two->section ? -1 : 1;
    if (one->addr != two->addr) return one->addr < two->addr ? -1 : 1;
    return by_order(a, b);
}

/* Addresses from a space of so many bits, which may be anywhere; so many sections. */
static const struct {
    unsigned bits, shift, sections;
} kinds[] = {{0, 0, 1}, {3, 0, 1}, {12, 0, 3}, {32, 0, 1}, {8, 56, 1}, {32, 32, 70000}, {31, 20, 2}};

static void fill(rng *r, img_mark *items, size_t count, size_t kind)
{
    memset(items, 0, count * sizeof *items);
    for (size_t i = 0; i < count; i++) {
        uint64_t low = (UINT64_C(1) << kinds[kind].bits) - 1;
        items[i].addr = (rng_next(r) & low) << kinds[kind].shift;
        items[i].section = rng_next(r) % kinds[kind].sections;
        items[i].order = rng_next(r) % 3 ? i : count + rng_next(r); /* against the list's order too */
    }
}

START_TEST(items_are_sorted_by_place)
{
    rng r = rng_new("items_are_sorted_by_place");
    static img_mark items[ITEMS], wanted[ITEMS];
    static img_loading loading;
    const img_order order = {sizeof *items, offsetof(img_mark, addr), offsetof(img_mark, section), by_order};
    static const size_t counts[] = {0, 1, 2, 3, 255, 256, 257, ITEMS};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        size_t count = counts[c];
        fill(&r, items, count, (size_t)_i);
        memcpy(wanted, items, sizeof wanted);
        qsort(wanted, count, sizeof *wanted, by_place);
        for (unsigned again = 0; again < 2; again++) {
            img_sort(&loading, items, count, &order);
            ck_assert(!loading.out_of_memory);
            for (size_t i = 0; i < count; i++)
                if (by_place(&items[i], &wanted[i]) != 0) wrong("%zu items: item %zu", count, i);
        }
    }
    all_right();
}
END_TEST

void add_image_sort(Suite *suite)
{
    TCase *tests = tcase_create("sort");
    tcase_add_loop_test(tests, items_are_sorted_by_place, 0, sizeof kinds / sizeof *kinds);
    suite_add_tcase(suite, tests);
}
