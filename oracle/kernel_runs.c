/* Every word through the kernel's decode function, by the loop of kernel_arch.c.
 *
 * The loop leaves a record only where the verdict changes, so that the machine is left some ten times in a
 * million words; records are what runs are made of. */
#include <string.h>

#include "kernel_internal.h"

enum { RECORD = 16, OUT_AT = 0x10000, OUT_END = XS_KERNEL_ROOM };

/* The run at hand. */
typedef struct runs {
    const xs_kernel_decoder *d;
    xs_kernel_run_fn *fn;
    void *arg;
    bool open;
    uint32_t first;
    xs_kernel_verdict verdict;
} runs;

static uint64_t read_bytes(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* The sign is kept on RISC-V, where the loop counts in 32 bits. */
static uint64_t as_word(const xs_kernel *k, uint32_t word)
{
    return k->image->arch == XS_IMAGE_ARM64 ? word : (uint64_t)(int64_t)(int32_t)word;
}

static bool begin(const xs_kernel_decoder *d, uint32_t first, uint32_t last)
{
    xs_kernel *k = d->k;
    const kernel_loop *l = &k->arch->loop;
    const uint64_t room = KERNEL_ROOM;
    return kernel_begin(k) && kernel_set(k, l->word, as_word(k, first)) &&
           kernel_set(k, l->last, as_word(k, last)) && kernel_set(k, l->function, d->function) &&
           kernel_set(k, l->structure, room) && kernel_set(k, l->field, room + d->handler_at) &&
           kernel_set(k, l->store, room + XS_KERNEL_WORD_AT) && kernel_set(k, l->out, room + OUT_AT) &&
           kernel_set(k, l->out_end, room + OUT_END) && kernel_set(k, l->cls, UINT64_MAX) &&
           kernel_set(k, l->stop, KERNEL_STOP);
}

/* The verdict of a run that goes on over the records' end is the same again in the next one. */
static bool same(const xs_kernel_verdict *a, const xs_kernel_verdict *b)
{
    return a->cls == b->cls && a->handler == b->handler;
}

/* false: not one of the three classes, or fn has had enough. */
static bool take(runs *r, const uint8_t *record, uint32_t *word, xs_kernel_end *end)
{
    xs_kernel_verdict v;
    *word = (uint32_t)read_bytes(record, 4);
    *end = XS_KERNEL_CRASHED;
    if (!kernel_verdict(r->d, (uint32_t)read_bytes(record + 4, 4), read_bytes(record + 8, 8), &v))
        return false;
    *end = XS_KERNEL_STOPPED;
    if (r->open && same(&v, &r->verdict)) return true;
    if (r->open && !r->fn(r->arg, r->first, *word - 1, &r->verdict)) return false;
    r->open = true;
    r->first = *word;
    r->verdict = v;
    return true;
}

static bool drain(runs *r, uint64_t out, uint32_t *word, xs_kernel_end *end)
{
    for (uint64_t at = KERNEL_ROOM + OUT_AT; at < out; at += RECORD)
        if (!take(r, r->d->k->room + (at - KERNEL_ROOM), word, end)) return false;
    return true;
}

/* The word or its address as first argument; and nothing left of an earlier handler. */
static bool set_up(const xs_kernel_decoder *d)
{
    const kernel_loop *l = &d->k->arch->loop;
    kernel_put_words(d->k->code, d->by_address ? l->by_address : l->by_value, 2);
    memset(d->k->room, 0, XS_KERNEL_WORD_AT);
    return uc_ctl_remove_cache(d->k->uc, KERNEL_CODE, KERNEL_CODE + 4 * l->words) == UC_ERR_OK;
}

xs_kernel_end xs_kernel_runs(const xs_kernel_decoder *d, uint32_t first, uint32_t last, xs_kernel_run_fn *fn,
                             void *arg, uint32_t *word)
{
    xs_kernel *k = d->k;
    const kernel_loop *l = &k->arch->loop;
    runs r = {.d = d, .fn = fn, .arg = arg};
    xs_kernel_end end = XS_KERNEL_CRASHED;
    *word = first;
    bool done = k->dead || !set_up(d);
    while (!done) {
        if (!begin(d, *word, last)) return XS_KERNEL_CRASHED;
        bool came_back = kernel_run(k, KERNEL_CODE, d->by_address ? KERNEL_STORED : KERNEL_SAID);
        if (!came_back) {
            *word = kernel_word(k);
            return XS_KERNEL_CRASHED;
        }
        if (!drain(&r, kernel_get(k, l->out), word, &end)) return end;
        *word = (uint32_t)kernel_get(k, l->word);
        done = kernel_get(k, l->structure) == 0;
    }
    if (!r.open) return XS_KERNEL_CRASHED;
    return fn(arg, r.first, last, &r.verdict) ? XS_KERNEL_DONE : XS_KERNEL_STOPPED;
}
