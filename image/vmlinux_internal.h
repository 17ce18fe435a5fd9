/* What the kernel's three file formats fill in. */
#ifndef XOLSIM_IMAGE_VMLINUX_INTERNAL_H
#define XOLSIM_IMAGE_VMLINUX_INTERNAL_H

#include "internal.h"
#include "vmlinux.h"

typedef struct krn_loading {
    xs_kernel_image image; /* first: xs_kernel_image_close gets a pointer to it */
    img_file file;         /* ELF: symbols' names lie in it */
    char *map;             /* text of --symbols: likewise */
    size_t symbol_room;
    char *why;
    size_t why_size;
} krn_loading;

/* vmlinux.c */
/* Write why; returns status. */
xs_image_status krn_fail(const krn_loading *loading, xs_image_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool krn_reserve(krn_loading *loading, uint64_t first, uint64_t end); /* memory for [first, end), all zero */
bool krn_add_symbol(krn_loading *loading, uint64_t addr, const char *name); /* false: no memory */
uint8_t *krn_bytes(const krn_loading *loading, uint64_t addr,
                   uint64_t size); /* NULL: not all of it is there */

/* vmlinux_elf.c: file is open. vmlinux_map.c, vmlinux_raw.c: read the file at path. */
xs_image_status krn_read_elf(krn_loading *loading, bool symbols);
xs_image_status krn_read_map(krn_loading *loading, const char *path);
bool krn_is_raw(const char *path);
xs_image_status krn_read_raw(krn_loading *loading, const char *path);

#endif
