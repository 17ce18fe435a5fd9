/* Puts an image together, and answers look-ups in it. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static void describe(img_loading *loading)
{
    xs_image *image = &loading->image;
    const img_file *file = &loading->file;
    image->elf32 = file->ehdr.e_ident[EI_CLASS] == ELFCLASS32;
    image->big_endian_data = file->ehdr.e_ident[EI_DATA] == ELFDATA2MSB;
    image->relocatable = file->ehdr.e_type == ET_REL;
    image->arch = file->ehdr.e_machine == EM_AARCH64 ? XS_IMAGE_ARM64
                  : image->elf32                     ? XS_IMAGE_RISCV32
                                                     : XS_IMAGE_RISCV64;
    image->is_kernel_module = image->relocatable && img_section_named(file, ".modinfo") &&
                              img_section_named(file, ".gnu.linkonce.this_module");
    /* Both architectures' vmlinux have these, and nothing else does. */
    image->is_kernel =
        !image->relocatable && img_section_named(file, ".head.text") && img_section_named(file, ".init.text");
    loading->labels_are_functions = image->is_kernel || image->is_kernel_module;
    if (file->segment_count < file->ehdr.e_phnum) {
        img_remark_add(loading, IMG_REMARK_HEADERS, "%zu of %u readable", file->segment_count,
                       (unsigned)file->ehdr.e_phnum);
    }
}

/* Debug files are for what .symtab of the file itself lacks; they may hold mapping symbols too, so they are
 * read even when no functions are wanted. */
static void read_all_symbols(img_loading *loading, const xs_image_options *options)
{
    bool complete = img_read_symbols(loading, &loading->file, SHT_SYMTAB, XS_SOURCE_SYMTAB);
    img_read_symbols(loading, &loading->file, SHT_DYNSYM, XS_SOURCE_DYNSYM);
    if (!complete && !options->no_debug_files) complete = img_read_debug_file(loading, options->debug_dir);
    if (!complete) complete = img_read_minidebug(loading);
    loading->all_named = complete;
}

static void load(img_loading *loading, const xs_image_options *options)
{
    describe(loading);
    img_read_riscv_isa(loading);
    img_collect_code(loading);
    if (!loading->code.count) return;
    img_make_up_sections(loading);
    read_all_symbols(loading, options);
    img_mark_segment_data(loading);
    img_cut_code(loading);
    loading->image.ranges = loading->ranges.items;
    loading->image.range_count = loading->ranges.count;
    img_read_usdt(loading);
    if (options->no_functions) return;
    img_sort_candidates(loading, &loading->candidates);
    img_name_plt(loading);
    img_sort_candidates(loading, &loading->candidates);
    img_find_unnamed(loading, options);
    img_make_functions(loading);
}

static xs_image_status result_of(const img_loading *loading, char *why, size_t size)
{
    if (loading->out_of_memory) {
        img_say(why, size, "out of memory");
        return XS_IMAGE_E_NOMEM;
    }
    if (loading->image.range_count) return XS_IMAGE_OK;
    const xs_remark *past = &loading->remarks[IMG_REMARK_CODE_PAST_FILE];
    const xs_remark *wraps = &loading->remarks[IMG_REMARK_CODE_WRAPS];
    const xs_remark *none = &loading->remarks[IMG_REMARK_CODE_NO_BYTES];
    const char *reason = past->count    ? "truncated: the code is past the end of the file"
                         : wraps->count ? "damaged: the code's addresses wrap around"
                         : none->count  ? "no code in the file, only section headers (a separate debug file?)"
                                        : "no executable section or segment";
    img_say(why, size, "%s",
            loading->image.data_bytes ? "no code: mapping symbols call all of it data" : reason);
    return XS_IMAGE_E_EMPTY;
}

static void free_working_memory(img_loading *loading)
{
    free(loading->code.items);
    free(loading->marks.items);
    free(loading->candidates.items);
    loading->code = (img_ranges){0};
    loading->marks = (img_marks){0};
    loading->candidates = (img_candidates){0};
}

xs_image_status xs_image_open(const char *path, const xs_image_options *options, xs_image **out, char *why,
                              size_t size)
{
    static const xs_image_options defaults = {0};
    *out = NULL;
    img_say(why, size, "%s", "");
    img_loading *loading = calloc(1, sizeof *loading);
    if (!loading) {
        img_say(why, size, "out of memory");
        return XS_IMAGE_E_NOMEM;
    }
    loading->debug.fd = loading->mini.fd = -1;
    xs_image_status status = img_file_open(&loading->file, path, why, size);
    if (status == XS_IMAGE_OK) {
        loading->image.path = img_string(loading, "%s", path);
        if (loading->image.path) load(loading, options ? options : &defaults);
        free_working_memory(loading);
        status = result_of(loading, why, size);
    }
    if (status != XS_IMAGE_OK) {
        xs_image_close(&loading->image);
        return status;
    }
    img_publish_remarks(loading);
    *out = &loading->image;
    return XS_IMAGE_OK;
}

void xs_image_close(xs_image *image)
{
    img_loading *loading = (img_loading *)image;
    if (!loading) return;
    free(image->functions);
    free(image->usdts);
    free(loading->ranges.items);
    free(loading->outer);
    img_free_strings(loading);
    img_file_close(&loading->mini);
    img_file_close(&loading->debug);
    img_file_close(&loading->file);
    free(loading);
}

const xs_range *xs_image_range_at(const xs_image *image, uint64_t addr, size_t section_index)
{
    const img_loading *loading = (const img_loading *)image;
    size_t index = img_range_index(loading, &loading->ranges, addr, section_index);
    return index == SIZE_MAX ? NULL : &image->ranges[index];
}

static bool is_after(const xs_image *image, const xs_function *function, uint64_t addr, size_t section)
{
    size_t own = image->ranges[function->range].section_index;
    if (image->relocatable && own != section) return own > section;
    return function->addr > addr;
}

/* The last function that starts at or before addr, or the nearest around it that still holds addr. */
static const xs_function *function_in(const img_loading *loading, uint64_t addr, size_t section)
{
    const xs_image *image = &loading->image;
    size_t low = 0, high = image->function_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_after(image, &image->functions[middle], addr, section)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (size_t i = low ? low - 1 : SIZE_MAX; i != SIZE_MAX; i = loading->outer[i]) {
        const xs_function *function = &image->functions[i];
        size_t own = image->ranges[function->range].section_index;
        if (section != SIZE_MAX && own != section) return NULL;
        if (addr - function->addr < function->size) return function;
    }
    return NULL;
}

const xs_function *xs_image_function_at(const xs_image *image, uint64_t addr, size_t section_index)
{
    const img_loading *loading = (const img_loading *)image;
    if (!image->relocatable || section_index != SIZE_MAX) return function_in(loading, addr, section_index);
    const xs_function *found = NULL;
    for (size_t i = 0; i < image->range_count && !found; i++) {
        size_t section = image->ranges[i].section_index;
        bool seen = i && image->ranges[i - 1].section_index == section;
        if (!seen) found = function_in(loading, addr, section);
    }
    return found;
}
