/* Files without section headers. The dynamic segment still says where .dynsym, its strings and versions are;
 * they are written down as sections, so that the rest of this folder need not know.
 * References: gABI, chapter 5, "Dynamic Section"; .gnu.hash as in binutils and glibc. */
#include "internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

enum {
    MADE_SYMBOLS = 1,
    MADE_STRINGS,
    MADE_VERSIONS,
    MADE_DEFINITIONS,
    MADE_RELOCATIONS,
    MADE_PLT_RELOCATIONS,
    MADE_PLT,
    MADE_COUNT
};

typedef struct dynamic_table {
    uint64_t strings, strings_size, symbols, hash, gnu_hash, versions, definitions;
    uint64_t relocations, relocations_size, plt_relocations, plt_relocations_size;
} dynamic_table;

static uint64_t *entry_of(dynamic_table *dynamic, int64_t tag)
{
    switch (tag) {
    case DT_STRTAB: return &dynamic->strings;
    case DT_STRSZ: return &dynamic->strings_size;
    case DT_SYMTAB: return &dynamic->symbols;
    case DT_HASH: return &dynamic->hash;
    case DT_GNU_HASH: return &dynamic->gnu_hash;
    case DT_VERSYM: return &dynamic->versions;
    case DT_VERDEF: return &dynamic->definitions;
    case DT_RELA: return &dynamic->relocations;
    case DT_RELASZ: return &dynamic->relocations_size;
    case DT_JMPREL: return &dynamic->plt_relocations;
    case DT_PLTRELSZ: return &dynamic->plt_relocations_size;
    default: return NULL;
    }
}

static const GElf_Phdr *segment_of_type(const img_file *file, uint32_t type)
{
    for (size_t i = 0; i < file->segment_count; i++) {
        if (file->segments[i].p_type == type) return &file->segments[i];
    }
    return NULL;
}

static img_slice dynamic_slice(const img_file *file)
{
    const GElf_Phdr *segment = segment_of_type(file, PT_DYNAMIC);
    img_slice slice = segment ? img_file_slice(file, segment->p_offset, segment->p_filesz) : (img_slice){0};
    slice.size -= slice.size % (2 * (uint64_t)img_word_size(file));
    return slice;
}

bool img_dynamic_value(const img_file *file, int64_t tag, uint64_t *value)
{
    img_slice slice = dynamic_slice(file);
    Elf_Data *data = img_file_data(file, slice, ELF_T_DYN);
    GElf_Dyn entry;
    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        if (entry.d_tag != tag) continue;
        *value = entry.d_un.d_val;
        return true;
    }
    return false;
}

static bool read_dynamic(const img_file *file, dynamic_table *dynamic)
{
    Elf_Data *data = img_file_data(file, dynamic_slice(file), ELF_T_DYN);
    GElf_Dyn entry;
    for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        uint64_t *where = entry_of(dynamic, entry.d_tag);
        if (where) *where = entry.d_un.d_val;
    }
    return data != NULL;
}

/* From addr to the end of the file; who uses it knows where to stop. */
static img_slice from_address(const img_file *file, uint64_t addr)
{
    return addr ? img_file_slice(file, img_address_offset(file, addr), UINT64_MAX) : (img_slice){0};
}

static uint64_t word_at(const img_file *file, img_slice slice, uint64_t index)
{
    return index < slice.size / 4 ? img_read(file, slice.data + 4 * index, 4) : 0;
}

/* .gnu.hash does not say how many symbols there are: the last chain of the highest bucket ends at the last.
 */
static uint64_t count_by_gnu_hash(const img_file *file, img_slice table)
{
    uint64_t buckets = word_at(file, table, 0), first = word_at(file, table, 1),
             bloom = word_at(file, table, 2);
    uint64_t bucket_at = 4 + bloom * (img_word_size(file) / 4), highest = 0;
    for (uint64_t i = 0; i < buckets && bucket_at + i < table.size / 4; i++) {
        uint64_t symbol = word_at(file, table, bucket_at + i);
        if (symbol > highest) highest = symbol;
    }
    if (highest < first || !highest) return first;
    uint64_t at = bucket_at + buckets + (highest - first);
    while (at < table.size / 4 && !(word_at(file, table, at) & 1)) {
        at++;
        highest++;
    }
    return highest + 1;
}

static uint64_t count_symbols(const img_file *file, const dynamic_table *dynamic)
{
    if (dynamic->hash) return word_at(file, from_address(file, dynamic->hash), 1); /* nchain */
    if (dynamic->gnu_hash) return count_by_gnu_hash(file, from_address(file, dynamic->gnu_hash));
    return 0;
}

static void make_up(img_loading *loading, unsigned index, img_section section)
{
    section.offset = img_address_offset(&loading->file, section.addr);
    if (!section.addr) return;
    if (section.offset == UINT64_MAX || section.offset >= loading->file.raw_size) {
        img_remark_add(loading, IMG_REMARK_DYNAMIC, "%s at %#" PRIx64, section.name, section.addr);
        return;
    }
    uint64_t rest = loading->file.raw_size - section.offset;
    if (section.size > rest) section.size = rest;
    loading->file.sections[index] = section;
}

/* Until a JUMP_SLOT is bound, its GOT slot points to the start of the PLT; that is what the file holds. */
static void make_up_plt(img_loading *loading)
{
    const img_file *file = &loading->file;
    unsigned word = img_word_size(file);
    uint64_t each = 3 * (uint64_t)word;
    img_slice relocations = img_section_slice(file, &file->sections[MADE_PLT_RELOCATIONS]);
    if (relocations.size < each) return;
    img_slice got = from_address(file, img_read(file, relocations.data, word)); /* r_offset */
    if (got.size < word) return;
    uint64_t addr = img_read(file, got.data, word), most = 24 * (relocations.size / each) + 32;
    if (img_range_index(loading, &loading->code, addr, SIZE_MAX) == SIZE_MAX) return;
    make_up(loading, MADE_PLT, (img_section){".plt", 0, addr, 0, most, SHT_PROGBITS, 0});
}

