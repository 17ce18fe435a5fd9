/* A machine around a kernel's memory, and calls into it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "kernel_internal.h"

enum { OWN_SIZE = KERNEL_CODE_SIZE + KERNEL_STOP_SIZE + KERNEL_DATA_SIZE, PATIENCE = 2 };

/* ---- crashes ------------------------------------------------------------------------------------- */

static void name_place(const xs_kernel *k, uint64_t pc, char *text, size_t size)
{
    const xs_kernel_symbol *s = xs_kernel_image_at(k->image, pc, NULL);
    if (s)
        snprintf(text, size, "%.80s+0x%" PRIx64, s->name, pc - s->addr);
    else
        snprintf(text, size, "outside the kernel");
}

bool kernel_crash(xs_kernel *k, const char *what, uint64_t pc, uint64_t addr)
{
    k->crash = (xs_kernel_crash){.what = what, .pc = pc, .addr = addr};
    name_place(k, pc, k->crash.where, sizeof k->crash.where);
    return false;
}

const xs_kernel_crash *xs_kernel_crashed(const xs_kernel *k)
{
    return &k->crash;
}

void xs_kernel_crash_text(const xs_kernel_crash *crash, char *text, size_t size)
{
    char addr[40] = "";
    if (crash->addr) snprintf(addr, sizeof addr, " at 0x%" PRIx64, crash->addr);
    snprintf(text, size, "%s (0x%" PRIx64 ") %s%s", crash->where, crash->pc, crash->what, addr);
}

/* ---- hooks --------------------------------------------------------------------------------------- */

static void on_code(uc_engine *uc, uint64_t addr, uint32_t size, void *context)
{
    (void)uc, (void)size;
    ((xs_kernel *)context)->last = addr;
}

static void on_interrupt(uc_engine *uc, uint32_t number, void *context)
{
    ((xs_kernel *)context)->interrupt = (int)number;
    uc_emu_stop(uc);
}

static bool on_fault(uc_engine *uc, uc_mem_type type, uint64_t addr, int size, int64_t value, void *context)
{
    xs_kernel *k = context;
    (void)uc, (void)size, (void)value;
    bool fetch = type == UC_MEM_FETCH_UNMAPPED || type == UC_MEM_FETCH_PROT,
         store = type == UC_MEM_WRITE_UNMAPPED || type == UC_MEM_WRITE_PROT;
    k->fault = fetch ? "runs into nothing" : store ? "writes where nothing is" : "reads where nothing is";
    k->fault_at = addr;
    return false;
}

/* ISO C has no cast from a function to void *. */
static bool add_hook(xs_kernel *k, int type, void (*callback)(void))
{
    uc_hook hook;
    void *address;
    memcpy(&address, &callback, sizeof callback);
    return uc_hook_add(k->uc, &hook, type, address, k, UINT64_C(1), UINT64_C(0)) == UC_ERR_OK;
}

/* ---- running ------------------------------------------------------------------------------------- */

static xs_kernel *running; /* for the signal handlers */

bool kernel_set(xs_kernel *k, int reg, uint64_t value)
{
    return uc_reg_write(k->uc, reg, &value) == UC_ERR_OK;
}

uint64_t kernel_get(xs_kernel *k, int reg)
{
    uint64_t value = 0;
    uc_reg_read(k->uc, reg, &value);
    return value;
}

uint32_t kernel_word(xs_kernel *k)
{
    uint32_t word = 0;
    if (k->progress == KERNEL_SAID) return (uint32_t)kernel_get(k, k->arch->loop.said);
    for (unsigned i = 0; k->progress == KERNEL_STORED && i < 4; i++)
        word |= (uint32_t)k->room[XS_KERNEL_WORD_AT + i] << 8 * i;
    return word;
}

/* Every second of CPU time. Reading a register is no more than reading memory. */
static void on_tick(int number)
{
    (void)number;
    uint64_t now = kernel_word(running);
    running->stuck = now == running->seen ? running->stuck + 1 : 0;
    running->seen = now;
    if (running->stuck >= PATIENCE) uc_emu_stop(running->uc);
}

