/* Functions that no symbol names, best source first: frame descriptions, addresses the loader calls, and
 * targets of calls. A start inside a function whose size is known adds nothing; one elsewhere is a function
 * without a name. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

bool img_add_unnamed(img_loading *loading, img_candidates *list, uint64_t addr, uint64_t size,
                     xs_source source)
{
    uint64_t alignment = loading->image.arch == XS_IMAGE_ARM64 ? 4 : 2;
    if (addr % alignment || img_range_index(loading, &loading->code, addr, SIZE_MAX) == SIZE_MAX)
        return false;
    void *items = img_make_room(loading, list->items, list->count, &list->room, sizeof *list->items);
    if (!items) return true;
    list->items = items;
    list->items[list->count++] = (img_candidate){
        .addr = addr, .size = size, .version = "", .rank = UINT8_MAX, .source = (uint8_t)source};
    return true;
}

/* Both lists are sorted; one walk over them finds the starts that no known function covers. */
static void keep_unknown(img_loading *loading, img_candidates *found)
{
    size_t known = loading->candidates.count, at = 0;
    uint64_t covered = 0; /* first address behind all functions so far */
    img_sort_candidates(loading, found);
    for (size_t i = 0; i < found->count; i++) {
        const img_candidate *start = &found->items[i];
        bool named = i && found->items[i - 1].addr == start->addr;
        for (; at < known && loading->candidates.items[at].addr <= start->addr; at++) {
            const img_candidate *function = &loading->candidates.items[at];
            uint64_t end = function->addr + function->size;
            if (end >= function->addr && end > covered) covered = end;
            if (function->addr == start->addr) named = true;
        }
        if (!named && start->addr >= covered) img_add_candidate(loading, start);
    }
    found->count = 0;
    img_sort_candidates(loading, &loading->candidates);
}

/* The entry point, and what runs before and after main: _init and _fini have neither symbols nor frames in a
 * stripped file. gABI, chapter 5, "Initialization and Termination Functions". */
static void find_entries(img_loading *loading, img_candidates *found)
{
    const img_file *file = &loading->file;
    static const char *const names[] = {".init", ".fini"};
    static const int64_t tags[] = {DT_INIT, DT_FINI};
    if (file->ehdr.e_entry) img_add_unnamed(loading, found, file->ehdr.e_entry, 0, XS_SOURCE_ENTRY);
    for (size_t i = 0; i < 2; i++) {
        const img_section *section = img_section_named(file, names[i]);
        if (section) img_add_unnamed(loading, found, section->addr, 0, XS_SOURCE_ENTRY);
        uint64_t value = 0;
        if (img_dynamic_value(file, tags[i], &value))
            img_add_unnamed(loading, found, value, 0, XS_SOURCE_ENTRY);
    }
}

/* A function is called from many places, so targets are looked up before they are listed: an open hash table,
 * a power of two in size and at most half full. Code begins at even addresses: an odd slot is taken. */
typedef struct address_set {
    uint64_t *slots;
    size_t count, room;
} address_set;

static uint64_t *slot_of(const address_set *set, uint64_t addr)
{
    size_t i = (size_t)(addr * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (set->room - 1);
    while (set->slots[i] && set->slots[i] != (addr | 1))
        i = (i + 1) & (set->room - 1);
    return &set->slots[i];
}

static bool grow(address_set *set)
{
    address_set larger = {.room = set->room ? set->room * 2 : 1024, .count = set->count};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (size_t i = 0; i < set->room; i++)
        if (set->slots[i]) *slot_of(&larger, set->slots[i] & ~UINT64_C(1)) = set->slots[i];
    free(set->slots);
    *set = larger;
    return true;
}

/* Whether addr, an even one, is new; without memory for more, it is. */
static bool is_new(address_set *set, uint64_t addr)
{
    if (2 * set->count >= set->room && !grow(set)) return true;
    uint64_t *slot = slot_of(set, addr);
    if (*slot) return false;
    *slot = addr | 1;
    set->count++;
    return true;
}

typedef struct call_finder {
    img_loading *loading;
    img_candidates *found;
    address_set seen;
} call_finder;

static void add_call(void *context, uint64_t target)
{
    call_finder *finder = context;
    if (target % 2 || !is_new(&finder->seen, target)) return;
    img_add_unnamed(finder->loading, finder->found, target, 0, XS_SOURCE_CALL);
}

static void find_calls(img_loading *loading, img_candidates *found, const xs_image_options *options)
{
    call_finder finder = {.loading = loading, .found = found};
    for (size_t i = 0; i < loading->image.range_count; i++) {
        options->scan_calls(options->scan_context, &loading->image, &loading->image.ranges[i], add_call,
                            &finder);
    }
    free(finder.seen.slots);
}

/* Not for relocatable files: their addresses are not final, and they cannot be without .symtab. */
void img_find_unnamed(img_loading *loading, const xs_image_options *options)
{
    img_candidates found = {0};
    if (loading->image.relocatable) return;
    img_read_eh_frame(loading, &found);
    keep_unknown(loading, &found);
    find_entries(loading, &found);
    keep_unknown(loading, &found);
    if (options->scan_calls && !loading->all_named) {
        find_calls(loading, &found, options);
        keep_unknown(loading, &found);
    }
    free(found.items);
}
