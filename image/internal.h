/* What the files of this folder share. Nothing here is for users of image.h. */
#ifndef XOLSIM_IMAGE_INTERNAL_H
#define XOLSIM_IMAGE_INTERNAL_H

#include "image.h"

#include <gelf.h>

/* One section header, checked only where it says so. Files without section headers get a few made up from
 * their dynamic segment (dynamic.c), so that everything behind elf.c reads sections only. */
typedef struct img_section {
    const char *name; /* "" when it has none that can be read */
    uint64_t flags, addr, offset, size;
    uint32_t type, link;
} img_section;

/* An open ELF file: the one asked for, its separate debug file, or the unpacked .gnu_debugdata. */
typedef struct img_file {
    Elf *elf;
    uint8_t *unpacked; /* owned: what elf was made from, when not from a descriptor */
    const uint8_t *raw;
    uint64_t raw_size;
    GElf_Ehdr ehdr;
    img_section *sections;
    size_t section_count;
    bool made_up_sections; /* symbols' section indices mean nothing */
    GElf_Phdr *segments;
    size_t segment_count;
    uint64_t device, inode;
    int fd; /* -1: none */
} img_file;

/* A part of the file that is in bounds; data NULL when there is none. */
typedef struct img_slice {
    const uint8_t *data;
    uint64_t size;
} img_slice;

/* A mapping symbol, or an edge of something that cannot be code. */
typedef struct img_mark {
    uint32_t section;
    bool data;
    const char *isa; /* "$x<isa>"; NULL: as before */
    uint64_t addr;
    size_t order;
} img_mark;

/* A name for an address, before names of the same address are put together. */
typedef struct img_candidate {
    uint64_t addr, size;
    const char *name, *version;
    uint32_t section; /* index in the main file; 0 unless it is relocatable, where addresses collide */
    uint8_t rank;     /* of the name: smaller is better */
    uint8_t source;   /* xs_source */
    bool ifunc;
    size_t order;
} img_candidate;

typedef struct img_marks {
    img_mark *items;
    size_t count, room;
} img_marks;

typedef struct img_candidates {
    img_candidate *items;
    size_t count, room;
} img_candidates;

typedef struct img_ranges {
    xs_range *items;
    size_t count, room;
} img_ranges;

typedef enum img_remark_kind {
#define IMG_REMARK(name, text) IMG_REMARK_##name,
#include "remarks.def"
#undef IMG_REMARK
    IMG_REMARK_COUNT
} img_remark_kind;

/* An image and everything behind it. */
typedef struct img_loading {
    xs_image image; /* first: xs_image_close gets a pointer to it */
    img_file file, debug, mini;
    img_ranges code;           /* executable sections or segments, not yet cut by marks */
    img_ranges ranges;         /* cut: becomes image.ranges */
    img_marks marks;           /* from every symbol table that was read */
    img_candidates candidates; /* likewise */
    xs_remark remarks[IMG_REMARK_COUNT];
    size_t *outer;             /* per function: the nearest one before it that reaches over it, or SIZE_MAX */
    struct img_block *strings; /* what had to be made up: "foo@plt", "sub_1234" */
    bool labels_are_functions; /* a kernel: see symbols.c */
    bool all_named;            /* .symtab or a debug file's was read: who is not in there is no function */
    bool out_of_memory;        /* sticky; looked at once, at the end */
} img_loading;

/* elf.c */
xs_image_status img_file_open(img_file *file, const char *path, char *why, size_t size);
xs_image_status img_file_from_memory(img_file *file, uint8_t *bytes, size_t count, char *why, size_t size);
void img_file_close(img_file *file);
img_slice img_file_slice(const img_file *file, uint64_t offset, uint64_t size); /* clipped to the file */
img_slice img_section_slice(const img_file *file, const img_section *section); /* likewise; NOBITS is empty */
const img_section *img_section_named(const img_file *file, const char *name);  /* NULL: none */
const img_section *img_section_of_type(const img_file *file, uint32_t type, uint32_t link);
Elf_Data *img_file_data(const img_file *file, img_slice slice, Elf_Type type); /* in host byte order */
img_slice img_section_strings(const img_file *file,
                              const img_section *section);        /* ends in NUL, or is empty */
