/* Every word by several processes. A chunk is a file of runs that takes its name when it is complete: what is
 * killed loses the chunks at hand, and a directory that is kept can be gone on with, also by other machines.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <time.h>
#include <unistd.h>

#include "ending.h"
#include "kernel.h"

/* What parent and children see. */
typedef struct board {
    atomic_uint next; /* chunk that nobody has taken */
    atomic_uint done; /* made in this run */
    atomic_bool failed;
    char why[400];
} board;

typedef struct pool {
    const referee *r;
    const xs_kernel_decoder *d;
    const char *dir;
    char own_dir[64]; /* "": the user's */
    uint64_t id;      /* of the kernel's bytes */
    board *board;
    pid_t *pids;
    unsigned left; /* chunks of this shard that are not there */
} pool;

/* ---- files --------------------------------------------------------------------------------------- */

/* FNV-1a. */
static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Over the image and its symbols, by which functions are called and handlers named: files of another kernel,
 * or by other symbols, in the same directory are no answers of this one. */
static uint64_t fingerprint(const xs_kernel_image *image)
{
    uint64_t hash = add_bytes(UINT64_C(0xcbf29ce484222325), image->bytes, image->size);
    for (size_t i = 0; i < image->symbol_count; i++) {
        const xs_kernel_symbol *s = &image->symbols[i];
        hash = add_bytes(add_bytes(hash, &s->addr, sizeof s->addr), s->name, strlen(s->name) + 1);
    }
    return hash;
}

static void chunk_path(const pool *p, unsigned chunk, const char *suffix, char *path, size_t size)
{
    snprintf(path, size, "%s/%016" PRIx64 "-%s-%03x.runs%s", p->dir, p->id, p->d->mode, chunk, suffix);
}

static bool in_shard(const pool *p, unsigned chunk)
{
    return chunk % p->r->shards == p->r->shard - 1;
}

static bool read_chunk(const pool *p, unsigned chunk, run_list *runs)
{
    char path[4200];
    chunk_path(p, chunk, "", path, sizeof path);
    uint32_t first = (uint32_t)chunk * CHUNK;
    return runs_read(path, first, first + (CHUNK - 1), runs);
}

static bool is_there(const pool *p, unsigned chunk)
{
    run_list runs = {0};
    bool there = read_chunk(p, chunk, &runs);
    runs_close(&runs);
    return there;
}

static bool write_chunk(const pool *p, unsigned chunk, const run_list *runs)
{
    char path[4200], part[4200], suffix[32]; /* another process may be at the same chunk */
    snprintf(suffix, sizeof suffix, ".%ld.part", (long)getpid());
    chunk_path(p, chunk, "", path, sizeof path);
    chunk_path(p, chunk, suffix, part, sizeof part);
    FILE *f = fopen(part, "w");
    if (!f) return false;
    runs_print(f, runs, 8);
    bool ok = !ferror(f);
    return fclose(f) == 0 && ok && rename(part, path) == 0;
}

/* ---- a worker ------------------------------------------------------------------------------------ */

/* Where it crashed is found again by a machine that knows every pc. */
static void report_crash(const pool *p, uint32_t word)
{
    char text[256];
    xs_kernel_decoder exact;
    xs_kernel_verdict v;
    const char *how = "crashes";
    if (referee_open(p->r, p->d->mode, true, &exact) != STATUS_OK || xs_kernel_classify(&exact, word, &v)) {
        exact = *p->d;
        how = "crashes in the loop alone";
    }
    xs_kernel_crash_text(xs_kernel_crashed(exact.k), text, sizeof text);
    snprintf(p->board->why, sizeof p->board->why, "0x%08" PRIx32 ": %s %s: %s", word, p->d->name, how, text);
}

static bool make_chunk(const pool *p, const xs_kernel_decoder *d, unsigned chunk)
{
    uint32_t word, first = (uint32_t)chunk * CHUNK;
    run_list runs = {0};
    xs_kernel_end end =
        xs_kernel_runs(d, first, first + (CHUNK - 1), run_collect, &(run_collector){d, &runs}, &word);
    bool ok = end == XS_KERNEL_DONE && write_chunk(p, chunk, &runs);
    if (end == XS_KERNEL_CRASHED)
        report_crash(&(pool){.r = p->r, .d = d, .board = p->board}, word);
    else if (!ok)
        snprintf(p->board->why, sizeof p->board->why, "%s: cannot be written to", p->dir);
    runs_close(&runs);
    return ok;
}

static void work(const pool *p)
{
    xs_kernel_decoder d;
    bool ok = referee_open(p->r, p->d->mode, false, &d) == STATUS_OK;
    while (ok && !p->board->failed) {
        unsigned chunk = atomic_fetch_add(&p->board->next, 1);
        if (chunk >= CHUNKS) break;
        if (!in_shard(p, chunk) || is_there(p, chunk)) continue;
        ok = make_chunk(p, &d, chunk);
        if (ok) atomic_fetch_add(&p->board->done, 1);
    }
    if (!ok) p->board->failed = true;
    xs_kernel_close(d.k);
}

