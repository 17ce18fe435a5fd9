/* The code of a file, in pieces that can be worked on alone. */
#include "code.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"

enum { NEAR = 4096 };     /* bytes */
enum { CHUNK = 1 << 20 }; /* bytes: what a thread takes at a time; its classes stay in the cache */

size_t code_function_from(const xs_image *image, size_t range, size_t offset)
{
    size_t low = 0, high = image->function_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const xs_function *f = &image->functions[mid];
        bool before = f->range != range ? f->range < range : f->addr - image->ranges[range].addr < offset;
        if (before)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Where a function begins in its range. */
static size_t offset_of(const xs_image *image, const xs_function *f)
{
    return (size_t)(f->addr - image->ranges[f->range].addr);
}

/* ---- cutting ----------------------------------------------------------------------------------------- */

/* Where to end a chunk that begins at from and must be cut: at the last function that begins in it, since
 * classification begins anew there; else where the walk from its beginning has a boundary. */
static size_t cut(const code *c, size_t r, size_t from, uint8_t *scratch)
{
    const xs_image *image = c->image;
    const xs_range *range = &image->ranges[r];
    size_t granule = c->view->granule, left;
    if (granule == 4) return from + CHUNK;
    for (size_t f = code_function_from(image, r, from + CHUNK + 1);
         f-- > 0 && image->functions[f].range == r;) {
        size_t at = offset_of(image, &image->functions[f]);
        if (at <= from) break;
        if (at % granule == 0) return at;
    }
    size_t ahead = (size_t)range->size - from < CHUNK + 4 ? (size_t)range->size - from : CHUNK + 4;
    xs_classify_text(c->view->classifier, range->bytes + from, ahead, scratch, &left);
    if (ahead - left <= CHUNK) return from + ahead - left;
    return from + CHUNK - (scratch[CHUNK / granule] == XS_TAIL ? granule : 0);
}

static bool add_chunk(code *c, chunk piece)
{
    if ((c->chunk_count & (c->chunk_count - 1)) == 0) { /* full: its room is a power of two */
        chunk *more = reallocarray(c->chunks, c->chunk_count ? 2 * c->chunk_count : 1, sizeof *more);
        if (!more) return false;
        c->chunks = more;
    }
    c->chunks[c->chunk_count++] = piece;
    return true;
}

static bool cut_range(code *c, size_t r, uint8_t *scratch)
{
    size_t size = (size_t)c->image->ranges[r].size;
    for (size_t from = 0, to; from < size; from = to) {
        to = size - from <= CHUNK ? size : cut(c, r, from, scratch);
        if (!add_chunk(c, (chunk){r, from, to})) return false;
    }
    return true;
}

bool code_open(code *c, const xs_image *image, const view *v)
{
    *c = (code){.image = image, .view = v};
    uint8_t *scratch = malloc(CHUNK / 2 + 2);
    bool ok = scratch != NULL;
    for (size_t r = 0; ok && r < image->range_count; r++)
        ok = cut_range(c, r, scratch);
    free(scratch);
    if (!ok) code_close(c);
    return ok;
}

void code_close(code *c)
{
    free(c->chunks);
    *c = (code){0};
}

/* ---- classifying ------------------------------------------------------------------------------------- */

bool window_open(window *w, const code *c)
{
    *w = (window){.code = c, .classes = malloc(CHUNK / c->view->granule + 1), .chunk = SIZE_MAX};
    return w->classes != NULL;
}

void window_close(window *w)
{
    free(w->classes);
    *w = (window){0};
}

/* Classify anew from offset at of the range, up to where the new instructions fall in with the old ones. */
static void fall_in(window *w, size_t at, size_t *left)
{
    const chunk *k = &w->code->chunks[w->chunk];
    const uint8_t *bytes = w->code->image->ranges[k->range].bytes;
    for (size_t size, rest; at < k->to; at += size - rest) {
        uint8_t fresh[128], *old = w->classes + (at - k->from) / 2;
        size = k->to - at < 2 * sizeof fresh ? k->to - at : 2 * sizeof fresh;
        xs_classify_text(w->code->view->classifier, bytes + at, size, fresh, &rest);
        for (size_t i = 0; i < (size - rest) / 2; i++) {
            if (fresh[i] != XS_TAIL && old[i] != XS_TAIL) return;
            old[i] = fresh[i];
        }
        if (size < k->to - at) continue;
        memset(old + (size - rest) / 2, XS_TAIL, size / 2 - (size - rest) / 2);
        *left = rest;
        return;
    }
}

/* What stands before a function (padding, data that no symbol marks) must not shift the boundaries in it: an
 * instruction that would reach into the function is none, and the walk begins anew. */
static void begin_anew(window *w, size_t *left)
{
    const xs_image *image = w->code->image;
    const chunk *k = &w->code->chunks[w->chunk];
    for (size_t f = code_function_from(image, k->range, k->from);
         f < image->function_count && image->functions[f].range == k->range; f++) {
        size_t at = offset_of(image, &image->functions[f]), i = (at - k->from) / 2;
        if (at >= k->to || k->to - at < 2) return;
        if (at % 2 || w->classes[i] != XS_TAIL) continue;
        if (k->to - at > *left) {
            w->classes[i - 1] = XS_TAIL;
            w->left += 2;
        } else { /* in what is no whole instruction anyway */
            w->left += at - (k->to - *left);
        }
        fall_in(w, at, left);
    }
}

void window_load(window *w, size_t number)
{
    if (w->chunk == number) return;
    w->chunk = number;
    w->left = 0;
    const chunk *k = &w->code->chunks[number];
    size_t left;
    xs_classify_text(w->code->view->classifier, w->code->image->ranges[k->range].bytes + k->from,
                     k->to - k->from, w->classes, &left);
    if (w->code->view->granule == 2) begin_anew(w, &left);
    w->left += left;
}

static size_t chunk_at(const code *c, size_t range, size_t offset)
{
    size_t low = 0, high = c->chunk_count;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        const chunk *k = &c->chunks[mid];
        if (k->range > range || (k->range == range && k->from > offset))
            high = mid;
        else
            low = mid;
    }
    return low;
}

