/* Separate debug files, as gdb and elfutils look for them: by build-id under the debug directory, then by the
 * name in .gnu_debuglink beside the file, in .debug beside it, and in the debug directory.
 * Reference: the GDB manual, "Debugging Information in Separate Files". */
#include "internal.h"

#include <inttypes.h>
#include <libgen.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct debug_link {
    const char *name; /* NULL: none */
    uint32_t crc;
} debug_link;

/* The name, padding to a multiple of 4, the CRC. A name with a slash could lead anywhere, and none has one.
 */
static debug_link read_link(img_loading *loading)
{
    const img_file *file = &loading->file;
    const img_section *section = img_section_named(file, ".gnu_debuglink");
    img_slice slice = img_section_slice(file, section);
    if (!section) return (debug_link){0};
    const uint8_t *end = slice.size ? memchr(slice.data, 0, slice.size) : NULL;
    uint64_t crc_at = end ? ((uint64_t)(end - slice.data) + 4) & ~(uint64_t)3 : 0;
    if (!end || end == slice.data || slice.size < crc_at + 4 || memchr(slice.data, '/', crc_at)) {
        img_remark_add(loading, IMG_REMARK_DEBUG_LINK, "section .gnu_debuglink");
        return (debug_link){0};
    }
    return (debug_link){(const char *)slice.data, (uint32_t)img_read(file, slice.data + crc_at, 4)};
}

/* Equal build-ids settle it, without reading the whole file; the CRC is for files that have none. */
static bool belongs(const img_loading *loading, const img_file *debug, const debug_link *link)
{
    const GElf_Ehdr *ours = &loading->file.ehdr, *theirs = &debug->ehdr;
    if (ours->e_machine != theirs->e_machine || ours->e_ident[EI_CLASS] != theirs->e_ident[EI_CLASS])
        return false;
    if (ours->e_ident[EI_DATA] != theirs->e_ident[EI_DATA] ||
        (ours->e_type == ET_REL) != (theirs->e_type == ET_REL)) {
        return false;
    }
    img_slice one = img_build_id(&loading->file), two = img_build_id(debug);
    if (one.size && two.size) return one.size == two.size && !memcmp(one.data, two.data, one.size);
    return link->name && lzma_crc32(debug->raw, debug->raw_size, 0) == link->crc;
}

/* True: it is the one. A file that is not there is no news; one that is and cannot be used is. */
static bool try_path(img_loading *loading, const debug_link *link, const char *path)
{
    img_file *debug = &loading->debug;
    xs_image_status status = path ? img_file_open(debug, path, NULL, 0) : XS_IMAGE_E_OPEN;
    if (status != XS_IMAGE_OK) {
        bool there = status != XS_IMAGE_E_OPEN;
        if (there) img_remark_add(loading, IMG_REMARK_DEBUG_FILE, "%s", path);
        return false;
    }
    bool itself = debug->device == loading->file.device && debug->inode == loading->file.inode;
    if (!itself && belongs(loading, debug, link)) {
        loading->image.debug_path = path;
        return true;
    }
    if (!itself) img_remark_add(loading, IMG_REMARK_DEBUG_OTHER, "%s", path);
    img_file_close(debug);
    return false;
}

/* DIR/.build-id/ab/cdef....debug */
static bool try_build_id(img_loading *loading, const debug_link *link, const char *debug_dir)
{
    img_slice id = img_build_id(&loading->file);
    char hex[2 * 64 + 1];
    if (id.size < 2 || id.size > 64) return false;
    for (uint64_t i = 0; i < id.size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id.data[i]);
    return try_path(loading, link,
                    img_string(loading, "%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2));
}

static bool try_link(img_loading *loading, const debug_link *link, const char *debug_dir)
{
    char *real = link->name ? realpath(loading->image.path, NULL) : NULL;
    if (!real) return false;
    const char *dir = dirname(real);
    bool found = try_path(loading, link, img_string(loading, "%s/%s", dir, link->name)) ||
                 try_path(loading, link, img_string(loading, "%s/.debug/%s", dir, link->name)) ||
                 try_path(loading, link, img_string(loading, "%s%s/%s", debug_dir, dir, link->name));
    free(real);
    return found;
}

bool img_read_debug_file(img_loading *loading, const char *debug_dir)
{
    debug_link link = read_link(loading);
    if (!debug_dir) debug_dir = "/usr/lib/debug";
    if (!try_build_id(loading, &link, debug_dir) && !try_link(loading, &link, debug_dir)) return false;
    return img_read_symbols(loading, &loading->debug, SHT_SYMTAB, XS_SOURCE_DEBUG);
}
