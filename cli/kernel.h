/* kernel: what its files share. */
#ifndef XOLSIM_CLI_KERNEL_H
#define XOLSIM_CLI_KERNEL_H

#include "cli.h"
#include "kernel_oracle.h"
#include "telling.h"

/* What is asked for, and of whom. */
typedef struct referee {
    const options *o;
    const char *path, *symbols, *state; /* NULL: not given */
    bool identify, exhaustive, dump, simulate, scan;
    uint64_t seed;
    unsigned shard, shards;
    xs_kernel_image *image;
    const char *arch;
    xs_table *table;
} referee;

/* What a kernel says to the telling words, and which group of targets says the same. */
typedef struct identity {
    xs_telling telling;
    xs_kernel_verdict *verdicts; /* one for each telling word */
    size_t group;                /* the one with the fewest other answers */
    size_t differ;               /* so many; 0: it is the one */
    char target[96];             /* of the group, the one that the release string says */
} identity;

/* Of r->path: the image, its architecture and table; a status after a message. Close it in both cases. */
int referee_image(referee *r);
void referee_close(referee *r);
/* "kernel", release; a value each. */
void referee_head(const referee *r, output *out);
/* A list of rows beside a target, with a head; rows returns a status. id: a target that was identified. */
int referee_list(const referee *r, const view *v, const identity *id, const char *name, const column *columns,
                 size_t count, int (*rows)(void *arg, output *out), void *arg);
/* A machine and its decode function; a status after a message (referee_try: after why is written). Close the
 * machine. */
enum { REFEREE_WHY = 400 };
int referee_try(const referee *r, const char *mode, bool exact, xs_kernel_decoder *d, char *why, size_t size);
int referee_open(const referee *r, const char *mode, bool exact, xs_kernel_decoder *d);
/* Says that a function of the kernel crashed on the word; returns the status for that. */
int referee_crashed(const referee *r, const xs_kernel_decoder *d, uint32_t word, const char *function);
/* Is --mode, if it is given, a kernel's? A status after a message. */
int referee_check_mode(const options *o);

int kernel_words(const referee *r);      /* kernel_words.c */
int kernel_identify(const referee *r);   /* kernel_identify.c */
int kernel_exhaustive(const referee *r); /* kernel_exhaustive.c */
int kernel_handlers(const referee *r);   /* kernel_handlers.c */
int kernel_scan(const referee *r);       /* kernel_scan.c */

int identify(const referee *r, const xs_kernel_decoder *d, identity *out); /* a status after a message */
void identity_close(identity *id);
/* The target to compare with: --target, or the identified one. A status; close both in any case. */
int referee_target(const referee *r, const xs_kernel_decoder *d, identity *id, view *v);
/* Does the kernel treat the word as the decision says? */
bool verdict_is(const xs_kernel_decoder *d, const xs_kernel_verdict *v, const xs_decision *decision);
void add_verdict(json_object *row, const xs_kernel_decoder *d, const xs_kernel_verdict *v);

/* ---- every word ---------------------------------------------------------------------------------- */

/* Words first..last with one verdict. */
typedef struct run {
    uint32_t first, last;
    xs_class cls;
    unsigned handler; /* in the list's names */
} run;

typedef struct run_list {
    run *list;
    size_t count, room;
    char **names;
    size_t name_count;
    uint64_t words;
} run_list;

/* kernel_runs.c. Behind what is there; merged with it when it goes on. false: no memory. */
bool run_add(run_list *runs, uint32_t first, uint32_t last, xs_class cls, const char *handler);
/* An xs_kernel_run_fn that adds what the decoder says; arg is a run_collector. */
typedef struct run_collector {
    const xs_kernel_decoder *d;
    run_list *runs;
} run_collector;
bool run_collect(void *arg, uint32_t first, uint32_t last, const xs_kernel_verdict *v);
bool runs_equal(const run_list *a, const run_list *b);
void runs_close(run_list *runs);
/* As text, a line each, like table dump's. */
void runs_print(FILE *f, const run_list *runs, int digits);
/* The text of words first..last, added to *runs; false: it is something else, or not all of that. */
bool runs_read(const char *path, uint32_t first, uint32_t last, run_list *runs);

/* kernel_chunks.c: all words (or a shard of them) by several processes, kept as files until they are read. */
enum { CHUNK = 1 << 20, CHUNKS = 1 << 12 };
int chunks_run(const referee *r, const xs_kernel_decoder *d, run_list *runs);

/* kernel_every.c: all words, in chunks; on RISC-V the low halfwords below *samples upper ones, among which
 * there may be no difference (0: all words were asked). A status after a message. */
int every_word(const referee *r, const xs_kernel_decoder *d, run_list *runs, unsigned *samples);

/* kernel_beside.c: the words first, first + step, ..., last of a run that the kernel does not treat as the
 * target's entry for them. halves: as for runs_diff. Stops when fn returns false, and returns that. */
typedef bool beside_fn(void *arg, const run *r, size_t entry, uint32_t first, uint32_t last, uint32_t step);
bool runs_beside(const view *v, const run_list *runs, bool halves, beside_fn *fn, void *arg);

/* kernel_diff.c: rows for what a target treats differently, grouped by rule. halves: runs are of low
 * halfwords and hold for every upper one. *words is how many differ, *count in how many runs. */
bool runs_diff(const view *v, const run_list *runs, bool halves, output *out, uint64_t *words,
               uint64_t *count);

#endif
