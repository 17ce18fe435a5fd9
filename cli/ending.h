/* Long runs: the clock, and being asked to end. */
#ifndef XOLSIM_CLI_ENDING_H
#define XOLSIM_CLI_ENDING_H

#include <signal.h>
#include <stdbool.h>

double clock_seconds(void); /* of a clock that never goes back */

/* SIGINT, SIGTERM, SIGHUP between the two calls only make ending_asked true, for good. */
enum { ENDINGS = 3 };
typedef struct ending {
    struct sigaction before[ENDINGS];
} ending;
void ending_watch(ending *e);
void ending_unwatch(const ending *e);
bool ending_asked(void);

void ending_ignore(void); /* in a child: its parent says when to stop */

#endif
