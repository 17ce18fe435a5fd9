/* Candidates -> functions: one for each address, with the best name. */
#include "internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *xs_source_name(xs_source source)
{
    static const char *const names[XS_SOURCE_COUNT] = {"symtab",   "dynsym", "debug", "gnu_debugdata",
                                                       "eh_frame", "entry",  "call",  "plt"};
    return (unsigned)source < XS_SOURCE_COUNT ? names[source] : "?";
}

void img_add_candidate(img_loading *loading, const img_candidate *candidate)
{
    img_candidates *list = &loading->candidates;
    void *items = img_make_room(loading, list->items, list->count, &list->room, sizeof *candidate);
    if (!items) return;
    list->items = items;
    list->items[list->count++] = *candidate;
}

/* The best name of an address first. */
static int by_rank(const void *a, const void *b)
{
    const img_candidate *one = a, *two = b;
    if (one->rank != two->rank) return one->rank < two->rank ? -1 : 1;
    if (one->source != two->source) return one->source < two->source ? -1 : 1;
    return one->order < two->order ? -1 : one->order > two->order;
}

void img_sort_candidates(img_loading *loading, img_candidates *list)
{
    static const img_order order = {sizeof(img_candidate), offsetof(img_candidate, addr),
                                    offsetof(img_candidate, section), by_rank};
    img_sort(loading, list->items, list->count, &order);
}

static int by_text(const void *a, const void *b)
{
    const char *const *one = a, *const *two = b;
    return strcmp(*one, *two);
}

/* Names other than the first one's; a name that two tables know, or that has two versions, stands once. */
static void add_aliases(img_loading *loading, const img_candidate *group, size_t count, xs_function *function)
{
    size_t named = 0;
    const char **names = count < 2 ? NULL : img_names(loading, count);
    if (!names) return;
    for (size_t i = 0; i < count; i++) {
        if (group[i].name) names[named++] = group[i].name;
    }
    qsort(names, named, sizeof *names, by_text);
    for (size_t i = 0; i < named; i++) {
        if (strcmp(names[i], function->name) == 0) continue;
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0) names[function->aliases++] = names[i];
    }
    function->alias_names = names;
}

/* .symtab has no versions and .dynsym no local names: together they know a symbol. */
static const char *version_in(const img_candidate *group, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool same = group[i].name && group[0].name && !strcmp(group[i].name, group[0].name);
        if (same && *group[i].version) return group[i].version;
    }
    return "";
}

static xs_function function_of(img_loading *loading, const img_candidate *group, size_t count, size_t range)
{
    const img_candidate *best = group;
    const xs_range *holder = &loading->ranges.items[range];
    xs_function function = {.name = best->name,
                            .version = version_in(group, count),
                            .addr = best->addr,
                            .size = best->size,
                            .range = range,
                            .source = (xs_source)best->source};
    function.offset = holder->offset + (best->addr - holder->addr);
    for (size_t i = 0; i < count; i++) {
        function.ifunc |= group[i].ifunc;
        if (!best->size && group[i].size > function.size) function.size = group[i].size;
    }
    if (!function.name) function.name = img_string(loading, "sub_%" PRIx64, best->addr);
    if (function.name) add_aliases(loading, group, count, &function);
    return function;
}

static void add_group(img_loading *loading, const img_candidate *group, size_t count)
{
    size_t section = loading->image.relocatable ? group->section : SIZE_MAX;
    size_t range = img_range_index(loading, &loading->ranges, group->addr, section);
    if (range != SIZE_MAX) {
        loading->image.functions[loading->image.function_count++] = function_of(loading, group, count, range);
    } else if (group->source == XS_SOURCE_EH_FRAME) {
        img_remark_add(loading, IMG_REMARK_FDE_NO_CODE, "%#" PRIx64, group->addr);
    } else if (group->source < XS_SOURCE_EH_FRAME) {
        img_remark_add(loading, IMG_REMARK_SYMBOL_IN_DATA, "%s at %#" PRIx64, group->name ? group->name : "?",
                       group->addr);
    }
}

static uint64_t size_to_next(const xs_image *image, size_t index)
{
    const xs_function *function = &image->functions[index];
    const xs_range *range = &image->ranges[function->range];
    bool has_next = index + 1 < image->function_count && function[1].range == function->range;
    return has_next ? function[1].addr - function->addr : range->size - (function->addr - range->addr);
}

static unsigned section_of(const xs_image *image, size_t index)
{
    return image->ranges[image->functions[index].range].section_index;
}

static uint64_t end_of(const xs_function *function)
{
    uint64_t end = function->addr + function->size;
    return end < function->addr ? UINT64_MAX : end;
}

/* Functions may hold others (an entry in the middle, a symbol that spans several). outer links each to the
 * nearest one before it that is still open, so that a look-up need not search backwards. */
static void link_outer(img_loading *loading)
{
    const xs_image *image = &loading->image;
    for (size_t i = 0; i < image->function_count; i++) {
        size_t outer = i ? i - 1 : SIZE_MAX;
        while (outer != SIZE_MAX && (section_of(image, outer) != section_of(image, i) ||
                                     end_of(&image->functions[outer]) <= image->functions[i].addr)) {
            outer = loading->outer[outer];
        }
        loading->outer[i] = outer;
    }
}

void img_make_functions(img_loading *loading)
{
    const img_candidates *list = &loading->candidates;
    xs_image *image = &loading->image;
    if (!list->count) return;
    image->functions = reallocarray(NULL, list->count, sizeof *image->functions);
    loading->outer = reallocarray(NULL, list->count, sizeof *loading->outer);
    if (!image->functions || !loading->outer) {
        loading->out_of_memory = true;
        return;
    }
    for (size_t i = 0, next; i < list->count; i = next) {
        const img_candidate *first = &list->items[i];
        for (next = i + 1; next < list->count; next++) {
            if (list->items[next].addr != first->addr || list->items[next].section != first->section) break;
        }
        add_group(loading, first, next - i);
    }
    for (size_t i = 0; i < image->function_count; i++) {
        if (!image->functions[i].size) image->functions[i].size = size_to_next(image, i);
    }
    link_outer(loading);
}
