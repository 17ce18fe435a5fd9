/* USDT sites: notes of type 3 and owner "stapsdt" in .note.stapsdt. The description is three addresses (site,
 * .stapsdt.base when the note was written, semaphore) and three strings (provider, name, arguments).
 * Reference: the SystemTap wiki, "User Space Probe Implementation". */
#include "internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { USDT_TYPE = 3 };
static const char owner[] = "stapsdt";

typedef struct usdt_reader {
    img_loading *loading;
    const img_section *section;
    img_slice notes;
    const img_section *base; /* .stapsdt.base, or NULL */
    size_t room;
} usdt_reader;

/* The next string of the description; NULL: it does not end there. */
static const char *next_string(img_slice *rest)
{
    const uint8_t *end = rest->size ? memchr(rest->data, 0, rest->size) : NULL;
    if (!end) return NULL;
    const char *string = (const char *)rest->data;
    uint64_t length = (uint64_t)(end - rest->data) + 1;
    rest->data += length;
    rest->size -= length;
    return string;
}

static bool parse(const img_file *file, img_slice desc, xs_usdt *usdt, uint64_t *base)
{
    unsigned word = img_word_size(file);
    if (desc.size < 3 * (uint64_t)word) return false;
    usdt->addr = img_read(file, desc.data, word);
    *base = img_read(file, desc.data + word, word);
    usdt->semaphore = img_read(file, desc.data + 2 * word, word);
    img_slice strings = {desc.data + 3 * word, desc.size - 3 * word};
    usdt->provider = next_string(&strings);
    usdt->name = next_string(&strings);
    usdt->args = next_string(&strings);
    return usdt->provider && usdt->name && usdt->args;
}

/* Prelink moves sections but not notes: the base section tells how far. */
static void adjust(const usdt_reader *reader, xs_usdt *usdt, uint64_t base)
{
    if (!reader->base || !base) return;
    uint64_t moved = reader->base->addr - base;
    uint64_t mask = reader->loading->image.elf32 ? UINT32_MAX : UINT64_MAX;
    usdt->addr = (usdt->addr + moved) & mask;
    if (usdt->semaphore) usdt->semaphore = (usdt->semaphore + moved) & mask;
}

static void locate(img_loading *loading, xs_usdt *usdt)
{
    usdt->range = img_range_index(loading, &loading->ranges, usdt->addr, SIZE_MAX);
    usdt->offset = UINT64_MAX;
    if (usdt->range != SIZE_MAX) {
        const xs_range *range = &loading->ranges.items[usdt->range];
        usdt->offset = range->offset + (usdt->addr - range->addr);
        return;
    }
    img_remark_add(loading, IMG_REMARK_USDT_NO_CODE, "%s:%s at %#" PRIx64, usdt->provider, usdt->name,
                   usdt->addr);
}

static void take_note(usdt_reader *reader, const img_note *note, uint64_t at)
{
    img_loading *loading = reader->loading;
    xs_usdt usdt = {0};
    uint64_t base = 0;
    img_remark_kind problem = IMG_REMARK_COUNT;
    if (note->owner.size != sizeof owner || memcmp(note->owner.data, owner, sizeof owner) != 0) return;
    if (note->type != USDT_TYPE) {
        problem = IMG_REMARK_USDT_VERSION;
    } else if (loading->image.relocatable) {
        problem = IMG_REMARK_USDT_RELOCATABLE;
    } else if (!parse(&loading->file, note->desc, &usdt, &base)) {
        problem = IMG_REMARK_USDT_LENGTH;
    }
    if (problem != IMG_REMARK_COUNT) {
        img_remark_add(loading, problem, "%s+%#" PRIx64, reader->section->name, at);
        return;
    }
    adjust(reader, &usdt, base);
    locate(loading, &usdt);
    xs_image *image = &loading->image;
    void *items = img_make_room(loading, image->usdts, image->usdt_count, &reader->room, sizeof usdt);
    if (!items) return;
    image->usdts = items;
    image->usdts[image->usdt_count++] = usdt;
}

/* A length that does not fit says nothing about where the next note is: look for one that looks right. */
static uint64_t resume_at(const usdt_reader *reader, uint64_t at)
{
    const img_slice *notes = &reader->notes;
    for (at += 4; at + 12 + sizeof owner <= notes->size; at += 4) {
        bool fits = img_read(&reader->loading->file, notes->data + at, 4) == sizeof owner;
        if (fits && !memcmp(notes->data + at + 12, owner, sizeof owner)) return at;
    }
    return notes->size;
}

static void read_section(usdt_reader *reader)
{
    uint64_t at = 0;
    while (at < reader->notes.size) {
        img_note note;
        uint64_t start = at;
        if (img_next_note(&reader->loading->file, reader->notes, &at, &note) > 0) {
            take_note(reader, &note, start);
            continue;
        }
        img_remark_add(reader->loading, IMG_REMARK_USDT_LENGTH, "%s+%#" PRIx64, reader->section->name, start);
        at = resume_at(reader, start);
    }
}

void img_read_usdt(img_loading *loading)
{
    const img_file *file = &loading->file;
    usdt_reader reader = {.loading = loading, .base = img_section_named(file, ".stapsdt.base")};
    for (size_t i = 1; i < file->section_count; i++) {
        reader.section = &file->sections[i];
        if (reader.section->type != SHT_NOTE || strcmp(reader.section->name, ".note.stapsdt") != 0) continue;
        reader.notes = img_section_slice(file, reader.section);
        read_section(&reader);
    }
}
