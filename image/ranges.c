/* Code ranges: executable sections (or segments) minus what mapping symbols call data. */
#include "internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void push_range(img_loading *loading, img_ranges *ranges, const xs_range *range)
{
    void *items = img_make_room(loading, ranges->items, ranges->count, &ranges->room, sizeof *range);
    if (!items) return;
    ranges->items = items;
    ranges->items[ranges->count++] = *range;
}

static bool wraps(const img_loading *loading, uint64_t addr, uint64_t size)
{
    uint64_t last = loading->image.elf32 ? UINT32_MAX : UINT64_MAX;
    return addr > last || size - 1 > last - addr;
}

/* range->size is what the headers claim; bytes and the real size are found here. */
static void add_code(img_loading *loading, xs_range range)
{
    img_slice slice = img_file_slice(&loading->file, range.offset, range.size);
    if (slice.size < range.size) {
        img_remark_add(loading, IMG_REMARK_CODE_PAST_FILE, "%s, %" PRIu64 " of %" PRIu64 " bytes there",
                       range.section, slice.size, range.size);
    }
    if (!slice.size) return;
    if (wraps(loading, range.addr, slice.size)) {
        img_remark_add(loading, IMG_REMARK_CODE_WRAPS, "%s at %#" PRIx64, range.section, range.addr);
        return;
    }
    range.size = slice.size;
    range.bytes = slice.data;
    push_range(loading, &loading->code, &range);
}

static void add_section(img_loading *loading, const img_section *section, unsigned index)
{
    const char *name = section->name;
    if (!*name) {
        name = img_string(loading, "section %u", index);
        if (!name) return;
        img_remark_add(loading, IMG_REMARK_SECTION_NAME, "%s", name);
    }
    if (section->type == SHT_NOBITS) {
        img_remark_add(loading, IMG_REMARK_CODE_NO_BYTES, "%s", name);
        return;
    }
    uint64_t addr = loading->image.relocatable ? 0 : section->addr;
    add_code(loading, (xs_range){.section = name,
                                 .addr = addr,
                                 .offset = section->offset,
                                 .size = section->size,
                                 .section_index = index});
}

static void add_segment(img_loading *loading, const GElf_Phdr *segment, unsigned index)
{
    const char *name = img_string(loading, "segment %u", index);
    if (!name) return;
    img_remark_add(loading, IMG_REMARK_NO_SECTIONS, "%s", name);
    add_code(loading, (xs_range){.section = name,
                                 .addr = segment->p_vaddr,
                                 .offset = segment->p_offset,
                                 .size = segment->p_filesz,
                                 .section_index = index});
}

static int by_place(const void *a, const void *b)
{
    const xs_range *one = a, *two = b;
    if (one->addr != two->addr) return one->addr < two->addr ? -1 : 1;
    return one->section_index < two->section_index ? -1 : one->section_index > two->section_index;
}

/* An address can be probed in one place only: the range that starts first keeps what two of them claim. */
static void remove_overlaps(img_loading *loading)
{
    img_ranges *code = &loading->code;
    uint64_t last = 0; /* the last address that is taken, when kept > 0 */
    size_t kept = 0;
    for (size_t i = 0; i < code->count; i++) {
        xs_range range = code->items[i];
        if (kept && range.addr <= last) {
            img_remark_add(loading, IMG_REMARK_CODE_OVERLAPS, "%s at %#" PRIx64, range.section, range.addr);
            if (range.size - 1 <= last - range.addr) continue;
            uint64_t cut = last - range.addr + 1;
            range.addr += cut;
            range.offset += cut;
            range.bytes += cut;
            range.size -= cut;
        }
        last = range.addr + (range.size - 1);
        code->items[kept++] = range;
    }
    code->count = kept;
}

static void check_section(img_loading *loading, const img_section *section, size_t index)
{
    uint64_t there = img_section_slice(&loading->file, section).size;
    if (section->type == SHT_NOBITS || section->type == SHT_NULL || there == section->size) return;
    img_remark_add(loading, IMG_REMARK_SECTION_PAST_FILE,
                   "section %zu %s, %" PRIu64 " of %" PRIu64 " bytes there", index, section->name, there,
                   section->size);
}

/* False: there are none. */
static bool add_sections(img_loading *loading)
{
    const img_file *file = &loading->file;
    const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
    bool any = false;
    for (size_t i = 1; i < file->section_count; i++) {
        const img_section *section = &file->sections[i];
        if ((section->flags & wanted) == wanted && section->size) {
            add_section(loading, section, (unsigned)i);
            any = true;
        } else {
            check_section(loading, section, i);
        }
    }
    return any;
}

