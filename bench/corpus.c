/* Words of real libraries, and programs of any size made of them. */
#include "bench.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- memory ---------------------------------------------------------------------------------------- */

uint8_t *pages(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    madvise(memory, size, MADV_HUGEPAGE);
    memset(memory, 0, size);
    return memory;
}

void pages_free(uint8_t *memory, size_t size)
{
    if (memory) munmap(memory, size);
}

/* The size of cache number i of the first core, if it is the highest level so far. */
static bool cache_size(unsigned i, unsigned *level, size_t *size)
{
    char path[128], unit = 0;
    unsigned found = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/level", i);
    FILE *f = fopen(path, "r");
    if (!f) return false;
    bool ok = fscanf(f, "%u", &found) == 1;
    fclose(f);
    if (!ok || found < *level) return true;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/size", i);
    f = fopen(path, "r");
    if (!f) return false;
    size_t number;
    if (fscanf(f, "%zu%c", &number, &unit) == 2) {
        *level = found;
        *size = number << (unit == 'M' ? 20 : 10);
    }
    fclose(f);
    return true;
}

size_t last_level_cache(void)
{
    size_t size = 0;
    unsigned level = 0;
    for (unsigned i = 0; cache_size(i, &level, &size); i++)
        ;
    return size;
}

/* ---- libraries ------------------------------------------------------------------------------------- */

static Elf_Scn *section_named(Elf *elf, const char *name, GElf_Shdr *header)
{
    size_t names;
    Elf_Scn *section = NULL;
    if (elf_getshdrstrndx(elf, &names) != 0) return NULL;
    while ((section = elf_nextscn(elf, section))) {
        if (!gelf_getshdr(section, header)) return NULL;
        const char *found = elf_strptr(elf, names, header->sh_name);
        if (found && strcmp(found, name) == 0) return section;
    }
    return NULL;
}

static bool add_function(corpus *c, uint64_t offset, uint64_t size, const char *name)
{
    size_t length = strlen(name) + 1;
    function *functions = realloc(c->functions, (c->function_count + 1) * sizeof *functions);
    if (functions) c->functions = functions;
    char *names = realloc(c->names, c->names_size + length);
    if (names) c->names = names;
    if (!functions || !names) return false;
    memcpy(names + c->names_size, name, length);
    functions[c->function_count++] = (function){offset, size, (uint32_t)c->names_size};
    c->names_size += length;
    return true;
}

static bool add_functions(corpus *c, Elf *elf, const GElf_Shdr *text)
{
    GElf_Shdr header;
    Elf_Scn *section = section_named(elf, ".dynsym", &header);
    Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
    if (!data || header.sh_entsize == 0) return true;
    for (size_t i = 0; i < header.sh_size / header.sh_entsize; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol)) return false;
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value < text->sh_addr ||
            symbol.st_value >= text->sh_addr + text->sh_size)
            continue;
        const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
        if (name && !add_function(c, c->size + symbol.st_value - text->sh_addr, symbol.st_size, name))
            return false;
    }
    return true;
}

static bool add_text(corpus *c, Elf *elf)
{
    GElf_Shdr header;
    Elf_Scn *section = section_named(elf, ".text", &header);
    Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
    if (!data || !data->d_buf || !add_functions(c, elf, &header)) return false;
    uint8_t *text = realloc(c->text, c->size + data->d_size);
    if (!text) return false;
    memcpy(text + c->size, data->d_buf, data->d_size);
    c->text = text;
    c->size += data->d_size;
    return true;
}

static bool add_library(corpus *c, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    bool ok = elf && add_text(c, elf);
    elf_end(elf);
    close(fd);
    return ok;
}

bool corpus_load(corpus *c, const char *arch, char why[TEXT])
{
    bool arm = strcmp(arch, "arm64") == 0;
    static const char *const libraries[] = {"libc.so.6", "libstdc++.so.6"};
    static const char *const packages[] = {"libc6", "libstdc++6"};
    *c = (corpus){0};
    snprintf(c->arch, sizeof c->arch, "%s", arch);
    elf_version(EV_CURRENT);
    if (!add_function(c, 0, 0, "")) return false; /* number 0 of a symbol table */
    for (size_t i = 0; i < 2; i++) {
        char path[TEXT];
        snprintf(path, sizeof path, "/usr/%s-linux-gnu/lib/%s", arm ? "aarch64" : "riscv64", libraries[i]);
        if (add_library(c, path)) continue;
        snprintf(why, TEXT, "%s-%s-cross is not installed", packages[i], arch);
        corpus_free(c);
        return false;
    }
    return true;
}

void corpus_free(corpus *c)
{
    free(c->text);
    free(c->functions);
    free(c->names);
    *c = (corpus){0};
}

size_t corpus_copies(const corpus *c, size_t bytes)
{
    return (bytes + c->size - 1) / c->size;
}

void corpus_repeat(const corpus *c, uint8_t *text, size_t copies)
{
    for (size_t i = 0; i < copies; i++)
        memcpy(text + i * c->size, c->text, c->size);
}

/* ---- programs -------------------------------------------------------------------------------------- */

/* Written with the host's byte order, which AArch64 shares with every host that this was tried on. */
enum { SECTION_NONE, SECTION_TEXT, SECTION_NAMES, SECTION_SYMTAB, SECTION_STRTAB, SECTIONS };
enum { STRIPPED_SECTIONS = SECTION_SYMTAB }; /* a stripped program has no empty symbol table: it has none */
static const char dollar_x[] = "$x";
static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
enum { TEXT_AT = 4096 };

