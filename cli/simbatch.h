/* simulate --batch: what its parts share. */
#ifndef XOLSIM_SIMBATCH_H
#define XOLSIM_SIMBATCH_H

#include "cli.h"
#include "sim.h"

/* ---- simtargets.c: targets, made once ------------------------------------------------------------ */

enum { SIM_TARGETS = 64, SIM_TABLES = 2 };

typedef struct sim_target {
    char name[96];
    xs_decoder *decoder;
    sim_machine machine;
} sim_target;

typedef struct sim_targets {
    const options *o;
    char name[96]; /* of the target that lines without one mean */
    struct {
        const char *text; /* NULL: --table's */
        xs_table *table;
    } table[SIM_TABLES];
    sim_target target[SIM_TARGETS];
    size_t targets, last, next; /* last one asked for; next one to give way */
    int status;                 /* why no table could be opened; the message is printed */
} sim_targets;

/* Begin with the command line's target: STATUS_OK, or a status after printing what is wrong with it. */
int sim_targets_open(sim_targets *t, const options *o);
const sim_machine *sim_targets_find(sim_targets *t, const char *name, sim_why *why); /* NULL: refused */
void sim_targets_close(sim_targets *t);

/* ---- simrequest.c: a line, read ------------------------------------------------------------------ */

enum { SIM_REGISTERS = 80, SIM_QUIRKS = 32 };

/* As it stands in the line; what the names mean depends on the target, which may come last. */
typedef struct sim_request {
    char *target, *word; /* NULL: not given */
    bool word_quoted;
    struct {
        char *name, *value;
    } reg[SIM_REGISTERS];
    struct {
        char *addr, *bytes;
    } mem[SIM_PIECES];
    char *quirk[SIM_QUIRKS];
    size_t regs, mems, quirks;
    unsigned seen; /* keys, a bit each */
} sim_request;

/* The strings of the request are cut out of the line. line[len] must be NUL. */
bool sim_request_read(char *line, size_t len, sim_request *q, sim_why *why);

#endif
