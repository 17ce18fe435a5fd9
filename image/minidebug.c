/* .gnu_debugdata: an xz-compressed ELF file whose .symtab has the functions that .dynsym lacks.
 * Reference: the GDB manual, "Debugging information in a special section". */
#include "internal.h"

#include <lzma.h>
#include <stdlib.h>

enum { MEGABYTE = 1 << 20 };
/* Real ones unpack to a few megabytes with a dictionary of 8 to 64; more is a mistake or an attack. */
static const uint64_t memory_limit = 128 * (uint64_t)MEGABYTE, size_limit = 256 * (uint64_t)MEGABYTE;

/* All of in, growing *out as needed. On failure *out is NULL. */
static bool unpack_stream(lzma_stream *stream, img_slice in, uint8_t **out, size_t *out_size)
{
    size_t room = 0;
    lzma_ret result = LZMA_OK;
    stream->next_in = in.data;
    stream->avail_in = in.size;
    while (result == LZMA_OK && room < size_limit) {
        size_t wanted = room ? 2 * room : (size_t)MEGABYTE / 4;
        uint8_t *bigger = realloc(*out, wanted);
        if (!bigger) break;
        *out = bigger;
        stream->next_out = bigger + room;
        stream->avail_out = wanted - room;
        while (result == LZMA_OK && stream->avail_out)
            result = lzma_code(stream, LZMA_FINISH);
        room = wanted;
    }
    *out_size = (size_t)stream->total_out;
    if (result == LZMA_STREAM_END && *out_size) return true;
    free(*out);
    *out = NULL;
    return false;
}

static bool unpack(img_slice in, uint8_t **out, size_t *out_size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    *out = NULL;
    bool ready = lzma_stream_decoder(&stream, memory_limit, LZMA_CONCATENATED) == LZMA_OK;
    bool done = ready && unpack_stream(&stream, in, out, out_size);
    lzma_end(&stream);
    return done;
}

bool img_read_minidebug(img_loading *loading)
{
    const img_section *section = img_section_named(&loading->file, ".gnu_debugdata");
    if (!section) return false;
    uint8_t *bytes = NULL;
    size_t count = 0;
    char why[64] = "not xz";
    bool usable = unpack(img_section_slice(&loading->file, section), &bytes, &count) &&
                  img_file_from_memory(&loading->mini, bytes, count, why, sizeof why) == XS_IMAGE_OK;
    if (usable) {
        const GElf_Ehdr *ours = &loading->file.ehdr, *theirs = &loading->mini.ehdr;
        usable = ours->e_machine == theirs->e_machine && ours->e_ident[EI_CLASS] == theirs->e_ident[EI_CLASS];
    }
    if (!usable) img_remark_add(loading, IMG_REMARK_MINIDEBUG, "section .gnu_debugdata: %s", why);
    return usable && img_read_symbols(loading, &loading->mini, SHT_SYMTAB, XS_SOURCE_MINIDEBUG);
}
