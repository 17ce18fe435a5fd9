/* The ISA of a RISC-V file: Tag_RISCV_arch of .riscv.attributes, else what e_flags tell.
 * Reference: RISC-V ELF psABI, "Attributes" and "File Header". */
#include "internal.h"

#include <string.h>

enum { TAG_FILE = 1, TAG_ARCH = 5 };

/* Takes a ULEB128 number off the front; false: it does not end in the slice. */
static bool take_number(img_slice *slice, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; slice->size && shift < 64; shift += 7) {
        uint8_t byte = *slice->data++;
        slice->size--;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return true;
    }
    return false;
}

static const char *take_string(img_slice *slice)
{
    const uint8_t *end = slice->size ? memchr(slice->data, 0, slice->size) : NULL;
    if (!end) return NULL;
    const char *string = (const char *)slice->data;
    slice->size -= (uint64_t)(end - slice->data) + 1;
    slice->data = end + 1;
    return string;
}

/* Attributes of the file: odd tags have strings, even ones numbers. */
static const char *arch_attribute(img_slice attributes)
{
    uint64_t tag, number;
    while (take_number(&attributes, &tag)) {
        const char *string = NULL;
        if (tag % 2 == 0 ? !take_number(&attributes, &number) : !(string = take_string(&attributes)))
            return NULL;
        if (tag == TAG_ARCH) return string;
    }
    return NULL;
}

/* 'A', then vendors' subsections (length, name), in them groups (tag, length), lengths counting themselves.
 * "riscv" and the group for the whole file come first in practice; others are stepped over. */
static const char *arch_in_vendor(const img_file *file, img_slice vendor)
{
    const char *name = take_string(&vendor);
    while (name && !strcmp(name, "riscv") && vendor.size) {
        img_slice group = vendor;
        uint64_t tag;
        if (!take_number(&group, &tag) || group.size < 4) return NULL;
        uint64_t tag_size = vendor.size - group.size, length = img_read(file, group.data, 4);
        if (length < tag_size + 4 || length > vendor.size) return NULL;
        img_slice attributes = {group.data + 4, length - tag_size - 4};
        const char *arch = tag == TAG_FILE ? arch_attribute(attributes) : NULL;
        if (arch) return arch;
        vendor.data += length;
        vendor.size -= length;
    }
    return NULL;
}

static const char *arch_in_section(const img_file *file, img_slice section)
{
    if (section.size < 1 || section.data[0] != 'A') return NULL;
    for (section.data++, section.size--; section.size >= 4;) {
        uint64_t length = img_read(file, section.data, 4);
        if (length < 4 || length > section.size) return NULL;
        const char *arch = arch_in_vendor(file, (img_slice){section.data + 4, length - 4});
        if (arch) return arch;
        section.data += length;
        section.size -= length;
    }
    return NULL;
}

static img_slice attributes_of(const img_file *file, bool *there)
{
    const img_section *section = img_section_of_type(file, SHT_RISCV_ATTRIBUTES, SHN_UNDEF);
    *there = section != NULL;
    if (section) return img_section_slice(file, section);
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_RISCV_ATTRIBUTES) continue;
        *there = true;
        return img_file_slice(file, segment->p_offset, segment->p_filesz);
    }
    return (img_slice){0};
}

/* e_flags know the base, the floating-point ABI (at least that much is in the ISA) and C. */
static const char *isa_of_flags(img_loading *loading, uint64_t flags)
{
    static const char *const floats[] = {"", "f", "fd", "fdq"};
    const char *width = loading->image.elf32 ? "32" : "64";
    const char *base = flags & EF_RISCV_RVE ? "e" : "i", *compressed = flags & EF_RISCV_RVC ? "c" : "";
    return img_string(loading, "rv%s%s%s%s", width, base, floats[(flags & EF_RISCV_FLOAT_ABI) >> 1],
                      compressed);
}

void img_read_riscv_isa(img_loading *loading)
{
    const img_file *file = &loading->file;
    xs_image *image = &loading->image;
    if (image->arch == XS_IMAGE_ARM64) return;
    bool there = false;
    image->isa = arch_in_section(file, attributes_of(file, &there));
    if (there && !image->isa) img_remark_add(loading, IMG_REMARK_ATTRIBUTES, "section .riscv.attributes");
    if (!image->isa) image->isa = isa_of_flags(loading, file->ehdr.e_flags);
    image->rvc = (file->ehdr.e_flags & EF_RISCV_RVC) || xs_isa_has_c(image->isa);
}
