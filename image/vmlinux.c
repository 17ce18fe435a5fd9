/* A kernel's memory and symbols, whatever file they came from. */
#include "vmlinux_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const uint64_t SPAN_MAX = UINT64_C(1) << 30, UNIT = 65536;

xs_image_status krn_fail(const krn_loading *loading, xs_image_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (loading->why_size) vsnprintf(loading->why, loading->why_size, format, args);
    va_end(args);
    return status;
}

bool krn_reserve(krn_loading *loading, uint64_t first, uint64_t end)
{
    xs_kernel_image *image = &loading->image;
    uint64_t base = first & ~(UNIT - 1), size = (end - base + UNIT - 1) & ~(UNIT - 1);
    if (end <= first || size > SPAN_MAX) {
        krn_fail(loading, XS_IMAGE_E_FORMAT, "no kernel: it takes up %" PRIu64 " bytes of memory",
                 end - first);
        return false;
    }
    void *bytes =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
        krn_fail(loading, XS_IMAGE_E_NOMEM, "out of memory");
        return false;
    }
    image->bytes = bytes;
    image->base = base;
    image->size = size;
    return true;
}

bool krn_add_symbol(krn_loading *loading, uint64_t addr, const char *name)
{
    xs_kernel_image *image = &loading->image;
    if (image->symbol_count == loading->symbol_room) {
        size_t room = loading->symbol_room ? loading->symbol_room * 2 : 65536;
        xs_kernel_symbol *more = realloc(image->symbols, room * sizeof *more);
        if (!more) return false;
        image->symbols = more;
        loading->symbol_room = room;
    }
    image->symbols[image->symbol_count++] = (xs_kernel_symbol){addr, name};
    return true;
}

uint8_t *krn_bytes(const krn_loading *loading, uint64_t addr, uint64_t size)
{
    const xs_kernel_image *image = &loading->image;
    uint64_t at = addr - image->base;
    return at < image->size && size <= image->size - at ? image->bytes + at : NULL;
}

/* ---- symbols ---------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    const xs_kernel_symbol *x = a, *y = b;
    return x->addr != y->addr ? (x->addr < y->addr ? -1 : 1) : strcmp(x->name, y->name);
}

uint64_t xs_kernel_image_find(const xs_kernel_image *image, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < image->symbol_count; i++) {
        const char *have = image->symbols[i].name;
        if (strncmp(have, name, len) != 0) continue;
        if (!have[len] || strncmp(have + len, ".llvm.", 6) == 0) return image->symbols[i].addr;
    }
    return 0;
}

/* Symbols at or before addr. */
static size_t before(const xs_kernel_image *image, uint64_t addr)
{
    size_t low = 0, high = image->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->symbols[middle].addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const xs_kernel_symbol *xs_kernel_image_at(const xs_kernel_image *image, uint64_t addr, const char *prefer)
{
    size_t last = before(image, addr);
    if (addr - image->base >= image->size || last == 0) return NULL;
    const xs_kernel_symbol *best = &image->symbols[last - 1];
    for (size_t i = last; prefer && i-- > 0 && image->symbols[i].addr == best->addr;)
        if (strncmp(image->symbols[i].name, prefer, strlen(prefer)) == 0) return &image->symbols[i];
    return best;
}

/* ---- opening ---------------------------------------------------------------------------------- */

/* "Linux version 6.1.0 (...) ...\n": the banner is there before anything is printed. */
static void read_release(krn_loading *loading)
{
    static const char start[] = "Linux version ";
    xs_kernel_image *image = &loading->image;
    uint64_t banner = xs_kernel_image_find(image, "linux_banner");
    const char *at = (const char *)krn_bytes(loading, banner, sizeof image->release);
    if (!at || strncmp(at, start, sizeof start - 1) != 0)
        at = memmem(image->bytes, image->size, start, sizeof start - 1);
    if (!at) return;
    at += sizeof start - 1;
    size_t room = (size_t)((const char *)image->bytes + image->size - at), len = 0;
    while (len < room && len + 1 < sizeof image->release && (unsigned char)at[len] >= ' ')
        len++;
    memcpy(image->release, at, len);
}

static xs_image_status read_all(krn_loading *loading, const char *path, const char *symbols)
{
    xs_image_status status;
    if (krn_is_raw(path)) {
        if (!symbols)
            return krn_fail(loading, XS_IMAGE_E_FORMAT,
                            "an Image has no symbols: give its System.map with --symbols");
        status = krn_read_map(loading, symbols);
        return status == XS_IMAGE_OK ? krn_read_raw(loading, path) : status;
    }
    status = img_file_open(&loading->file, path, loading->why, loading->why_size);
    if (status == XS_IMAGE_OK) status = krn_read_elf(loading, !symbols);
    return status == XS_IMAGE_OK && symbols ? krn_read_map(loading, symbols) : status;
}

xs_image_status xs_kernel_image_open(const char *path, const char *symbols, xs_kernel_image **out, char *why,
                                     size_t size)
{
    krn_loading *loading = calloc(1, sizeof *loading);
    *out = NULL;
    if (!loading) {
        img_say(why, size, "out of memory");
        return XS_IMAGE_E_NOMEM;
    }
    loading->file.fd = -1;
    loading->why = why;
    loading->why_size = size;
    xs_image_status status = read_all(loading, path, symbols);
    if (status != XS_IMAGE_OK) {
        xs_kernel_image_close(&loading->image);
        return status;
    }
    xs_kernel_image *image = &loading->image;
    if (image->symbol_count) qsort(image->symbols, image->symbol_count, sizeof *image->symbols, by_address);
    read_release(loading);
    *out = image;
    return status;
}

void xs_kernel_image_close(xs_kernel_image *image)
{
    krn_loading *loading = (krn_loading *)image;
    if (!image) return;
    if (image->bytes) munmap(image->bytes, image->size);
    img_file_close(&loading->file);
    free(image->symbols);
    free(loading->map);
    free(loading);
}
