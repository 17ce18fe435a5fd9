/* A raw Image: the kernel's memory from its first byte on. Where it is linked, its symbols say.
 * References: Documentation/arch/arm64/booting.rst and Documentation/arch/riscv/boot-image-header.rst. */
#include "vmlinux_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { HEADER = 64, MAGIC_AT = 56 };

/* A pipe is not opened: nobody may ever write to it. */
static bool read_header(const char *path, uint8_t *header)
{
    struct stat about;
    FILE *f = stat(path, &about) == 0 && S_ISREG(about.st_mode) ? fopen(path, "rb") : NULL;
    bool whole = f && fread(header, 1, HEADER, f) == HEADER;
    if (f) fclose(f);
    return whole;
}

static bool is_arm64(const uint8_t *header)
{
    return memcmp(header + MAGIC_AT, "ARM\x64", 4) == 0;
}

static bool is_riscv(const uint8_t *header)
{
    return memcmp(header + MAGIC_AT, "RSC\x05", 4) == 0;
}

bool krn_is_raw(const char *path)
{
    uint8_t header[HEADER];
    if (!read_header(path, header) || memcmp(header,
                                             "\x7f"
                                             "ELF",
                                             4) == 0)
        return false;
    return is_arm64(header) || is_riscv(header);
}

static bool read_bytes(krn_loading *loading, FILE *f, uint64_t base, uint64_t size)
{
    uint8_t *bytes = krn_bytes(loading, base, size);
    return bytes && fseek(f, 0, SEEK_SET) == 0 && fread(bytes, 1, size, f) == size;
}

/* [first, end): the file, and behind it what is zero at the start. The file has all that is not zero. */
static xs_image_status read_file(krn_loading *loading, FILE *f, uint64_t first)
{
    uint64_t end = xs_kernel_image_find(&loading->image, "_end"),
             data_end = xs_kernel_image_find(&loading->image, "_edata");
    long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (size <= HEADER) return krn_fail(loading, XS_IMAGE_E_OPEN, "cannot be read");
    if (data_end > first && data_end - first > (uint64_t)size)
        return krn_fail(
            loading, XS_IMAGE_E_FORMAT,
            "truncated, or not the Image of these symbols: it has %ld bytes, their _edata is at %" PRIu64,
            size, data_end - first);
    if (end < first + (uint64_t)size) end = first + (uint64_t)size;
    if (!krn_reserve(loading, first, end)) return XS_IMAGE_E_FORMAT;
    return read_bytes(loading, f, first, (uint64_t)size)
               ? XS_IMAGE_OK
               : krn_fail(loading, XS_IMAGE_E_OPEN, "cannot be read");
}

xs_image_status krn_read_raw(krn_loading *loading, const char *path)
{
    uint8_t header[HEADER];
    if (!read_header(path, header)) return krn_fail(loading, XS_IMAGE_E_OPEN, "cannot be read");
    loading->image.arch = is_arm64(header) ? XS_IMAGE_ARM64 : XS_IMAGE_RISCV64;
    const char *first = is_arm64(header) ? "_text" : "_start";
    uint64_t addr = xs_kernel_image_find(&loading->image, first);
    if (!addr)
        return krn_fail(loading, XS_IMAGE_E_FORMAT,
                        "the symbols have no %s: nobody knows where the Image is linked", first);
    FILE *f = fopen(path, "rb");
    xs_image_status status =
        f ? read_file(loading, f, addr) : krn_fail(loading, XS_IMAGE_E_OPEN, "cannot be read");
    if (f) fclose(f);
    return status;
}
