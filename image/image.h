/* An ELF file as a probe sees it: code ranges, functions, USDT sites. Uses libelf and libdw. */
#ifndef XOLSIM_IMAGE_H
#define XOLSIM_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum xs_image_status {
    XS_IMAGE_OK = 0,
    XS_IMAGE_E_OPEN,   /* cannot be opened or read, or is not a regular file */
    XS_IMAGE_E_FORMAT, /* not ELF, or its headers are damaged beyond use */
    XS_IMAGE_E_ARCH,   /* ELF of an architecture other than AArch64 and RISC-V */
    XS_IMAGE_E_EMPTY,  /* no executable section or segment with bytes in the file */
    XS_IMAGE_E_NOMEM
} xs_image_status;

typedef enum xs_image_arch { XS_IMAGE_ARM64, XS_IMAGE_RISCV32, XS_IMAGE_RISCV64 } xs_image_arch;

/* A run of instructions: part of an executable section (or, in a file without section headers, of an
 * executable segment) that no mapping symbol calls data. Sorted by addr; ranges do not overlap. In an ET_REL
 * file, where every section starts at 0, sorted by section, then addr. */
typedef struct xs_range {
    const char *section;    /* section name, or "segment N" */
    uint64_t addr;          /* virtual address (ET_REL: offset in the section) */
    uint64_t offset;        /* file offset, what a uprobe takes */
    uint64_t size;          /* bytes */
    const uint8_t *bytes;   /* in the mapped file */
    const char *isa;        /* RISC-V: the ISA string in force ("rv64i2p1_m2p0_..."), else NULL */
    unsigned section_index; /* of the section; of the segment when there are no sections */
} xs_range;

/* Where a function was learned from, best first. */
typedef enum xs_source {
    XS_SOURCE_SYMTAB,    /* .symtab of the file */
    XS_SOURCE_DYNSYM,    /* .dynsym */
    XS_SOURCE_DEBUG,     /* .symtab of a separate debug file (build-id or debuglink) */
    XS_SOURCE_MINIDEBUG, /* .gnu_debugdata */
    XS_SOURCE_EH_FRAME,  /* an FDE's start, when no symbol covers the address */
    XS_SOURCE_ENTRY,     /* the entry point, _init, _fini: when nothing above covers the address */
    XS_SOURCE_CALL,      /* the target of a call (see scan_calls): when nothing above covers the address */
    XS_SOURCE_PLT,       /* a PLT entry, named "foo@plt" */
    XS_SOURCE_COUNT
} xs_source;
/* "symtab", "dynsym", "debug", "gnu_debugdata", "eh_frame", "entry", "call", "plt" */
const char *xs_source_name(xs_source source);

/* A function, once per address: aliases are counted, the name is the best one (global before weak
 * before local, then the first in the file). Sorted by range, then addr. Functions are STT_FUNC and
 * STT_GNU_IFUNC symbols, in a kernel or kernel module also untyped ones; a start without a symbol adds a
 * function when no other one, by its declared size, covers it. Names are bytes from the file, fit for a
 * terminal or JSON only after escaping. */
typedef struct xs_function {
    const char *name;    /* "" is never used: a function without a symbol is called "sub_<hex addr>" */
    const char *version; /* symbol version, or "" */
    uint64_t addr;       /* entry; as in xs_range */
    uint64_t size;       /* bytes; a symbol of size 0 reaches to the next symbol or the end of its range */
    uint64_t offset;     /* file offset of the entry */
    size_t range;        /* index of the range that holds the entry */
    xs_source source;
    unsigned aliases;               /* other names of the same address */
    const char *const *alias_names; /* so many of them, sorted */
    bool ifunc;                     /* STT_GNU_IFUNC: this is the resolver */
} xs_function;

/* A USDT site (.note.stapsdt, version 3), address adjusted by .stapsdt.base. In the order of the notes. */
typedef struct xs_usdt {
    const char *provider, *name;
    const char *args;   /* as in the note, unparsed */
    uint64_t addr;      /* of the probe's nop */
    uint64_t offset;    /* file offset, or UINT64_MAX when the address is in no range */
    uint64_t semaphore; /* address, or 0 */
    size_t range;       /* SIZE_MAX when the address is in no range */
} xs_usdt;

/* Something that was left out or repaired, and how often: "symbol past the end of its section". */
typedef struct xs_remark {
    const char *text; /* one sentence part, singular */
    uint64_t count;
    char first[96]; /* where the first one was: "section .text+0x1234", "symbol foo", ... */
} xs_remark;

typedef struct xs_image {
    const char *path;
    xs_image_arch arch;
    bool elf32, big_endian_data, relocatable;
    bool is_kernel, is_kernel_module; /* vmlinux; .ko: untyped symbols in code count as functions there */
    const char *isa;        /* RISC-V: whole-file ISA string from .riscv.attributes or e_flags; else NULL */
    bool rvc;               /* RISC-V: C is in the ISA (e_flags EF_RISCV_RVC or the ISA string) */
    const char *debug_path; /* separate debug file that was used, or NULL */
    uint64_t code_bytes;    /* sum of the ranges */
    uint64_t data_bytes;    /* $d inside executable sections, skipped */
    size_t range_count, function_count, usdt_count, remark_count;
    xs_range *ranges;
    xs_function *functions;
    xs_usdt *usdts;
    xs_remark *remarks;
} xs_image;

/* Reports the target of every direct call in a range: found(context, target). Finding calls needs a decoder,
 * which this library has not; a caller that has one makes stripped files without unwind tables (C code on
 * RISC-V) legible. */
typedef void xs_call_found(void *found_context, uint64_t target);
typedef void xs_call_scanner(void *scan_context, const xs_image *image, const xs_range *range,
                             xs_call_found *found, void *found_context);

/* Which parts to read: a summary of every word needs no symbols. */
typedef struct xs_image_options {
    bool no_functions;           /* leave functions empty */
    bool no_debug_files;         /* do not look for separate debug files */
    const char *debug_dir;       /* where build-id and debuglink files are; NULL: /usr/lib/debug */
    xs_call_scanner *scan_calls; /* NULL: none. Called only when there is no complete symbol table */
    void *scan_context;          /* its first argument */
} xs_image_options;

/* Read the ELF file at path. options may be NULL (all false). On XS_IMAGE_OK *out is an image to be
 * freed with xs_image_close, and everything in it lives until then; otherwise *out is NULL and why
 * (size bytes, always NUL-terminated) holds one sentence without the path. Never prints; damaged parts
 * are skipped and counted in remarks. The file must not be truncated by others while it is mapped. */
xs_image_status xs_image_open(const char *path, const xs_image_options *options, xs_image **out, char *why,
                              size_t size);
void xs_image_close(xs_image *image); /* NULL is allowed */

/* The range that holds addr / the function that holds addr (NULL if none); binary search. In an
 * ET_REL file addresses of different sections collide: give the section index, else SIZE_MAX. */
const xs_range *xs_image_range_at(const xs_image *image, uint64_t addr, size_t section_index);
const xs_function *xs_image_function_at(const xs_image *image, uint64_t addr, size_t section_index);

/* Whether a RISC-V ISA string ("rv64i2p1_m2p0_c2p0", "rv32imac", "rv64i_zca") has compressed instructions. */
bool xs_isa_has_c(const char *isa);

#endif