static void on_abort(int number)
{
    (void)number;
    siglongjmp(running->abort, 1);
}

/* Unicorn has come back: did it reach the end? */
static bool judge(xs_kernel *k, uc_err error)
{
    uint64_t pc = kernel_get(k, k->arch->pc);
    if (error == UC_ERR_OK && k->interrupt < 0 && pc == KERNEL_STOP) return true;
    if (k->exact) pc = k->last;
    if (k->stuck >= PATIENCE) return kernel_crash(k, "does not come to an end", pc, 0);
    if (k->fault) return kernel_crash(k, k->fault, pc, k->fault_at);
    if (k->interrupt == k->arch->breakpoint)
        return kernel_crash(k, "stops at a breakpoint (BUG or WARN)", pc, 0);
    if (k->interrupt == k->arch->undefined || error == UC_ERR_INSN_INVALID)
        return kernel_crash(k, "runs into an undefined instruction", pc, 0);
    return kernel_crash(k, "raises an exception", pc, 0);
}

static void watch(bool on, struct sigaction before[2])
{
    struct sigaction tick = {.sa_handler = on_tick}, gone = {.sa_handler = on_abort, .sa_flags = SA_NODEFER};
    const struct itimerval second = {{1, 0}, {1, 0}}, never = {{0, 0}, {0, 0}};
    if (on) {
        sigaction(SIGVTALRM, &tick, &before[0]);
        sigaction(SIGABRT, &gone, &before[1]);
        setitimer(ITIMER_VIRTUAL, &second, NULL);
        return;
    }
    setitimer(ITIMER_VIRTUAL, &never, NULL);
    sigaction(SIGVTALRM, &before[0], NULL);
    sigaction(SIGABRT, &before[1], NULL);
}

bool kernel_run(xs_kernel *k, uint64_t pc, enum kernel_progress progress)
{
    struct sigaction before[2];
    volatile bool ok = false;
    if (k->dead) return false;
    k->interrupt = -1;
    k->fault = NULL;
    k->fault_at = k->last = 0;
    k->stuck = 0;
    k->seen = 0;
    k->progress = progress;
    running = k;
    watch(true, before);
    if (sigsetjmp(k->abort, 1) == 0) {
        ok = judge(k, uc_emu_start(k->uc, pc, KERNEL_STOP, 0, 0));
    } else { /* in the middle of a translation: the engine cannot even be closed */
        k->dead = true;
        kernel_crash(k, "is more than Unicorn can translate", k->last, 0);
    }
    watch(false, before);
    return ok;
}

bool kernel_begin(xs_kernel *k)
{
    return kernel_set(k, k->arch->sp, KERNEL_SHADOW) && kernel_set(k, k->arch->link, KERNEL_STOP) &&
           k->arch->begin(k);
}

bool xs_kernel_call(xs_kernel *k, uint64_t addr, const uint64_t args[XS_KERNEL_ARGS], uint64_t *result)
{
    bool ok = !k->dead && kernel_begin(k);
    for (unsigned i = 0; ok && i < XS_KERNEL_ARGS; i++)
        ok = kernel_set(k, k->arch->args[i], args[i]);
    ok = ok && kernel_run(k, addr, KERNEL_CALL);
    *result = ok ? kernel_get(k, k->arch->args[0]) : 0;
    return ok;
}

/* ---- what it is told ----------------------------------------------------------------------------- */

void kernel_put_words(uint8_t *at, const uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count * 4; i++)
        at[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
}

static void put_address(uint8_t *at, uint64_t value)
{
    kernel_put_words(at, (const uint32_t[]){(uint32_t)value, (uint32_t)(value >> 32)}, 2);
}