bool window_holds(const window *w, size_t range, size_t offset)
{
    if (w->chunk == SIZE_MAX) return false;
    const chunk *k = &w->code->chunks[w->chunk];
    return k->range == range && offset >= k->from && offset < k->to;
}

xs_text window_text(window *w, size_t range, size_t offset, const xs_function *f)
{
    const xs_range *r = &w->code->image->ranges[range];
    xs_text text = {.bytes = r->bytes, .size = (size_t)r->size, .addr = r->addr, .function = XS_NO_FUNCTION};
    if (f) text.function = f->range == range ? offset_of(w->code->image, f) : 0;
    if (w->code->view->granule == 4) return text;
    /* A few instructions are walked sooner than a chunk is loaded. */
    if (!window_holds(w, range, offset)) {
        if (f && offset - text.function < NEAR) return text;
        window_load(w, chunk_at(w->code, range, offset));
    }
    text.starts = w->classes;
    text.starts_at = w->code->chunks[w->chunk].from;
    return text;
}

bool windows_open(window *windows, unsigned *count, const code *c)
{
    for (unsigned i = 0; i < *count; i++)
        if (!window_open(&windows[i], c)) *count = i;
    return *count > 0;
}

void windows_close(window *windows, unsigned count)
{
    while (count-- > 0)
        window_close(&windows[count]);
}

/* ---- counting ---------------------------------------------------------------------------------------- */

typedef struct counting {
    code *code;
    window windows[CREW_MAX];
    atomic_uint_fast64_t counts[XS_TAIL + 1], left;
} counting;

static void count_chunk(void *arg, size_t item, unsigned worker)
{
    counting *n = arg;
    window *w = &n->windows[worker];
    const chunk *k = &n->code->chunks[item];
    uint64_t counts[XS_TAIL + 1] = {0};
    window_load(w, item);
    xs_count_classes(w->classes, (k->to - k->from) / n->code->view->granule, counts);
    for (int i = 0; i <= XS_TAIL; i++)
        n->counts[i] += counts[i];
    n->left += w->left;
}

bool code_count(code *c, unsigned jobs)
{
    counting n = {.code = c};
    if (jobs > c->chunk_count) jobs = c->chunk_count ? (unsigned)c->chunk_count : 1;
    if (!windows_open(n.windows, &jobs, c)) return false;
    crew_run(jobs, c->chunk_count, count_chunk, &n);
    windows_close(n.windows, jobs);
    for (int i = 0; i < XS_TAIL; i++)
        c->counts[i] = n.counts[i];
    c->left = n.left;
    return true;
}
