/* Every word of a kernel: by several processes, or, on RISC-V, all low halfwords below some upper ones. */
#include <inttypes.h>
#include <string.h>

#include "kernel.h"

enum { SAMPLES = 64 };

/* All low halfwords below one upper one. */
static int run_half(const referee *r, const xs_kernel_decoder *d, uint32_t upper, run_list *runs)
{
    uint32_t word;
    xs_kernel_end end =
        xs_kernel_runs(d, upper << 16, upper << 16 | 0xffff, run_collect, &(run_collector){d, runs}, &word);
    if (end == XS_KERNEL_DONE) return STATUS_OK;
    if (end == XS_KERNEL_STOPPED) return complain(STATUS_INTERNAL, "out of memory");
    return referee_crashed(r, d, word, d->name);
}

/* Upper halfwords worth trying: single bits, all ones, and some of no pattern. */
static uint32_t sample(unsigned i)
{
    if (i < 16) return 1u << i;
    if (i < 32) return 0xffffu ^ 1u << (i - 16);
    return i == 32 ? 0xffff : (i * UINT32_C(0x9e3779b1)) >> 16;
}

/* The first low halfword that answers otherwise below another upper one. */
static uint32_t first_other(const run_list *a, const run_list *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        const run *x = &a->list[i], *y = &b->list[i];
        if (x->cls != y->cls || strcmp(a->names[x->handler], b->names[y->handler]) != 0)
            return x->first & 0xffff;
        if ((x->last & 0xffff) != (y->last & 0xffff))
            return (((x->last & 0xffff) < (y->last & 0xffff) ? x->last : y->last) + 1) & 0xffff;
    }
    return 0;
}

/* No table of ours looks at the upper halfword, so a kernel that does has no target, and all its words no
 * short list of runs. */
static int run_sample(const referee *r, const xs_kernel_decoder *d, uint32_t upper, const run_list *runs)
{
    run_list other = {0};
    int status = run_half(r, d, upper, &other);
    if (status == STATUS_OK && !runs_equal(runs, &other))
        status = complain(STATUS_FOUND,
                          "%s: the upper halfword matters: 0x%04" PRIx32 "%04" PRIx32
                          " is treated otherwise than 0x0000%04" PRIx32,
                          r->path, upper, first_other(runs, &other), first_other(runs, &other));
    runs_close(&other);
    return status;
}

static int run_halves(const referee *r, const char *mode, run_list *runs)
{
    xs_kernel_decoder d;
    int status = referee_open(r, mode, false, &d);
    if (status == STATUS_OK) status = run_half(r, &d, 0, runs);
    for (unsigned i = 0; status == STATUS_OK && i < SAMPLES; i++)
        status = run_sample(r, &d, sample(i), runs);
    xs_kernel_close(d.k);
    return status;
}

int every_word(const referee *r, const xs_kernel_decoder *d, run_list *runs, unsigned *samples)
{
    bool halves = xs_table_granule(r->table) == 2;
    *samples = halves ? SAMPLES : 0;
    if (halves && (r->shards > 1 || r->state))
        return complain(STATUS_USAGE, "--shard, --state: on RISC-V it takes seconds");
    return halves ? run_halves(r, d->mode, runs) : chunks_run(r, d, runs);
}