static void add_segments(img_loading *loading)
{
    const img_file *file = &loading->file;
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *segment = &file->segments[i];
        bool code = segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && segment->p_filesz;
        if (code) add_segment(loading, segment, (unsigned)i);
    }
}

void img_collect_code(img_loading *loading)
{
    if (!add_sections(loading)) add_segments(loading);
    if (loading->image.relocatable || !loading->code.count) return; /* in order already, nothing collides */
    qsort(loading->code.items, loading->code.count, sizeof *loading->code.items, by_place);
    remove_overlaps(loading);
}

void img_add_mark(img_loading *loading, img_mark mark)
{
    img_marks *marks = &loading->marks;
    void *items = img_make_room(loading, marks->items, marks->count, &marks->room, sizeof mark);
    if (!items) return;
    marks->items = items;
    mark.order = marks->count;
    marks->items[marks->count++] = mark;
}

static int by_order(const void *a, const void *b)
{
    const img_mark *one = a, *two = b;
    return one->order < two->order ? -1 : one->order > two->order;
}

static size_t first_mark(const img_marks *marks, unsigned section)
{
    size_t low = 0, high = marks->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (marks->items[middle].section < section) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool same_isa(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/* [from, to) of code, counted from its start, is data or instructions of isa. */
static void emit(img_loading *loading, const xs_range *code, uint64_t from, uint64_t to,
                 const img_mark *state)
{
    if (from >= to) return;
    if (state->data) {
        loading->image.data_bytes += to - from;
        return;
    }
    loading->image.code_bytes += to - from;
    img_ranges *ranges = &loading->ranges;
    xs_range *before = ranges->count ? &ranges->items[ranges->count - 1] : NULL;
    if (before && before->section_index == code->section_index && same_isa(before->isa, state->isa) &&
        before->offset + before->size == code->offset + from) {
        before->size += to - from;
        return;
    }
    xs_range range = *code;
    range.addr += from;
    range.offset += from;
    range.bytes += from;
    range.size = to - from;
    range.isa = state->isa;
    push_range(loading, ranges, &range);
}

/* Of several marks at one address the last in the table counts: it belongs to the bytes that follow, the
 * others end a piece of no length. A "$x" without an ISA keeps the one in force, as assemblers mean it. */
static void cut(img_loading *loading, const xs_range *code)
{
    const img_marks *marks = &loading->marks;
    img_mark state = {.isa = loading->image.isa};
    uint64_t done = 0;
    for (size_t i = first_mark(marks, code->section_index); i < marks->count; i++) {
        const img_mark *mark = &marks->items[i];
        if (mark->section != code->section_index) break;
        uint64_t at = mark->addr < code->addr ? 0 : mark->addr - code->addr;
        if (at >= code->size) break;
        emit(loading, code, done, at, &state);
        done = at;
        state.data = mark->data;
        if (mark->isa) state.isa = mark->isa;
    }
    emit(loading, code, done, code->size, &state);
}

void img_cut_code(img_loading *loading)
{
    img_marks *marks = &loading->marks;
    static const img_order order = {sizeof(img_mark), offsetof(img_mark, addr), offsetof(img_mark, section),
                                    by_order};
    img_sort(loading, marks->items, marks->count, &order);
    for (size_t i = 0; i < loading->code.count; i++)
        cut(loading, &loading->code.items[i]);
}

static bool is_before(const xs_range *range, uint64_t addr, size_t section)
{
    if (section != SIZE_MAX && range->section_index != section) return range->section_index < section;
    return range->addr <= addr;
}

static bool holds(const xs_range *range, uint64_t addr)
{
    return addr >= range->addr && addr - range->addr < range->size;
}

size_t img_range_index(const img_loading *loading, const img_ranges *ranges, uint64_t addr, size_t section)
{
    const xs_range *items = ranges->items;
    bool relocatable = loading->image.relocatable;
    if (relocatable && section == SIZE_MAX) {
        for (size_t i = 0; i < ranges->count; i++) {
            if (holds(&items[i], addr)) return i;
        }
        return SIZE_MAX;
    }
    size_t low = 0, high = ranges->count; /* items[..low) start at or before it, items[high..) after it */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(&items[middle], addr, relocatable ? section : SIZE_MAX)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (!low || !holds(&items[low - 1], addr)) return SIZE_MAX;
    return section == SIZE_MAX || items[low - 1].section_index == section ? low - 1 : SIZE_MAX;
}
