/* A kernel as it lies in memory where it is linked, with its symbols: for the oracle that runs its functions.
 */
#ifndef XOLSIM_IMAGE_VMLINUX_H
#define XOLSIM_IMAGE_VMLINUX_H

#include "image.h"

typedef struct xs_kernel_symbol {
    uint64_t addr;
    const char *name;
} xs_kernel_symbol;

typedef struct xs_kernel_image {
    xs_image_arch arch; /* XS_IMAGE_ARM64 or XS_IMAGE_RISCV64 */
    uint64_t base;      /* address of bytes[0], a multiple of 64 KiB */
    uint64_t size;      /* bytes, likewise; what no segment brings is zero */
    uint8_t *bytes;
    xs_kernel_symbol *symbols; /* sorted by addr, then by name */
    size_t symbol_count;
    char release[256]; /* the banner's "6.1.0-50-cloud-arm64 ...", one line; "" when there is none */
} xs_kernel_image;

/* Read a vmlinux (ELF of AArch64 or RV64, little-endian), or a raw Image, which has no symbols of its own:
 * symbols is then the path of a System.map or kallsyms text, which an ELF file may do with too (NULL: its
 * own). Relative relocations are applied for the address it is linked at. On XS_IMAGE_OK *out is to be freed
 * with xs_kernel_image_close; else it is NULL and why (size bytes) holds one sentence without the path. */
xs_image_status xs_kernel_image_open(const char *path, const char *symbols, xs_kernel_image **out, char *why,
                                     size_t size);
void xs_kernel_image_close(xs_kernel_image *image); /* NULL is allowed */

/* Address of a symbol, by its plain name or as link-time optimisation spells it ("name.llvm.123"); 0: none.
 */
uint64_t xs_kernel_image_find(const xs_kernel_image *image, const char *name);
/* The nearest symbol at or before addr, of several with that address one that begins with prefer (may be
 * NULL); NULL when addr is outside the image or before every symbol. */
const xs_kernel_symbol *xs_kernel_image_at(const xs_kernel_image *image, uint64_t addr, const char *prefer);

#endif
