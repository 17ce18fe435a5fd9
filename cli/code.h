/* The code of a file, in pieces that can be worked on alone. */
#ifndef XOLSIM_CODE_H
#define XOLSIM_CODE_H

#include "cli.h"

/* Part of a range, at most CHUNK bytes; an instruction begins at from, and at to unless the range ends. */
typedef struct chunk {
    size_t range, from, to;
} chunk;

/* An image in the view of a target. */
typedef struct code {
    const xs_image *image;
    const view *view;
    chunk *chunks; /* all of the code, in order */
    size_t chunk_count;
    uint64_t counts[XS_TAIL]; /* code_count: instructions by class */
    uint64_t left;            /* code_count: bytes that are no whole instruction */
} code;

bool code_open(code *c, const xs_image *image, const view *v); /* false: no memory */
void code_close(code *c);
bool code_count(code *c, unsigned jobs); /* in up to so many threads; false: no memory */

/* The first function of a range that begins at or behind offset; functions are sorted by range, then addr. */
size_t code_function_from(const xs_image *image, size_t range, size_t offset);

/* One chunk, classified: for one thread at a time. */
typedef struct window {
    const code *code;
    uint8_t *classes; /* as xs_classify_text writes them, begun anew at every function of the chunk */
    size_t chunk;     /* SIZE_MAX: none yet */
    uint64_t left;
} window;

bool window_open(window *w, const code *c); /* false: no memory */
void window_close(window *w);
/* One for each of *count threads, or for as many as there is memory for; false: for none. */
bool windows_open(window *windows, unsigned *count, const code *c);
void windows_close(window *windows, unsigned count);
void window_load(window *w, size_t chunk);

bool window_holds(const window *w, size_t range, size_t offset);

/* What a decision on a site needs: its range, the function it is in (NULL: none), and, where instructions
 * have different lengths, the starts around it. */
xs_text window_text(window *w, size_t range, size_t offset, const xs_function *f);

#endif
