/* Which target does somebody's table equal? A few words tell all targets of a mode apart. */
#ifndef XOLSIM_ORACLE_TELLING_H
#define XOLSIM_ORACLE_TELLING_H

#include "xolsim.h"

/* Targets that treat every word alike, in the order of the table. */
typedef struct xs_alike {
    xs_decoder *decoder; /* of the first one */
    xs_target *targets;
    size_t count;
} xs_alike;

typedef struct xs_telling {
    const xs_table *table;
    xs_alike *groups;
    size_t group_count;
    uint32_t *words; /* sorted. Any two groups differ on one of them, and each rule has one */
    size_t word_count;
} xs_telling;

/* All kernels and named targets of an architecture that have this mode; RISC-V with and without C. false: no
 * memory, or no such mode. */
bool xs_telling_open(const xs_table *table, const char *arch, const char *mode, xs_telling *out);
void xs_telling_close(xs_telling *t);

/* The class and the handler are what two targets can differ in. */
bool xs_decisions_alike(const xs_decision *a, const xs_decision *b);

#endif
