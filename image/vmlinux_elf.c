/* A vmlinux: segments, symbols, relative relocations. Reference: the System V gABI and the psABIs of AArch64
 * and RISC-V for the two relocation numbers. */
#include "vmlinux_internal.h"

#include <string.h>

static xs_image_status check(krn_loading *loading)
{
    const GElf_Ehdr *head = &loading->file.ehdr;
    if (head->e_ident[EI_CLASS] != ELFCLASS64) return krn_fail(loading, XS_IMAGE_E_ARCH, "a 32-bit kernel");
    if (head->e_ident[EI_DATA] != ELFDATA2LSB)
        return krn_fail(loading, XS_IMAGE_E_ARCH, "a big-endian kernel");
    if (head->e_type == ET_REL)
        return krn_fail(loading, XS_IMAGE_E_FORMAT, "not linked: a module or an object file");
    loading->image.arch = head->e_machine == EM_AARCH64 ? XS_IMAGE_ARM64 : XS_IMAGE_RISCV64;
    return XS_IMAGE_OK;
}

/* ---- segments --------------------------------------------------------------------------------- */

static bool is_loaded(const GElf_Phdr *segment)
{
    return segment->p_type == PT_LOAD && segment->p_memsz > 0;
}

static bool find_span(const krn_loading *loading, uint64_t *first, uint64_t *end)
{
    *first = UINT64_MAX;
    *end = 0;
    for (size_t i = 0; i < loading->file.segment_count; i++) {
        const GElf_Phdr *s = &loading->file.segments[i];
        if (!is_loaded(s)) continue;
        if (s->p_vaddr + s->p_memsz < s->p_vaddr || s->p_filesz > s->p_memsz) return false;
        if (s->p_vaddr < *first) *first = s->p_vaddr;
        if (s->p_vaddr + s->p_memsz > *end) *end = s->p_vaddr + s->p_memsz;
    }
    return *end > *first;
}

static xs_image_status copy_segments(krn_loading *loading)
{
    uint64_t first, end;
    if (!find_span(loading, &first, &end))
        return krn_fail(loading, XS_IMAGE_E_EMPTY, "no segments to load: an object file, or damaged");
    if (!krn_reserve(loading, first, end)) return XS_IMAGE_E_FORMAT;
    for (size_t i = 0; i < loading->file.segment_count; i++) {
        const GElf_Phdr *s = &loading->file.segments[i];
        if (!is_loaded(s)) continue;
        img_slice slice = img_file_slice(&loading->file, s->p_offset, s->p_filesz);
        if (slice.size < s->p_filesz)
            return krn_fail(loading, XS_IMAGE_E_FORMAT, "truncated: a segment is cut off");
        if (slice.size) memcpy(krn_bytes(loading, s->p_vaddr, s->p_filesz), slice.data, slice.size);
    }
    return XS_IMAGE_OK;
}

/* ---- relocations ------------------------------------------------------------------------------ */

/* A kernel that can be moved is linked as if at its address, with what holds addresses left to its own
 * start-up code. Compact relocations (SHT_RELR) have their addend in place: nothing is to be done for them.
 */
static void relocate(krn_loading *loading, Elf_Data *data)
{
    uint32_t relative = loading->image.arch == XS_IMAGE_ARM64 ? R_AARCH64_RELATIVE : R_RISCV_RELATIVE;
    GElf_Rela rela;
    for (int i = 0; gelf_getrela(data, i, &rela); i++) {
        uint64_t value = (uint64_t)rela.r_addend;
        uint8_t *at = krn_bytes(loading, rela.r_offset, sizeof value);
        if (GELF_R_TYPE(rela.r_info) != relative || !at) continue;
        for (unsigned b = 0; b < sizeof value; b++)
            at[b] = (uint8_t)(value >> 8 * b);
    }
}

static void relocate_all(krn_loading *loading)
{
    const img_file *file = &loading->file;
    for (size_t i = 0; i < file->section_count; i++) {
        const img_section *section = &file->sections[i];
        if (section->type != SHT_RELA || !(section->flags & SHF_ALLOC)) continue;
        Elf_Data *data = img_file_data(file, img_section_slice(file, section), ELF_T_RELA);
        if (data) relocate(loading, data);
    }
}

/* ---- symbols ---------------------------------------------------------------------------------- */

static bool is_place(const GElf_Sym *symbol, const char *name)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    bool names_place = type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC;
    return names_place && symbol->st_shndx != SHN_UNDEF && name && *name && *name != '$' &&
           strncmp(name, ".L", 2) != 0;
}

static xs_image_status read_symbols(krn_loading *loading)
{
    const img_file *file = &loading->file;
    const img_section *table = img_section_of_type(file, SHT_SYMTAB, SHN_UNDEF);
    GElf_Sym symbol;
    if (!table || table->link >= file->section_count)
        return krn_fail(loading, XS_IMAGE_E_FORMAT,
                        "no symbols: a stripped kernel wants its System.map with --symbols");
    img_slice strings = img_section_strings(file, &file->sections[table->link]);
    Elf_Data *data = img_file_data(file, img_section_slice(file, table), ELF_T_SYM);
    for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
        const char *name = img_slice_string(strings, symbol.st_name);
        if (is_place(&symbol, name) && !krn_add_symbol(loading, symbol.st_value, name))
            return krn_fail(loading, XS_IMAGE_E_NOMEM, "out of memory");
    }
    return XS_IMAGE_OK;
}

xs_image_status krn_read_elf(krn_loading *loading, bool symbols)
{
    xs_image_status status = check(loading);
    if (status == XS_IMAGE_OK) status = copy_segments(loading);
    if (status != XS_IMAGE_OK) return status;
    relocate_all(loading);
    return symbols ? read_symbols(loading) : XS_IMAGE_OK;
}
