/* Threads that share a list of work. */
#ifndef XOLSIM_CLI_CREW_H
#define XOLSIM_CLI_CREW_H

#include <stddef.h>

enum { CREW_MAX = 1024 };

/* Do item `item` as worker `worker`, a number below jobs: what only one thread may use, keep by it. */
typedef void crew_fn(void *arg, size_t item, unsigned worker);

/* Call fn for all items, each once, in up to jobs threads (this one among them); returns when all are done.
 */
void crew_run(unsigned jobs, size_t items, crew_fn *fn, void *arg);

#endif
