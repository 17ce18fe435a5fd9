/* classify: a program's code, and the sites that were asked for. */
#ifndef XOLSIM_SITES_H
#define XOLSIM_SITES_H

#include "code.h"

/* How far a direct jump or call goes; NULL: a register says where, or it is no jump. */
const int64_t *jump_offset(const view *v, const xs_insn *insn);

/* program.c: a file opened and looked through. */
typedef struct program {
    xs_image *image;
    view view;
    code code;
} program;

/* Returns STATUS_OK or a status after printing why; program_close in both cases. */
int program_open(program *p, const options *o, const char *path);
void program_close(program *p);

/* A site; which fields count depends on where it came from. */
typedef struct site_ref {
    size_t range, offset; /* bytes */
    size_t function;      /* SIZE_MAX: none known */
    size_t usdt;          /* SIZE_MAX: not a USDT site */
    const char *kind;     /* "entry", "usdt", "return", "tail-call", "indirect-jump", "insn" */
    uint8_t cls;          /* xs_class */
    uint8_t hazards;
} site_ref;

/* Sites come in items that threads can share: call fn for each site of one item that --sites, --symbol and
 * --section ask for, decided, in the order of the file. */
typedef void site_fn(void *arg, const site_ref *ref, const xs_site *site);
size_t sites_items(const code *c, const options *o);
void sites_visit(const code *c, const options *o, size_t item, window *w, site_fn *fn, void *arg);

typedef struct site_list {
    site_ref *refs;
    size_t count, room;
    bool failed; /* no memory */
} site_list;

/* All of them that --class asks for, sorted. False: no memory. */
bool sites_collect(const code *c, const options *o, window *w, site_list *out);
void sites_free(site_list *list);

void site_decide(window *w, const site_ref *ref, xs_site *site);

/* summary.c: what is said about all sites. */
typedef struct summary {
    size_t sites; /* that were called for */
    int status;   /* STATUS_FOUND when --fail-on asks for one of them */
} summary;

/* Look at all sites in up to jobs threads and print the summary: text for people, an object for programs.
 * False: no memory. */
bool summary_print(output *out, const code *c, const options *o, unsigned jobs, summary *found);

#endif
