/* Names for PLT entries.
 *
 * Linkers write one relocation for each entry, in the order of the entries' GOT slots: first the functions of
 * other objects (JUMP_SLOT), then the file's own IFUNCs (IRELATIVE). Layouts: AAELF64 leaves them to the
 * linker; GNU ld, gold and lld all begin with a header of 32 bytes when there are JUMP_SLOTs, and use entries
 * of 16 bytes, or 24 with BTI or pointer authentication. RISC-V ELF psABI, "Procedure Linkage Table": a
 * header of 32 bytes, entries of 16. */
#include "internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_SIZE = 32, SMALL_ENTRY = 16, LARGE_ENTRY = 24 };
static const uint32_t a64_br_x17 = 0xd61f0220,
                      a64_nop = 0xd503201f; /* end of an entry; filler of a large one */

typedef struct plt_slot {
    uint64_t got;    /* address of its GOT slot: the order of entries */
    uint64_t symbol; /* of a JUMP_SLOT */
    uint64_t addend; /* of an IRELATIVE: the resolver */
    bool own;        /* IRELATIVE */
} plt_slot;

typedef struct plt_slots {
    plt_slot *items;
    size_t count, jumps; /* jumps: those that are not own, which come first */
} plt_slots;

static bool is_jump(uint64_t machine, uint64_t type)
{
    if (machine == EM_RISCV) return type == R_RISCV_JUMP_SLOT;
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_P32_JUMP_SLOT;
}

static bool is_own(uint64_t machine, uint64_t type)
{
    if (machine == EM_RISCV) return type == R_RISCV_IRELATIVE;
    return type == R_AARCH64_IRELATIVE || type == R_AARCH64_P32_IRELATIVE;
}

static int by_order(const void *a, const void *b)
{
    const plt_slot *one = a, *two = b;
    if (one->own != two->own) return one->own ? 1 : -1;
    return one->got < two->got ? -1 : one->got > two->got;
}

static void read_slots(img_loading *loading, const img_section *section, plt_slots *slots)
{
    const img_file *file = &loading->file;
    uint64_t each = img_word_size(file) == 8 ? sizeof(Elf64_Rela) : sizeof(Elf32_Rela);
    img_slice slice = img_section_slice(file, section);
    slice.size -= slice.size % each;
    Elf_Data *data = img_file_data(file, slice, ELF_T_RELA);
    size_t count = data ? (size_t)(slice.size / each) : 0;
    slots->items = count ? reallocarray(NULL, count, sizeof *slots->items) : NULL;
    if (count && !slots->items) loading->out_of_memory = true;
    if (!slots->items) return;
    for (size_t i = 0; i < count && i <= INT_MAX; i++) {
        GElf_Rela rela;
        if (!gelf_getrela(data, (int)i, &rela)) break;
        uint64_t type = GELF_R_TYPE(rela.r_info);
        bool jump = is_jump(file->ehdr.e_machine, type);
        if (!jump && !is_own(file->ehdr.e_machine, type)) continue; /* TLSDESC: no entry of its own */
        slots->items[slots->count++] =
            (plt_slot){rela.r_offset, GELF_R_SYM(rela.r_info), (uint64_t)rela.r_addend, !jump};
        slots->jumps += jump;
    }
    if (slots->count) qsort(slots->items, slots->count, sizeof *slots->items, by_order);
}

/* A small entry ends in its fourth word, and another entry or nothing follows. */
static uint64_t entry_size(const img_loading *loading, img_slice entries)
{
    if (loading->image.arch != XS_IMAGE_ARM64 || entries.size < SMALL_ENTRY) return SMALL_ENTRY;
    uint32_t words[2] = {0, 0};
    for (unsigned i = 0; i < 2 && entries.size >= SMALL_ENTRY + 4 * i; i++) {
        const uint8_t *at = entries.data + 12 + 4 * i; /* A64 words are little-endian in every file */
        words[i] = (uint32_t)(at[0] | at[1] << 8 | at[2] << 16) | (uint32_t)at[3] << 24;
    }
    return words[0] == a64_br_x17 && words[1] != a64_nop ? SMALL_ENTRY : LARGE_ENTRY;
}

/* The candidates are sorted by address: the first at the resolver's has the best name. */
static const char *own_name(const img_loading *loading, size_t known, uint64_t addr)
{
    const img_candidates *list = &loading->candidates;
    size_t low = 0, high = known;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].addr < addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < known && list->items[low].addr == addr ? list->items[low].name : NULL;
}