const char *img_slice_string(img_slice strings, uint64_t offset); /* NULL: not in there */
uint64_t img_read(const img_file *file, const uint8_t *at,
                  unsigned bytes);                                /* 1, 2, 4 or 8, file's byte order */
uint64_t img_address_offset(const img_file *file, uint64_t addr); /* by segments; UINT64_MAX: none */
static inline unsigned img_word_size(const img_file *file)
{
    return file->ehdr.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
}

/* dynamic.c: a file without section headers */
void img_make_up_sections(img_loading *loading);
void img_mark_segment_data(img_loading *loading);
bool img_dynamic_value(const img_file *file, int64_t tag, uint64_t *value); /* false: no such entry */

/* ranges.c */
void img_collect_code(img_loading *loading);
void img_add_mark(img_loading *loading, img_mark mark); /* order is filled in */
void img_cut_code(img_loading *loading);                /* code + marks -> image.ranges */
/* The range that holds addr, or SIZE_MAX. section SIZE_MAX: any. */
size_t img_range_index(const img_loading *loading, const img_ranges *ranges, uint64_t addr, size_t section);

/* mapping.c */
bool img_mapping_symbol(img_loading *loading, const char *name, img_mark *mark); /* false: name is not one */

/* symbols.c, versions.c */
typedef struct img_versions {
    const img_file *file;
    img_slice indices; /* of .gnu.version; empty: no versions */
    const char **names;
    size_t count;
} img_versions;
bool img_read_symbols(img_loading *loading, const img_file *file, uint32_t table_type, xs_source source);
img_versions img_versions_read(img_loading *loading, const img_file *file, const img_section *symbols);
const char *img_version_of(img_loading *loading, const img_versions *versions, size_t symbol, bool *hidden);

/* debugfile.c, minidebug.c: true when a symbol table came of it */
bool img_read_debug_file(img_loading *loading, const char *debug_dir);
bool img_read_minidebug(img_loading *loading);

/* functions.c, plt.c */
void img_add_candidate(img_loading *loading, const img_candidate *candidate);
void img_sort_candidates(img_loading *loading, img_candidates *list);
void img_name_plt(img_loading *loading); /* wants sorted candidates */
void img_make_functions(img_loading *loading);

/* unnamed.c, ehframe.c: want sorted candidates, leave them sorted */
void img_find_unnamed(img_loading *loading, const xs_image_options *options);
void img_read_eh_frame(img_loading *loading, img_candidates *found);
/* False: addr is not where an instruction can start. */
bool img_add_unnamed(img_loading *loading, img_candidates *list, uint64_t addr, uint64_t size,
                     xs_source source);

/* usdt.c, notes.c */
typedef struct img_note {
    uint32_t type;
    img_slice owner, desc; /* owner with its NUL */
} img_note;
/* Next note at *position, which moves on; 1 a note, 0 the end, -1 a length that does not fit. */
int img_next_note(const img_file *file, img_slice notes, uint64_t *position, img_note *note);
img_slice img_build_id(const img_file *file);
void img_read_usdt(img_loading *loading);

/* riscv_attr.c */
void img_read_riscv_isa(img_loading *loading);

/* sort.c: by section, by address, then by rest. Items may be sorted already, as lists are to which nothing was
 * added, and NULL if count is 0. */
typedef struct img_order {
    size_t size, addr, section; /* of an item; where in it are its uint64_t address and uint32_t section */
    int (*rest)(const void *, const void *);
} img_order;
void img_sort(img_loading *loading, void *items, size_t count, const img_order *order);

/* remark.c, memory.c */
void img_remark_add(img_loading *loading, img_remark_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void img_publish_remarks(img_loading *loading);
void img_say(char *why, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
void *img_make_room(img_loading *loading, void *items, size_t count, size_t *room, size_t item_size);
const char **img_names(img_loading *loading, size_t count); /* room for so many; NULL: no memory */
char *img_string(img_loading *loading, const char *format, ...) __attribute__((format(printf, 2, 3)));
void img_free_strings(img_loading *loading);

#endif
