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

/* As much of an instruction as there is. */
static uint32_t first_word(const uint8_t *bytes, size_t avail)
{
    uint32_t low = (uint32_t)(bytes[0] | bytes[1] << 8);
    return avail < 4 ? low : low | (uint32_t)(bytes[2] | bytes[3] << 8) << 16;
}

static void report_call(const view *v, const xs_range *range, size_t at, xs_call_found *found, void *arg)
{
    xs_insn insn;
    if (xs_decode(v->decoder, range->bytes + at, (size_t)range->size - at, &insn) != XS_OK) return;
    const int64_t *offset = jump_offset(v, &insn);
    if (offset) found(arg, range->addr + at + (uint64_t)*offset);
}

/* Operands are for calls only: this goes over every word of a file. */
static void scan_calls(void *context, const xs_image *image, const xs_range *range, xs_call_found *found,
                       void *arg)
{
    calls *c = context;
    const view *v = &c->program->view;
    size_t count;
    open_view(c, image);
    if (c->status != STATUS_OK) return;
    const xs_entry *entries = xs_decoder_entries(v->decoder, &count);
    for (size_t at = 0; range->size - at >= v->granule;) {
        uint32_t word = first_word(range->bytes + at, (size_t)range->size - at);
        const xs_rule *rule = entries[xs_lookup(v->decoder, word)].rule;
        if (rule->flow == XS_FLOW_CALL) report_call(v, range, at, found, arg);
        at += rule->width / 8u;
        if (at > range->size) return;
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
