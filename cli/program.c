/* A file, opened and looked through: its image, the target in view. */
#include "sites.h"

/* What the search for calls needs, while the image is being read: a decoder for an architecture that is
 * not known before. */
typedef struct calls {
    program *program;
    const options *options;
    int status;
    bool opened;
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

static void scan_calls(void *context, const xs_image *image, const xs_range *range, xs_call_found *found,
                       void *arg)
{
    calls *c = context;
    const view *v = &c->program->view;
    xs_insn insn;
    open_view(c, image);
    if (c->status != STATUS_OK) return;
    for (size_t at = 0; xs_decode(v->decoder, range->bytes + at, (size_t)range->size - at, &insn) == XS_OK;
         at += insn.size) {
        const int64_t *offset = insn.entry->rule->flow == XS_FLOW_CALL ? jump_offset(v, &insn) : NULL;
        if (offset) found(arg, range->addr + at + (uint64_t)*offset);
    }
}

int program_open(program *p, const options *o, const char *path)
{
    char why[256];
    calls c = {.program = p, .options = o};
    *p = (program){0};
    xs_image_options image_options = {.scan_calls = scan_calls, .scan_context = &c};
    if (xs_image_open(path, &image_options, &p->image, why, sizeof why) != XS_IMAGE_OK)
        return complain(STATUS_INPUT, "%s: %s", path, why);
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
