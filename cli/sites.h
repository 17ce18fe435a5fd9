/* classify: a program's code, and the sites that were asked for. */
#ifndef XOLSIM_SITES_H
#define XOLSIM_SITES_H

#include "cli.h"

/* An image in the view of a target, every instruction classified. */
typedef struct code {
    const xs_image *image;
    const view *view;
    uint8_t **classes;        /* per range, as xs_classify_text writes them, begun anew at each function */
    uint64_t counts[XS_TAIL]; /* instructions by class */
    uint64_t left;            /* bytes that are no whole instruction */
} code;

bool code_open(code *c, const xs_image *image, const view *v); /* false: no memory */
void code_close(code *c);

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

typedef struct site_list {
    site_ref *refs;
    size_t count, room;
    bool failed; /* no memory */
} site_list;

/* The sites that --sites, --symbol and --section ask for, decided and sorted. False: no memory. */
bool sites_collect(const code *c, const options *o, site_list *out);
void sites_free(site_list *list);

void site_decide(const code *c, const site_ref *ref, xs_site *site);

/* summary.c: text for people, an object for programs. */
void summary_print(output *out, const code *c, const site_list *sites, const options *o);

#endif
