/* Symbol tables: function symbols become candidates, mapping symbols become marks.
 *
 * A function is STT_FUNC or STT_GNU_IFUNC. In a kernel or a kernel module, where entry code is written in
 * assembly without types, an untyped symbol in an executable section is one too (perf and kallsyms see it the
 * same way), unless it is a mapping symbol, a local label (".L...") or not of default visibility. */
#include "internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct symbol_reader {
    img_loading *loading;
    const img_file *file;
    xs_source source;
    img_slice strings;
    img_slice wide_indices; /* SHT_SYMTAB_SHNDX: section indices that do not fit in 16 bits */
    img_versions versions;
    size_t functions;
} symbol_reader;

/* An index of 0xff00 and up is a meaning, not a section; SHN_XINDEX says where the index really is. */
static uint32_t section_of(const symbol_reader *reader, const GElf_Sym *symbol, size_t index)
{
    if (symbol->st_shndx == SHN_XINDEX) {
        if (index >= reader->wide_indices.size / 4) return UINT32_MAX;
        return (uint32_t)img_read(reader->file, reader->wide_indices.data + 4 * index, 4);
    }
    return symbol->st_shndx >= SHN_LORESERVE ? SHN_UNDEF : symbol->st_shndx;
}

/* The section in the file that is classified. A separate debug file keeps its sections' addresses, and a
 * relocatable one, where addresses say nothing, their order. SIZE_MAX: not code. */
static size_t code_section(const symbol_reader *reader, uint32_t section, uint64_t addr)
{
    img_loading *loading = reader->loading;
    if (!loading->image.relocatable) {
        size_t found = img_range_index(loading, &loading->code, addr, SIZE_MAX);
        return found == SIZE_MAX ? SIZE_MAX : loading->code.items[found].section_index;
    }
    const img_file *main = &loading->file;
    bool same =
        reader->file == main || (section < main->section_count &&
                                 !strcmp(main->sections[section].name, reader->file->sections[section].name));
    if (!same || img_range_index(loading, &loading->code, addr, section) == SIZE_MAX) return SIZE_MAX;
    return section;
}

/* Bytes from the symbol to the end of its section; 0 when it is outside. */
static uint64_t rest_of_section(const symbol_reader *reader, uint32_t section, uint64_t addr)
{
    const img_section *holder = &reader->file->sections[section];
    uint64_t start = reader->loading->image.relocatable ? 0 : holder->addr;
    return addr < start || addr - start >= holder->size ? 0 : holder->size - (addr - start);
}

static void take_mark(symbol_reader *reader, img_mark *mark, const char *name, uint32_t section,
                      uint64_t addr)
{
    img_loading *loading = reader->loading;
    if (section >= reader->file->section_count || !(reader->file->sections[section].flags & SHF_EXECINSTR))
        return;
    if (!rest_of_section(reader, section, addr)) {
        const img_section *holder = &reader->file->sections[section];
        uint64_t start = loading->image.relocatable ? 0 : holder->addr;
        if (addr - start == holder->size) return; /* at the end: the start of nothing */
        img_remark_add(loading, IMG_REMARK_MAPPING_STRAY, "%s at %#" PRIx64 " of %s", name, addr,
                       holder->name);
        return;
    }
    size_t code = code_section(reader, section, addr);
    if (code == SIZE_MAX) return;
    mark->section = (uint32_t)code;
    mark->addr = addr;
    img_add_mark(loading, *mark);
}

/* Global before weak before local; a default version before others; a typed symbol before a label. */
static uint8_t rank_of(const GElf_Sym *symbol, bool hidden, bool named)
{
    unsigned bind = GELF_ST_BIND(symbol->st_info);
    unsigned rank = bind == STB_LOCAL ? 2 : bind == STB_WEAK ? 1 : 0;
    if (GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE) rank += 4;
    if (!named) rank += 8;
    return (uint8_t)(rank * 2 + hidden);
}

/* Some linkers leave "foo@@V" in .symtab: the version goes where versions are. */
static void split_version(img_loading *loading, img_candidate *candidate)
{
    const char *at = strchr(candidate->name, '@');
    if (!at || at == candidate->name || !at[strspn(at, "@")]) return;
    char *name = img_string(loading, "%.*s", (int)(at - candidate->name), candidate->name);
    if (!name) return;
    candidate->name = name;
    candidate->version = at + strspn(at, "@");
}

static void check_name(symbol_reader *reader, img_candidate *candidate, size_t index)
{
    if (candidate->name && *candidate->name) {
        if (reader->source != XS_SOURCE_DYNSYM) split_version(reader->loading, candidate);
        return;
    }
    candidate->name = NULL; /* functions.c makes one up */
    img_remark_add(reader->loading, IMG_REMARK_SYMBOL_NAME, "symbol %zu at %#" PRIx64, index,
                   candidate->addr);
}

static void check_size(symbol_reader *reader, img_candidate *candidate, uint32_t section)
{
    if (reader->file->made_up_sections) return;
    uint64_t rest = rest_of_section(reader, section, candidate->addr);
    if (candidate->size <= rest) return;
    img_remark_add(reader->loading, IMG_REMARK_SYMBOL_SIZE, "%s, %" PRIu64 " bytes",
                   candidate->name ? candidate->name : "?", candidate->size);
    candidate->size = rest;
}

