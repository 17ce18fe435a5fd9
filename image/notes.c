/* ELF notes (gABI, chapter 5, "Note Section"): three words, then owner and description, each padded to 4. */
#include "internal.h"

#include <string.h>

enum { NOTE_HEADER = 12 };

static uint64_t padded(uint64_t size)
{
    return (size + 3) & ~(uint64_t)3;
}

int img_next_note(const img_file *file, img_slice notes, uint64_t *position, img_note *note)
{
    uint64_t at = *position;
    if (at >= notes.size) return 0;
    if (notes.size - at < NOTE_HEADER) return -1;
    const uint8_t *header = notes.data + at;
    uint64_t owner_size = img_read(file, header, 4), desc_size = img_read(file, header + 4, 4);
    uint64_t rest = notes.size - at - NOTE_HEADER;
    if (padded(owner_size) > rest || desc_size > rest - padded(owner_size)) return -1;
    note->type = (uint32_t)img_read(file, header + 8, 4);
    note->owner = (img_slice){header + NOTE_HEADER, owner_size};
    note->desc = (img_slice){header + NOTE_HEADER + padded(owner_size), desc_size};
    *position = at + NOTE_HEADER + padded(owner_size) + padded(desc_size);
    return 1;
}

static img_slice build_id_in(const img_file *file, img_slice notes)
{
    img_note note;
    for (uint64_t at = 0; img_next_note(file, notes, &at, &note) > 0;) {
        bool gnu = note.owner.size == 4 && !memcmp(note.owner.data, "GNU", 4);
        if (gnu && note.type == NT_GNU_BUILD_ID && note.desc.size) return note.desc;
    }
    return (img_slice){0};
}

img_slice img_build_id(const img_file *file)
{
    img_slice id = {0};
    for (size_t i = 1; i < file->section_count && !id.size; i++) {
        const img_section *section = &file->sections[i];
        if (section->type == SHT_NOTE) id = build_id_in(file, img_section_slice(file, section));
    }
    for (size_t i = 0; i < file->segment_count && !id.size; i++) {
        const GElf_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_NOTE) continue;
        id = build_id_in(file, img_file_slice(file, segment->p_offset, segment->p_filesz));
    }
    return id;
}