bool xs_kernel_answer(xs_kernel *k, uint64_t addr, uint64_t result, const uint64_t values[2])
{
    uint64_t at = addr - k->image->base;
    size_t size = k->arch->jump_words * 4;
    if (!k->arch->jump || at >= k->image->size || k->image->size - at < size + 8) return false;
    kernel_put_words(k->image->bytes + at, k->arch->jump, k->arch->jump_words);
    put_address(k->image->bytes + at + size, KERNEL_ANSWER);
    kernel_put_words(k->code + (KERNEL_ANSWER - KERNEL_CODE), k->arch->answer, k->arch->answer_words);
    for (size_t i = 0; i < 3; i++)
        put_address(k->code + (KERNEL_VALUES - KERNEL_CODE) + 8 * i, i < 2 ? values[i] : result);
    return uc_ctl_remove_cache(k->uc, addr, addr + size) == UC_ERR_OK;
}

uint8_t *xs_kernel_room(const xs_kernel *k, uint64_t *addr)
{
    *addr = KERNEL_ROOM;
    return k->room;
}

const xs_kernel_image *xs_kernel_image_of(const xs_kernel *k)
{
    return k->image;
}

/* ---- life ---------------------------------------------------------------------------------------- */

/* Unicorn 2.1 looks for translated code at a store only where code may be. */
static bool map_part(xs_kernel *k, uint64_t addr, uint64_t size, uint32_t rights, uint8_t **next)
{
    bool ok = uc_mem_map_ptr(k->uc, addr, size, rights, *next) == UC_ERR_OK;
    *next += size;
    return ok;
}

static bool map_own(xs_kernel *k)
{
    uint8_t *next = k->own;
    const uint32_t code = UC_PROT_READ | UC_PROT_EXEC, data = UC_PROT_READ | UC_PROT_WRITE;
    k->code = k->own;
    k->room = k->own + KERNEL_CODE_SIZE + KERNEL_STOP_SIZE + (KERNEL_ROOM - KERNEL_DATA);
    return map_part(k, KERNEL_CODE, KERNEL_CODE_SIZE, code, &next) &&
           map_part(k, KERNEL_STOP, KERNEL_STOP_SIZE, code, &next) &&
           map_part(k, KERNEL_DATA, KERNEL_DATA_SIZE, data, &next);
}

static bool add_hooks(xs_kernel *k)
{
    return (!k->exact || add_hook(k, UC_HOOK_CODE, (void (*)(void))on_code)) &&
           add_hook(k, UC_HOOK_INTR, (void (*)(void))on_interrupt) &&
           add_hook(k, UC_HOOK_MEM_INVALID, (void (*)(void))on_fault);
}

static const char *open_engine(xs_kernel *k)
{
    void *own =
        mmap(NULL, OWN_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own == MAP_FAILED) return "mmap";
    k->own = own;
    if (uc_open(k->arch->uc, (uc_mode)k->arch->mode, &k->uc) != UC_ERR_OK) return "uc_open";
    if (k->arch->model >= 0 && uc_ctl_set_cpu_model(k->uc, k->arch->model) != UC_ERR_OK)
        return "uc_ctl_set_cpu_model";
    if (!map_own(k) ||
        uc_mem_map_ptr(k->uc, k->image->base, k->image->size, UC_PROT_ALL, k->image->bytes) != UC_ERR_OK)
        return "uc_mem_map_ptr";
    kernel_put_words(k->code, k->arch->loop.code, k->arch->loop.words);
    return add_hooks(k) ? NULL : "uc_hook_add";
}

xs_kernel *xs_kernel_open(const xs_kernel_image *image, bool exact, char *why, size_t size)
{
    xs_kernel *k = calloc(1, sizeof *k);
    const char *failed = "calloc";
    if (k) {
        k->image = image;
        k->arch = image->arch == XS_IMAGE_ARM64 ? &kernel_arm64 : &kernel_riscv64;
        k->exact = exact;
        failed = open_engine(k);
    }
    if (!failed) return k;
    snprintf(why, size, "%s fails", failed);
    xs_kernel_close(k);
    return NULL;
}

void xs_kernel_close(xs_kernel *k)
{
    if (!k) return;
    if (k->uc && !k->dead) uc_close(k->uc);
    if (k->own && !k->dead) munmap(k->own, OWN_SIZE);
    free(k);
}