static bool begin(pool *p, unsigned number)
{
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(STATUS_INTERNAL);
#endif
        if (!freopen("/dev/null", "w", stderr) ||
            !freopen("/dev/null", "w", stdout)) /* Unicorn writes there */
            _exit(STATUS_INTERNAL);
        work(p);
        _exit(STATUS_OK);
    }
    p->pids[number] = pid;
    return pid > 0;
}

/* ---- the parent ---------------------------------------------------------------------------------- */

static void show(const pool *p, double elapsed)
{
    unsigned done = p->board->done;
    double rate = elapsed > 0 ? done * (double)CHUNK / elapsed : 0;
    fprintf(stderr, "\r%s: %u of %u chunks, %.2f M words/s", p->d->name, done, p->left, rate / 1e6);
    if (done) {
        int left = (int)((p->left - done) * (double)CHUNK / rate);
        fprintf(stderr, ", %d:%02d left", left / 60, left % 60);
    }
    fputs("   ", stderr);
}

static unsigned reap(pool *p, unsigned left)
{
    int status;
    for (unsigned i = 0; i < p->r->o->jobs; i++) {
        if (p->pids[i] <= 0 || waitpid(p->pids[i], &status, WNOHANG) != p->pids[i]) continue;
        if (WIFSIGNALED(status) && !p->board->failed) {
            snprintf(p->board->why, sizeof p->board->why, "a worker was ended by signal %d",
                     WTERMSIG(status));
            p->board->failed = true;
        }
        p->pids[i] = 0;
        left--;
    }
    return left;
}

static void end_all(pool *p)
{
    p->board->failed = true;
    for (unsigned i = 0; i < p->r->o->jobs; i++)
        if (p->pids[i] > 0) kill(p->pids[i], SIGKILL);
}

static void wait_for(pool *p, unsigned left)
{
    const struct timespec pause = {0, 20000000};
    double begun = clock_seconds(), shown = begun;
    bool terminal = isatty(STDERR_FILENO), told = false;
    while ((left = reap(p, left)) > 0) {
        if ((ending_asked() || p->board->failed) && !told) {
            end_all(p);
            told = true;
        }
        if (terminal && clock_seconds() - shown > 0.5) {
            show(p, clock_seconds() - begun);
            shown = clock_seconds();
        }
        nanosleep(&pause, NULL);
    }
    if (terminal) fputs("\r\033[K", stderr);
}

static int run_workers(pool *p)
{
    ending e;
    unsigned begun = 0;
    ending_watch(&e);
    while (begun < p->r->o->jobs && begin(p, begun))
        begun++;
    wait_for(p, begun);
    ending_unwatch(&e);
    if (ending_asked())
        return complain(STATUS_INTERNAL, "interrupted: %u of %u chunks are done%s", (unsigned)p->board->done,
                        p->left, *p->own_dir ? "; with --state DIR they would not be lost" : "");
    if (p->board->failed) return complain(STATUS_INTERNAL, "%s: %s", p->r->path, p->board->why);
    return begun ? STATUS_OK : complain(STATUS_INTERNAL, "no process can be started");
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static int open_dir(pool *p)
{
    const char *tmp = getenv("TMPDIR");
    if (p->r->state) {
        p->dir = p->r->state;
        return mkdir(p->dir, 0777) == 0 || errno == EEXIST
                   ? STATUS_OK
                   : complain(STATUS_INPUT, "%s: cannot be made", p->dir);
    }
    snprintf(p->own_dir, sizeof p->own_dir, "%.40s/xolsim-kernel-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    p->dir = mkdtemp(p->own_dir);
    return p->dir ? STATUS_OK : complain(STATUS_INTERNAL, "%s: cannot be made", p->own_dir);
}

static void remove_dir(const pool *p)
{
    char path[4200];
    for (unsigned i = 0; *p->own_dir && i < CHUNKS; i++) {
        chunk_path(p, i, "", path, sizeof path);
        remove(path);
        chunk_path(p, i, ".part", path, sizeof path);
        remove(path);
    }
    if (*p->own_dir) rmdir(p->dir);
}

static int read_all(const pool *p, run_list *runs)
{
    for (unsigned i = 0; i < CHUNKS; i++)
        if (in_shard(p, i) && !read_chunk(p, i, runs))
            return complain(STATUS_INTERNAL, "%s: chunk %03x has gone", p->dir, i);
    return STATUS_OK;
}

static bool share(pool *p)
{
    void *memory = mmap(NULL, sizeof *p->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p->board = memory == MAP_FAILED ? NULL : memory;
    p->pids = calloc(p->r->o->jobs, sizeof *p->pids);
    return p->board && p->pids;
}

int chunks_run(const referee *r, const xs_kernel_decoder *d, run_list *runs)
{
    pool p = {.r = r, .d = d, .id = fingerprint(r->image)};
    int status = share(&p) ? open_dir(&p) : complain(STATUS_INTERNAL, "out of memory");
    for (unsigned i = 0; status == STATUS_OK && i < CHUNKS; i++)
        p.left += in_shard(&p, i) && !is_there(&p, i);
    if (status == STATUS_OK && p.left) status = run_workers(&p);
    if (status == STATUS_OK) status = read_all(&p, runs);
    if (p.dir) remove_dir(&p);
    if (p.board) munmap(p.board, sizeof *p.board);
    free(p.pids);
    return status;
}