typedef struct program {
    const corpus *c;
    size_t copies, functions, symbols;
    FILE *f;
} program;

static size_t aligned(size_t at)
{
    return (at + 7) / 8 * 8;
}

static bool put(program *p, const void *data, size_t size)
{
    return fwrite(data, 1, size, p->f) == size;
}

static bool put_symbol(program *p, uint32_t name, unsigned char info, uint64_t value, uint64_t size)
{
    Elf64_Sym symbol = {.st_name = name,
                        .st_info = info,
                        .st_shndx = value ? SECTION_TEXT : SHN_UNDEF,
                        .st_value = value,
                        .st_size = size};
    return put(p, &symbol, sizeof symbol);
}

/* Local ones first, as the format wants it: number 0, the $x; then the functions. */
static bool put_symbols(program *p)
{
    uint32_t mapping = (uint32_t)p->c->names_size; /* behind the functions' names */
    bool ok = put_symbol(p, 0, 0, 0, 0);
    for (int global = 0; global < 2; global++)
        for (size_t i = 0; ok && i < p->functions; i++) {
            size_t each = p->c->function_count - 1, copy = i / each;
            const function *f = &p->c->functions[1 + i % each];
            uint64_t value = TEXT_AT + copy * p->c->size + f->offset;
            ok = global ? put_symbol(p, f->name, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), value, f->size)
                        : put_symbol(p, mapping, ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), value, 0);
        }
    return ok;
}

static Elf64_Ehdr file_header(const program *p, const Elf64_Shdr sections[SECTIONS])
{
    return (Elf64_Ehdr){.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                        .e_type = ET_DYN,
                        .e_machine = EM_AARCH64,
                        .e_version = EV_CURRENT,
                        .e_phoff = sizeof(Elf64_Ehdr),
                        .e_shoff =
                            aligned(sections[SECTION_STRTAB].sh_offset + sections[SECTION_STRTAB].sh_size),
                        .e_ehsize = sizeof(Elf64_Ehdr),
                        .e_phentsize = sizeof(Elf64_Phdr),
                        .e_phnum = 1,
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_shnum = p->symbols ? SECTIONS : STRIPPED_SECTIONS,
                        .e_shstrndx = SECTION_NAMES};
}

static bool put_zeros(program *p, size_t until)
{
    static const char zeros[TEXT_AT];
    size_t at = (size_t)ftello(p->f);
    return until >= at && until - at <= sizeof zeros && put(p, zeros, until - at);
}

static bool put_file(program *p, const Elf64_Shdr sections[SECTIONS])
{
    Elf64_Ehdr header = file_header(p, sections);
    uint64_t loaded = TEXT_AT + sections[SECTION_TEXT].sh_size;
    Elf64_Phdr load = {
        .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = loaded, .p_memsz = loaded, .p_align = TEXT_AT};
    bool ok = put(p, &header, sizeof header) && put(p, &load, sizeof load) && put_zeros(p, TEXT_AT);
    for (size_t i = 0; ok && i < p->copies; i++)
        ok = put(p, p->c->text, p->c->size);
    ok = ok && put(p, section_names, sizeof section_names);
    if (ok && p->symbols)
        ok = put_zeros(p, sections[SECTION_SYMTAB].sh_offset) && put_symbols(p) &&
             put(p, p->c->names, p->c->names_size) && put(p, dollar_x, sizeof dollar_x);
    return ok && put_zeros(p, header.e_shoff) && put(p, sections, header.e_shnum * sizeof *sections);
}

static bool put_program(program *p)
{
    size_t text_size = p->copies * p->c->size, names_at = TEXT_AT + text_size;
    size_t symbols_at = aligned(names_at + sizeof section_names),
           symbols_size = p->symbols * sizeof(Elf64_Sym);
    Elf64_Shdr sections[SECTIONS] = {
        [SECTION_TEXT] = {.sh_name = 1,
                          .sh_type = SHT_PROGBITS,
                          .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                          .sh_addr = TEXT_AT,
                          .sh_offset = TEXT_AT,
                          .sh_size = text_size,
                          .sh_addralign = 16},
        [SECTION_NAMES] = {.sh_name = 23,
                           .sh_type = SHT_STRTAB,
                           .sh_offset = names_at,
                           .sh_size = sizeof section_names,
                           .sh_addralign = 1},
        [SECTION_SYMTAB] = {.sh_name = 7,
                            .sh_type = SHT_SYMTAB,
                            .sh_offset = symbols_at,
                            .sh_size = symbols_size,
                            .sh_link = SECTION_STRTAB,
                            .sh_info = (uint32_t)(1 + p->symbols / 2),
                            .sh_addralign = 8,
                            .sh_entsize = sizeof(Elf64_Sym)},
        [SECTION_STRTAB] = {.sh_name = 15,
                            .sh_type = SHT_STRTAB,
                            .sh_offset = symbols_at + symbols_size,
                            .sh_size = p->symbols ? p->c->names_size + sizeof dollar_x : 0,
                            .sh_addralign = 1},
    };
    return put_file(p, sections);
}

size_t corpus_functions(const corpus *c, size_t copies)
{
    return copies * (c->function_count - 1);
}

bool corpus_write_elf(const corpus *c, const char *path, size_t copies, size_t functions)
{
    program p = {.c = c, .copies = copies, .functions = functions, .f = fopen(path, "wb")};
    if (functions) p.symbols = 1 + 2 * functions;
    bool ok = p.f && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && put_program(&p);
    if (p.f && fclose(p.f) != 0) ok = false;
    if (!ok) fprintf(stderr, "bench: %s cannot be written\n", path);
    return ok;
}
