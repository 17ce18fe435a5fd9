/* Sorting what lies at addresses: millions of symbols, in no order that their tables keep.
 *
 * Comparing items of 64 bytes by pointers to them was half of the time of reading a program. Here keys of 16
 * bytes are dealt out byte by byte, lowest first, and the items moved once. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

enum { DIGITS = 12, VALUES = 256 };

typedef struct key {
    uint64_t addr;
    uint32_t section, item;
} key;

static unsigned digit(const key *k, unsigned at)
{
    return (unsigned)((at < 8 ? k->addr >> 8 * at : k->section >> 8 * (at - 8)) & 0xff);
}

static key key_of(const img_order *order, const void *items, size_t i)
{
    key k = {.item = (uint32_t)i};
    const char *item = (const char *)items + i * order->size;
    memcpy(&k.addr, item + order->addr, sizeof k.addr);
    memcpy(&k.section, item + order->section, sizeof k.section);
    return k;
}

static bool same_place(const key *a, const key *b)
{
    return a->addr == b->addr && a->section == b->section;
}

static bool is_sorted(const img_order *order, const void *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        key a = key_of(order, items, i - 1), b = key_of(order, items, i);
        const char *item = (const char *)items + i * order->size;
        if (same_place(&a, &b)       ? order->rest(item - order->size, item) > 0
            : a.section != b.section ? a.section > b.section
                                     : a.addr > b.addr)
            return false;
    }
    return true;
}

/* Deal keys out to `to` by one digit; counts of its values. Stable. */
static void deal(const key *from, key *to, size_t count, unsigned at, uint32_t counts[VALUES])
{
    uint32_t next = 0;
    for (unsigned v = 0; v < VALUES; v++) {
        uint32_t n = counts[v];
        counts[v] = next;
        next += n;
    }
    for (size_t i = 0; i < count; i++)
        to[counts[digit(&from[i], at)]++] = from[i];
}

/* keys and spare have room for count; returns the one that is sorted. A digit that is the same everywhere
 * (the upper half of addresses, the section unless the file is relocatable) costs nothing more. */
static key *sort_keys(key *keys, key *spare, size_t count)
{
    uint32_t counts[DIGITS][VALUES];
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < count; i++)
        for (unsigned at = 0; at < DIGITS; at++)
            counts[at][digit(&keys[i], at)]++;
    for (unsigned at = 0; at < DIGITS; at++) {
        if (counts[at][digit(&keys[0], at)] == count) continue;
        deal(keys, spare, count, at, counts[at]);
        key *sorted = spare;
        spare = keys;
        keys = sorted;
    }
    return keys;
}

/* Item i becomes what was item keys[i].item, in place; keys[i].item becomes i. */
static void move_items(const img_order *order, void *items, key *keys, size_t count, void *spare)
{
    char *base = items;
    for (size_t i = 0; i < count; i++) {
        if (keys[i].item == i) continue;
        memcpy(spare, base + i * order->size, order->size);
        size_t to = i, from;
        for (; (from = keys[to].item) != i; to = from) {
            memcpy(base + to * order->size, base + from * order->size, order->size);
            keys[to].item = (uint32_t)to;
        }
        memcpy(base + to * order->size, spare, order->size);
        keys[to].item = (uint32_t)to;
    }
}

static void sort_groups(const img_order *order, void *items, const key *keys, size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && same_place(&keys[next], &keys[i]);)
            next++;
        if (next - i > 1) qsort((char *)items + i * order->size, next - i, order->size, order->rest);
    }
}

void img_sort(img_loading *loading, void *items, size_t count, const img_order *order)
{
    if (is_sorted(order, items, count)) return;
    key *keys = count > UINT32_MAX ? NULL : reallocarray(NULL, count, 2 * sizeof *keys);
    void *spare = malloc(order->size);
    if (keys && spare) {
        for (size_t i = 0; i < count; i++)
            keys[i] = key_of(order, items, i);
        key *sorted = sort_keys(keys, keys + count, count);
        move_items(order, items, sorted, count, spare);
        sort_groups(order, items, sorted, count);
    } else {
        loading->out_of_memory = true;
    }
    free(spare);
    free(keys);
}
