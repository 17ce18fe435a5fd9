/* A file, opened and looked through: its image, the target in view. */
#include <string.h>

#include "sites.h"

/* What the search for calls needs, while the image is being read: a decoder for an architecture that is
 * not known before. */
typedef struct calls {
    program *program;
    const options *options;
    int status;
    bool opened;
    xs_classifier *finder;
} calls;

const char *image_arch_name(const xs_image *image)
{
    static const char *const names[] = {
        [XS_IMAGE_ARM64] = "arm64", [XS_IMAGE_RISCV32] = "riscv32", [XS_IMAGE_RISCV64] = "riscv64"};
    return names[image->arch];
}

static void open_view(calls *c, const xs_image *image)
{
    if (!c->opened)
        c->status = view_open(&c->program->view, c->options, image->path, image_arch_name(image), image->isa);
    c->opened = true;
}

static void report_call(const view *v, const xs_range *range, size_t at, xs_call_found *found, void *arg)
{
    xs_insn insn;
    if (xs_decode(v->decoder, range->bytes + at, (size_t)range->size - at, &insn) != XS_OK) return;
    const int64_t *offset = jump_offset(v, &insn);
    if (offset) found(arg, range->addr + at + (uint64_t)*offset);
}

/* The calls among the instructions from offset at on, as many as fit in a buffer; returns where to go on. */
static size_t scan_some(const view *v, const xs_classifier *finder, const xs_range *range, size_t at,
                        xs_call_found *found, void *arg)
{
    uint8_t is_call[16384];
    size_t size = (size_t)range->size - at, left;
    if (size > sizeof is_call * v->granule) size = sizeof is_call * v->granule;
    xs_classify_text(finder, range->bytes + at, size, is_call, &left);
    const uint8_t *end = is_call + (size - left) / v->granule, *call = is_call;
    for (; (call = memchr(call, 1, (size_t)(end - call))); call++)
        report_call(v, range, at + (size_t)(call - is_call) * v->granule, found, arg);
    return size - left ? at + size - left : (size_t)range->size;
}

static void scan_calls(void *context, const xs_image *image, const xs_range *range, xs_call_found *found,
                       void *arg)
{
    calls *c = context;
    const view *v = &c->program->view;
    open_view(c, image);
    if (c->status != STATUS_OK) return;
    if (!c->finder && xs_flow_finder_new(v->decoder, XS_FLOW_CALL, NULL, &c->finder) != XS_OK) {
        c->status = complain(STATUS_INTERNAL, "%s: out of memory", image->path);
        return;
    }
    for (size_t at = 0; at < range->size;)
        at = scan_some(v, c->finder, range, at, found, arg);
}

int program_open(program *p, const options *o, const char *path)
{
    char why[256];
    calls c = {.program = p, .options = o};
    *p = (program){0};
    xs_image_options image_options = {.scan_calls = scan_calls, .scan_context = &c};
    xs_image_status opened = xs_image_open(path, &image_options, &p->image, why, sizeof why);
    xs_classifier_free(c.finder);
    if (opened != XS_IMAGE_OK) return complain(STATUS_INPUT, "%s: %s", path, why);
    open_view(&c, p->image);
    if (c.status != STATUS_OK) return c.status;
    return code_open(&p->code, p->image, &p->view) ? STATUS_OK
                                                   : complain(STATUS_INTERNAL, "%s: out of memory", path);
}

void program_close(program *p)
{
    code_close(&p->code);
    view_close(&p->view);
    xs_image_close(p->image);
}