static void make_up_all(img_loading *loading, const dynamic_table *dynamic)
{
    const img_file *file = &loading->file;
    uint64_t count = count_symbols(file, dynamic);
    uint64_t limit = file->raw_size / sizeof(Elf32_Sym) + 1, each = img_word_size(file) == 8 ? 24 : 16;
    if (count > limit) count = limit;
    const img_section sections[MADE_PLT] = {
        [MADE_SYMBOLS] = {".dynsym", 0, dynamic->symbols, 0, count * each, SHT_DYNSYM, MADE_STRINGS},
        [MADE_STRINGS] = {".dynstr", 0, dynamic->strings, 0, dynamic->strings_size, SHT_STRTAB, 0},
        [MADE_VERSIONS] = {".gnu.version", 0, dynamic->versions, 0, count * 2, SHT_GNU_versym, MADE_SYMBOLS},
        [MADE_DEFINITIONS] = {".gnu.version_d", 0, dynamic->definitions, 0, UINT64_MAX, SHT_GNU_verdef,
                              MADE_STRINGS},
        [MADE_RELOCATIONS] = {".rela.dyn", 0, dynamic->relocations, 0, dynamic->relocations_size, SHT_RELA,
                              MADE_SYMBOLS},
        [MADE_PLT_RELOCATIONS] = {".rela.plt", 0, dynamic->plt_relocations, 0, dynamic->plt_relocations_size,
                                  SHT_RELA, MADE_SYMBOLS},
    };
    for (unsigned i = MADE_SYMBOLS; i < MADE_PLT; i++)
        make_up(loading, i, sections[i]);
    make_up_plt(loading);
}

void img_make_up_sections(img_loading *loading)
{
    img_file *file = &loading->file;
    dynamic_table dynamic = {0};
    if (file->section_count > 1) return;
    file->made_up_sections = true;
    if (!read_dynamic(file, &dynamic)) return;
    img_section *sections = calloc(MADE_COUNT, sizeof *sections);
    if (!sections) {
        loading->out_of_memory = true;
        return;
    }
    for (unsigned i = 0; i < MADE_COUNT; i++)
        sections[i].name = "";
    free(file->sections);
    file->sections = sections;
    file->section_count = MADE_COUNT;
    make_up_all(loading, &dynamic);
}

enum { PADDING = 16 }; /* fewer bytes than this between two tables align the second */

typedef struct hole {
    uint64_t start, end;
} hole;

static int by_start(const void *a, const void *b)
{
    const hole *one = a, *two = b;
    return one->start < two->start ? -1 : one->start > two->start;
}

static void add_hole(hole *holes, size_t *count, uint64_t start, uint64_t size)
{
    if (size && start + size > start) holes[(*count)++] = (hole){start, start + size};
}

static bool is_data_segment(uint32_t type)
{
    return type == PT_INTERP || type == PT_NOTE || type == PT_DYNAMIC || type == PT_GNU_EH_FRAME ||
           type == PT_GNU_PROPERTY || type == PT_RISCV_ATTRIBUTES || type == PT_PHDR;
}

static size_t find_holes(const img_file *file, hole *holes)
{
    size_t count = 0;
    for (size_t i = 0; i < file->segment_count; i++) {
        const GElf_Phdr *segment = &file->segments[i];
        if (is_data_segment(segment->p_type)) add_hole(holes, &count, segment->p_vaddr, segment->p_filesz);
        if (segment->p_type != PT_LOAD || segment->p_offset != 0) continue;
        uint64_t table = file->ehdr.e_phoff + (uint64_t)file->ehdr.e_phnum * file->ehdr.e_phentsize;
        uint64_t headers = file->ehdr.e_phoff == file->ehdr.e_ehsize ? table : file->ehdr.e_ehsize;
        add_hole(holes, &count, segment->p_vaddr, headers);
    }
    for (size_t i = 1; i < file->section_count; i++) {
        if (i == MADE_DEFINITIONS || i == MADE_PLT) continue; /* unknown size; code */
        add_hole(holes, &count, file->sections[i].addr, file->sections[i].size);
    }
    return count;
}

static void mark_hole(img_loading *loading, uint64_t start, uint64_t end)
{
    size_t code = img_range_index(loading, &loading->code, start, SIZE_MAX);
    if (code == SIZE_MAX) return;
    uint32_t section = loading->code.items[code].section_index;
    img_add_mark(loading, (img_mark){.section = section, .data = true, .addr = start});
    img_add_mark(loading, (img_mark){.section = section, .data = false, .addr = end});
}

/* An executable segment begins with headers and tables. What the file itself says is not code is marked so,
 * by the same means as mapping symbols do; what nothing tells apart (.rodata) stays. */
void img_mark_segment_data(img_loading *loading)
{
    const img_file *file = &loading->file;
    if (!file->made_up_sections) return;
    hole *holes = calloc(2 * file->segment_count + MADE_COUNT, sizeof *holes);
    if (!holes) {
        loading->out_of_memory = true;
        return;
    }
    size_t count = find_holes(file, holes);
    qsort(holes, count, sizeof *holes, by_start);
    for (size_t i = 0, next; i < count; i = next) {
        uint64_t end = holes[i].end;
        for (next = i + 1; next < count && (holes[next].start <= end || holes[next].start - end < PADDING);
             next++) {
            if (holes[next].end > end) end = holes[next].end;
        }
        mark_hole(loading, holes[i].start, end);
    }
    free(holes);
}