typedef struct plt_namer {
    img_loading *loading;
    Elf_Data *symbols; /* what the relocations' symbols are in; may be NULL */
    size_t symbol_count;
    size_t known; /* candidates before entries were added to them: these are sorted */
    img_slice strings;
} plt_namer;

/* "foo@plt"; NULL: nothing names it. A resolver without a symbol is called as functions.c will call it. */
static const char *entry_name(const plt_namer *namer, const plt_slot *slot)
{
    const char *name = NULL;
    GElf_Sym symbol;
    if (slot->own) {
        name = own_name(namer->loading, namer->known, slot->addend);
        if (!name) return img_string(namer->loading, "sub_%" PRIx64 "@plt", slot->addend);
    } else if (slot->symbol && slot->symbol < namer->symbol_count && slot->symbol <= INT_MAX &&
               gelf_getsym(namer->symbols, (int)slot->symbol, &symbol)) {
        name = img_slice_string(namer->strings, symbol.st_name);
    }
    return name && *name ? img_string(namer->loading, "%s@plt", name) : NULL;
}

static plt_namer namer_for(img_loading *loading, const img_section *relocations)
{
    const img_file *file = &loading->file;
    plt_namer namer = {.loading = loading, .known = loading->candidates.count};
    if (!relocations->link || relocations->link >= file->section_count) return namer;
    const img_section *table = &file->sections[relocations->link];
    if (table->type != SHT_DYNSYM && table->type != SHT_SYMTAB) return namer;
    uint64_t each = img_word_size(file) == 8 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    img_slice slice = img_section_slice(file, table);
    slice.size -= slice.size % each;
    namer.symbols = img_file_data(file, slice, ELF_T_SYM);
    namer.symbol_count = namer.symbols ? (size_t)(slice.size / each) : 0;
    if (table->link < file->section_count) {
        namer.strings = img_section_strings(file, &file->sections[table->link]);
    }
    return namer;
}

static void add_entry(const plt_namer *namer, const plt_slot *slot, const img_section *plt, uint64_t at,
                      uint64_t size)
{
    img_loading *loading = namer->loading;
    img_candidate entry = {.addr = plt->addr + at, .size = size, .version = "", .rank = 20};
    entry.source = XS_SOURCE_PLT;
    entry.name = entry_name(namer, slot);
    if (!entry.name) {
        img_remark_add(loading, IMG_REMARK_PLT, "%s+%#" PRIx64, plt->name, at);
    } else if (img_range_index(loading, &loading->code, entry.addr, SIZE_MAX) != SIZE_MAX) {
        img_add_candidate(loading, &entry);
    }
}

static void name_section(const plt_namer *namer, const img_section *plt, const plt_slot *slots, size_t count,
                         bool header)
{
    img_slice bytes = img_section_slice(&namer->loading->file, plt);
    uint64_t at = header ? HEADER_SIZE : 0;
    if (bytes.size < at) at = bytes.size;
    uint64_t each = entry_size(namer->loading, (img_slice){bytes.data + at, bytes.size - at});
    for (size_t i = 0; i < count; i++, at += each) {
        if (bytes.size - at < each) { /* more relocations than entries: the layout is another one */
            img_remark_add(namer->loading, IMG_REMARK_PLT, "%s, %zu relocations too many", plt->name,
                           count - i);
            return;
        }
        add_entry(namer, &slots[i], plt, at, each);
    }
}

/* Entries of own IFUNCs follow the others, or have a section of their own, without a header (lld). */
static void name_entries(const plt_namer *namer, const plt_slots *slots)
{
    const img_section *plt = img_section_named(&namer->loading->file, ".plt");
    const img_section *own = img_section_named(&namer->loading->file, ".iplt");
    size_t in_plt = own ? slots->jumps : slots->count;
    if (plt) name_section(namer, plt, slots->items, in_plt, slots->jumps > 0);
    if (own) name_section(namer, own, slots->items + slots->jumps, slots->count - slots->jumps, false);
}

void img_name_plt(img_loading *loading)
{
    static const char *const tables[] = {".rela.plt", ".rela.iplt"};
    if (loading->image.relocatable) return;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const img_section *relocations = img_section_named(&loading->file, tables[i]);
        if (!relocations || relocations->type != SHT_RELA) continue;
        plt_slots slots = {0};
        read_slots(loading, relocations, &slots);
        plt_namer namer = namer_for(loading, relocations);
        if (slots.count) name_entries(&namer, &slots);
        free(slots.items);
        return;
    }
}