/* What is wrong with where the symbol is; IMG_REMARK_COUNT: nothing. */
static img_remark_kind place_problem(const symbol_reader *reader, const GElf_Sym *symbol, uint32_t section,
                                     size_t *code)
{
    const img_file *file = reader->file;
    if (!file->made_up_sections) {
        if (section >= file->section_count) return IMG_REMARK_SYMBOL_SECTION;
        if (!(file->sections[section].flags & SHF_EXECINSTR)) return IMG_REMARK_SYMBOL_NO_CODE;
        if (!rest_of_section(reader, section, symbol->st_value)) return IMG_REMARK_SYMBOL_PAST_END;
    }
    *code = code_section(reader, section, symbol->st_value);
    if (*code == SIZE_MAX) return IMG_REMARK_SYMBOL_NO_CODE;
    uint64_t alignment = reader->loading->image.arch == XS_IMAGE_ARM64 ? 4 : 2;
    return symbol->st_value % alignment ? IMG_REMARK_SYMBOL_UNALIGNED : IMG_REMARK_COUNT;
}

static void take_function(symbol_reader *reader, const GElf_Sym *symbol, const char *name, size_t index,
                          uint32_t section)
{
    img_loading *loading = reader->loading;
    size_t code = 0;
    img_remark_kind problem = place_problem(reader, symbol, section, &code);
    if (problem != IMG_REMARK_COUNT) {
        img_remark_add(loading, problem, "%s at %#" PRIx64, name && *name ? name : "?", symbol->st_value);
        return;
    }
    bool hidden = false;
    img_candidate candidate = {
        .addr = symbol->st_value, .size = symbol->st_size, .name = name, .order = index};
    candidate.version = img_version_of(loading, &reader->versions, index, &hidden);
    candidate.section = loading->image.relocatable ? (uint32_t)code : 0;
    candidate.source = (uint8_t)reader->source;
    candidate.ifunc = GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
    check_name(reader, &candidate, index);
    check_size(reader, &candidate, section);
    candidate.rank = rank_of(symbol, hidden, candidate.name != NULL);
    img_add_candidate(loading, &candidate);
    reader->functions++;
}

static bool is_label(const symbol_reader *reader, const GElf_Sym *symbol, const char *name, uint32_t section)
{
    if (!reader->loading->labels_are_functions || !name || !*name) return false;
    if (GELF_ST_VISIBILITY(symbol->st_other) != STV_DEFAULT || !strncmp(name, ".L", 2)) return false;
    return section < reader->file->section_count && rest_of_section(reader, section, symbol->st_value) &&
           (reader->file->sections[section].flags & SHF_EXECINSTR);
}

static void take_symbol(symbol_reader *reader, const GElf_Sym *symbol, size_t index)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (type > STT_TLS && type != STT_GNU_IFUNC) {
        img_remark_add(reader->loading, IMG_REMARK_SYMBOL_TYPE, "symbol %zu, type %u", index, type);
    }
    if (type != STT_NOTYPE && type != STT_FUNC && type != STT_GNU_IFUNC) return;
    uint32_t section = section_of(reader, symbol, index);
    if (section == SHN_UNDEF) return; /* defined elsewhere, or absolute */
    const char *name = img_slice_string(reader->strings, symbol->st_name);
    if (type != STT_NOTYPE) {
        take_function(reader, symbol, name, index, section);
        return;
    }
    img_mark mark;
    if (name && GELF_ST_BIND(symbol->st_info) == STB_LOCAL &&
        img_mapping_symbol(reader->loading, name, &mark)) {
        take_mark(reader, &mark, name, section, symbol->st_value);
    } else if (is_label(reader, symbol, name, section)) {
        take_function(reader, symbol, name, index, section);
    }
}

static img_slice strings_of(symbol_reader *reader, const img_section *table)
{
    const img_file *file = reader->file;
    img_slice strings = {0};
    if (table->link < file->section_count && file->sections[table->link].type == SHT_STRTAB) {
        strings = img_section_strings(file, &file->sections[table->link]);
    }
    if (!strings.size) img_remark_add(reader->loading, IMG_REMARK_SYMBOL_STRINGS, "%s", table->name);
    return strings;
}

static Elf_Data *table_data(symbol_reader *reader, const img_section *table, size_t *count)
{
    bool wide = img_word_size(reader->file) == 8;
    uint64_t each = wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    img_slice slice = img_section_slice(reader->file, table);
    slice.size -= slice.size % each;
    *count = (size_t)(slice.size / each);
    if (*count > INT_MAX) *count = INT_MAX; /* gelf_getsym counts in int */
    Elf_Data *data = img_file_data(reader->file, slice, ELF_T_SYM);
    if (!data || table->size % each) {
        img_remark_add(reader->loading, IMG_REMARK_SYMBOL_TABLE, "%s, %zu symbols there", table->name,
                       data ? *count : 0);
    }
    return data;
}

bool img_read_symbols(img_loading *loading, const img_file *file, uint32_t table_type, xs_source source)
{
    const img_section *table = img_section_of_type(file, table_type, SHN_UNDEF);
    if (!table) return false;
    symbol_reader reader = {.loading = loading, .file = file, .source = source};
    size_t count = 0;
    Elf_Data *data = table_data(&reader, table, &count);
    if (!data) return false;
    reader.strings = strings_of(&reader, table);
    uint32_t index = (uint32_t)(table - file->sections);
    reader.wide_indices = img_section_slice(file, img_section_of_type(file, SHT_SYMTAB_SHNDX, index));
    if (table_type == SHT_DYNSYM) reader.versions = img_versions_read(loading, file, table);
    for (size_t i = 1; i < count; i++) {
        GElf_Sym symbol;
        if (gelf_getsym(data, (int)i, &symbol)) take_symbol(&reader, &symbol, i);
    }
    free(reader.versions.names);
    return reader.functions > 0;
}
