/* Function starts from .eh_frame, for addresses that no symbol covers.
 *
 * Unwind tables survive stripping. A frame description (FDE) that starts inside a function with a known size
 * adds nothing; one that starts elsewhere is a function without a symbol, or the cold part of one, which
 * looks the same. Reference: Linux Standard Base Core, "Exception Frames"; DWARF 5, 6.4. */
#include "internal.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct frame_reader {
    img_loading *loading;
    const img_file *file;
    const char *name;
    Elf_Data data;
    uint64_t addr;      /* of the section */
    Dwarf_Off last_cie; /* whose encoding is known */
    uint8_t encoding;   /* DW_EH_PE_omit: cannot be read */
    img_candidates *found;
} frame_reader;

static unsigned encoded_size(const img_file *file, uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr: return img_word_size(file);
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2: return 2;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4: return 4;
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8: return 8;
    default: return 0; /* LEB128: no compiler uses it for addresses */
    }
}

/* A value, sign-extended if its encoding says so. */
static uint64_t read_encoded(const img_file *file, const uint8_t *at, uint8_t encoding)
{
    unsigned size = encoded_size(file, encoding);
    uint64_t value = img_read(file, at, size);
    if (!(encoding & DW_EH_PE_signed) || size == 8) return value;
    uint64_t sign = (uint64_t)1 << (8 * size - 1);
    return (value ^ sign) - sign;
}

/* The FDE pointer encoding is the byte of the augmentation data that belongs to the letter R. */
static uint8_t encoding_of(const frame_reader *frames, const Dwarf_CIE *cie)
{
    const uint8_t *at = cie->augmentation_data, *end = at ? at + cie->augmentation_data_size : NULL;
    if (cie->augmentation[0] != 'z') return cie->augmentation[0] ? DW_EH_PE_omit : DW_EH_PE_absptr;
    for (const char *letter = cie->augmentation + 1; *letter; letter++) {
        if (*letter == 'S' || *letter == 'B')
            continue; /* signal frame, A64 pointer authentication: no data */
        if (!at || at >= end) return DW_EH_PE_omit;
        if (*letter == 'R') return *at;
        uint64_t length = *letter == 'L'   ? 1
                          : *letter == 'P' ? 1 + (uint64_t)encoded_size(frames->file, *at)
                                           : 0;
        if (!length || length > (uint64_t)(end - at)) return DW_EH_PE_omit;
        at += length;
    }
    return DW_EH_PE_absptr;
}

static uint8_t cie_encoding(frame_reader *frames, Dwarf_Off at)
{
    if (at == frames->last_cie) return frames->encoding;
    Dwarf_CFI_Entry entry;
    Dwarf_Off next;
    const unsigned char *ident = frames->file->ehdr.e_ident;
    bool is_cie = at < frames->data.d_size &&
                  dwarf_next_cfi(ident, &frames->data, true, at, &next, &entry) == 0 &&
                  dwarf_cfi_cie_p(&entry);
    frames->last_cie = at;
    frames->encoding = is_cie ? encoding_of(frames, &entry.cie) : DW_EH_PE_omit;
    return frames->encoding;
}

/* False: the entry's start cannot be computed. A length that is cut off counts as 0. */
static bool decode_fde(frame_reader *frames, const Dwarf_FDE *fde, uint64_t *start, uint64_t *length)
{
    uint8_t encoding = cie_encoding(frames, fde->CIE_pointer);
    unsigned size = encoding == DW_EH_PE_omit ? 0 : encoded_size(frames->file, encoding);
    uint64_t room = (uint64_t)(fde->end - fde->start);
    if (!size || room < 2 * (uint64_t)size || (encoding & DW_EH_PE_indirect)) return false;
    *start = read_encoded(frames->file, fde->start, encoding);
    *length = read_encoded(frames->file, fde->start + size, encoding & 0x07);
    uint64_t here = frames->addr + (uint64_t)(fde->start - (const uint8_t *)frames->data.d_buf);
    switch (encoding & 0x70) {
    case DW_EH_PE_absptr: break;
    case DW_EH_PE_pcrel: *start += here; break;
    default: return false; /* relative to a base that only the unwinder knows */
    }
    if (frames->loading->image.elf32) *start &= UINT32_MAX;
    return true;
}

static void add_fde(frame_reader *frames, const Dwarf_FDE *fde, Dwarf_Off at)
{
    img_loading *loading = frames->loading;
    uint64_t start = 0, length = 0;
    if (!decode_fde(frames, fde, &start, &length)) {
        img_remark_add(loading, IMG_REMARK_FDE, "%s+%#" PRIx64, frames->name, at);
        return;
    }
    if (!img_add_unnamed(loading, frames->found, start, length, XS_SOURCE_EH_FRAME)) {
        img_remark_add(loading, IMG_REMARK_FDE_NO_CODE, "%s+%#" PRIx64 " for %#" PRIx64, frames->name, at,
                       start);
    }
}

static void walk(frame_reader *frames)
{
    const unsigned char *ident = frames->file->ehdr.e_ident;
    for (Dwarf_Off at = 0, next = 0; at < frames->data.d_size; at = next) {
        Dwarf_CFI_Entry entry;
        next = at;
        int result = dwarf_next_cfi(ident, &frames->data, true, at, &next, &entry);
        if (result == 0 && !dwarf_cfi_cie_p(&entry)) add_fde(frames, &entry.fde, at);
        if (result < 0) {
            img_remark_add(frames->loading, IMG_REMARK_FDE, "%s+%#" PRIx64, frames->name, (uint64_t)at);
        }
        if (result > 0 || next <= at || next == (Dwarf_Off)-1) return;
    }
}

/* .eh_frame_hdr begins with a version, three encodings and a pointer to .eh_frame. */
static img_slice frames_by_header(const img_file *file, uint64_t *addr)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_GNU_EH_FRAME) continue;
        img_slice header = img_file_slice(file, segment->p_offset, segment->p_filesz);
        if (header.size < 12 || header.data[0] != 1) continue;
        uint8_t encoding = header.data[1];
        unsigned size = encoded_size(file, encoding);
        if ((encoding & 0xf0) != DW_EH_PE_pcrel || !size) continue;
        *addr = segment->p_vaddr + 4 + read_encoded(file, header.data + 4, encoding);
        if (img_word_size(file) == 4) *addr &= UINT32_MAX;
        return img_file_slice(file, img_address_offset(file, *addr), UINT64_MAX);
    }
    return (img_slice){0};
}

/* A relocatable file's entries have no addresses yet; it cannot be without .symtab either. */
void img_read_eh_frame(img_loading *loading, img_candidates *found)
{
    const img_file *file = &loading->file;
    if (loading->image.relocatable) return;
    frame_reader frames = {
        .loading = loading, .file = file, .name = ".eh_frame", .last_cie = (Dwarf_Off)-1, .found = found};
    const img_section *section = img_section_named(file, ".eh_frame");
    img_slice slice = img_section_slice(file, section);
    if (section) {
        frames.addr = section->addr;
    } else {
        slice = frames_by_header(file, &frames.addr);
    }
    if (!slice.size) return;
    frames.data = (Elf_Data){.d_buf = (void *)(uintptr_t)slice.data,
                             .d_size = slice.size,
                             .d_type = ELF_T_BYTE,
                             .d_version = EV_CURRENT};
    walk(&frames);
}
