/* lockstep: processes, their progress, and the sum of what they found. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <time.h>
#include <unistd.h>

#include "campaign.h"
#include "ending.h"

uint64_t part_words(const part *pt)
{
    uint64_t each = (uint64_t)pt->p->states * pt->cases.count;
    return pt->p->count ? (pt->p->count + each - 1) / each : 0;
}

/* ---- memory that parent and children see ------------------------------------------------------- */

static bool share(part *pt)
{
    size_t tallies = pt->jobs * pt->cases.count * sizeof(tally), workers = pt->jobs * sizeof(worker);
    pt->shared_size = tallies + workers + sizeof *pt->stop;
    void *memory = mmap(NULL, pt->shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pt->sum = calloc(pt->cases.count, sizeof *pt->sum);
    if (memory == MAP_FAILED || !pt->sum) return false;
    pt->shared = memory;
    pt->tallies = memory;
    pt->workers = (worker *)(void *)((char *)memory + tallies);
    pt->stop = (volatile sig_atomic_t *)(void *)((char *)memory + tallies + workers);
    return true;
}

/* ---- progress ---------------------------------------------------------------------------------- */

static uint64_t checks_so_far(const part *pt)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < pt->jobs * pt->cases.count; i++)
        sum += pt->p->slots ? pt->tallies[i].slot.checks : pt->tallies[i].counts.checks;
    return sum;
}

/* Seconds that are left, or a negative number when nobody can tell. */
static double remaining(const part *pt, double elapsed, uint64_t checks)
{
    double by_time = pt->p->seconds ? (double)pt->p->seconds - elapsed : -1;
    uint64_t total =
        pt->image || !pt->p->count ? 0 : part_words(pt) * pt->p->states * pt->cases.count / pt->p->shards;
    double by_count =
        total && checks ? elapsed * (double)(total > checks ? total - checks : 0) / (double)checks : -1;
    return by_time < 0 || (by_count >= 0 && by_count < by_time) ? by_count : by_time;
}

static void show(const part *pt, double elapsed)
{
    uint64_t checks = checks_so_far(pt);
    double left = remaining(pt, elapsed, checks);
    fprintf(stderr, "\r%s: %.1f M checks, %.2f M/s", pt->cases.arch->name, (double)checks / 1e6,
            elapsed > 0 ? (double)checks / 1e6 / elapsed : 0);
    if (left >= 0) fprintf(stderr, ", %d:%02d left", (int)left / 60, (int)left % 60);
    fputs("   ", stderr);
}

/* ---- children ---------------------------------------------------------------------------------- */

static bool begin(part *pt, unsigned number)
{
    pt->workers[number].divergences = pt->divergences;
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        ending_ignore(); /* the parent says when to stop */
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* and nobody is left to say it when it is gone */
        if (getppid() != parent) _exit(STATUS_INTERNAL);
#endif
        if (!freopen("/dev/null", "w", stderr) ||
            !freopen("/dev/null", "w", stdout)) /* Unicorn writes there */
            _exit(STATUS_INTERNAL);
        worker_run(pt, number);
        _exit(STATUS_OK);
    }
    pt->workers[number].pid = pid;
    return pid > 0;
}

static unsigned reap(part *pt, unsigned left)
{
    int status;
    for (unsigned i = 0; i < pt->jobs; i++) {
        worker *w = &pt->workers[i];
        if (w->pid <= 0 || waitpid(w->pid, &status, WNOHANG) != w->pid) continue;
        if (WIFSIGNALED(status))
            snprintf(w->why, sizeof w->why, "a worker was ended by signal %d", WTERMSIG(status));
        w->pid = 0;
        left--;
    }
    return left;
}

static void wait_for(part *pt, unsigned left)
{
    const struct timespec pause = {0, 20000000};
    double begun = clock_seconds(), shown = begun;
    bool terminal = isatty(STDERR_FILENO);
    while ((left = reap(pt, left)) > 0) {
        double elapsed = clock_seconds() - begun;
        if (pt->p->seconds && elapsed >= (double)pt->p->seconds) *pt->stop = 1;
        if (ending_asked()) *pt->stop = 1;
        if (terminal && clock_seconds() - shown > 0.5) {
            show(pt, elapsed);
            shown = clock_seconds();
        }
        nanosleep(&pause, NULL);
    }
    pt->seconds = clock_seconds() - begun;
    if (terminal) fputs("\r\033[K", stderr);
}

/* ---- the sum ------------------------------------------------------------------------------------- */

/* Both counters are nothing but uint64_t. */
static void add_counters(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size / sizeof(uint64_t); i++)
        ((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
}

static void add_tally(const part *pt, tally *to, const tally *from)
{
    add_counters(&to->counts, &from->counts, sizeof to->counts);
    add_counters(&to->slot, &from->slot, sizeof to->slot);
    to->plain_checks += from->plain_checks;
    to->plain_ns += from->plain_ns;
    to->ns += from->ns;
    if (!to->check.differs) to->check = from->check;
    for (unsigned i = 0; i < from->proof_count; i++)
        tally_prove(pt, to, &from->proofs[i]);
}

static int add_up(part *pt)
{
    int status = STATUS_OK;
    for (unsigned w = 0; w < pt->jobs; w++) {
        for (size_t i = 0; i < pt->cases.count; i++)
            add_tally(pt, &pt->sum[i], &pt->tallies[w * pt->cases.count + i]);
        for (unsigned d = 0; d < pt->divergences.count; d++) {
            pt->divergences.list[d].tested += pt->workers[w].divergences.list[d].tested;
            pt->divergences.list[d].used += pt->workers[w].divergences.list[d].used;
        }
        for (unsigned r = 0; r < pt->divergences.run_as_count; r++) {
            pt->divergences.run_as[r].tested += pt->workers[w].divergences.run_as[r].tested;
            pt->divergences.run_as[r].used += pt->workers[w].divergences.run_as[r].used;
        }
        if (!pt->workers[w].done)
            status = complain(STATUS_INTERNAL, "%s: the oracle failed: %s", pt->cases.arch->name,
                              *pt->workers[w].why ? pt->workers[w].why : "a worker ended early");
    }
    return status;
}

int part_run(part *pt)
{
    ending e;
    unsigned begun = 0;
    if (!share(pt)) return complain(STATUS_INTERNAL, "out of memory");
    ending_watch(&e);
    while (begun < pt->jobs && begin(pt, begun))
        begun++;
    if (begun < pt->jobs) *pt->stop = 1;
    wait_for(pt, begun);
    ending_unwatch(&e);
    pt->interrupted = ending_asked();
    if (begun < pt->jobs) return complain(STATUS_INTERNAL, "no process can be started");
    return add_up(pt);
}

void part_close(part *pt)
{
    if (pt->shared) munmap(pt->shared, pt->shared_size);
    free(pt->sum);
    xs_cases_close(&pt->cases);
    xs_image_close(pt->image);
    view_close(&pt->view);
}
