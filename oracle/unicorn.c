/* The engine: memory, registers in and out, and the hook that sees an instruction end. */
#include "unicorn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *const ends[] = {"landed", "load-fault", "store-fault", "unsupported", "exception"};

const char *xs_end_name(xs_end end)
{
    return (unsigned)end < sizeof ends / sizeof *ends ? ends[end] : "?";
}

/* ---- registers ------------------------------------------------------------------------------- */

/* Unicorn has written the low half of 32-bit registers. */
static void widen(xs_oracle *o)
{
    if (o->arch->width != 32) return;
    for (unsigned i = 0; i < o->arch->count; i++)
        xs_reg_set(o->arch, &o->cpu, i, xs_reg_get(o->arch, &o->cpu, i));
}

static bool read_registers(xs_oracle *o)
{
    void *at[XS_REGS];
    for (unsigned i = 0; i < o->arch->count; i++)
        at[i] = (char *)&o->cpu + o->arch->regs[i].offset;
    bool ok = uc_reg_read_batch(o->uc, o->ids, at, (int)o->arch->count) == UC_ERR_OK;
    widen(o);
    return ok;
}

bool xs_oracle_set_some(xs_oracle *o, const xs_any_cpu *cpu, const unsigned *regs, unsigned count)
{
    int ids[XS_REGS];
    void *at[XS_REGS];
    for (unsigned i = 0; i < count; i++) {
        ids[i] = o->ids[regs[i]];
        at[i] = (char *)cpu + o->arch->regs[regs[i]].offset;
    }
    return uc_reg_write_batch(o->uc, ids, at, (int)count) == UC_ERR_OK;
}

bool xs_oracle_set(xs_oracle *o, const xs_any_cpu *cpu)
{
    unsigned regs[XS_REGS], count = 0;
    for (unsigned i = 0; i < o->arch->count; i++)
        if (i != o->arch->pc) regs[count++] = i;
    return xs_oracle_set_some(o, cpu, regs, count);
}

size_t xs_oracle_more(xs_oracle *o, uint8_t *more)
{
    size_t n = 0, bytes = o->arch->more_bytes;
    memset(more, 0, XS_MORE * 16);
    for (; o->arch->more[n] >= 0; n++)
        uc_reg_read(o->uc, o->arch->more[n], more + n * bytes);
    return n * bytes;
}

bool xs_oracle_set_more(xs_oracle *o, const uint8_t *more)
{
    bool ok = true;
    for (size_t n = 0; o->arch->more[n] >= 0; n++)
        ok &= uc_reg_write(o->uc, o->arch->more[n], more + n * o->arch->more_bytes) == UC_ERR_OK;
    return ok;
}

/* ---- memory ---------------------------------------------------------------------------------- */

uint8_t *xs_oracle_bytes(const xs_oracle *o, uint64_t addr, size_t size, bool *writable)
{
    uint64_t in_data = xs_address(o->arch, addr - o->arch->data),
             in_code = xs_address(o->arch, addr - o->code_at),
             in_slot = xs_address(o->arch, addr - o->slot_at);
    *writable = in_data < XS_DATA;
    if (in_data < XS_DATA) return size <= XS_DATA - in_data ? o->data + in_data : NULL;
    if (in_code < o->code_size) return size <= o->code_size - in_code ? o->code + in_code : NULL;
    if (o->slot && in_slot < XS_SLOT_ROOM) return size <= XS_SLOT_ROOM - in_slot ? o->slot + in_slot : NULL;
    return NULL;
}

bool xs_oracle_code(xs_oracle *o, uint64_t addr, const void *bytes, size_t size)
{
    bool writable;
    uint8_t *at = xs_oracle_bytes(o, addr, size, &writable);
    if (!at || writable) return false;
    memcpy(at, bytes, size);
    return uc_ctl_remove_cache(o->uc, addr, addr + size) == UC_ERR_OK;
}

static bool allocate(xs_oracle *o)
{
    o->host_size = o->code_size + XS_DATA + XS_SLOT_ROOM;
    void *host =
        mmap(NULL, o->host_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (host == MAP_FAILED) return false;
    o->host = host;
    o->code = host;
    o->data = o->code + o->code_size;
    return true;
}

static bool map(xs_oracle *o)
{
    return uc_mem_map_ptr(o->uc, o->code_at, o->code_size, UC_PROT_READ | UC_PROT_EXEC, o->code) ==
               UC_ERR_OK &&
           uc_mem_map_ptr(o->uc, o->arch->data, XS_DATA, UC_PROT_READ | UC_PROT_WRITE, o->data) == UC_ERR_OK;
}

bool xs_oracle_map_slot(xs_oracle *o, uint64_t addr)
{
    uint8_t *page = o->data + XS_DATA;
    if (uc_mem_map_ptr(o->uc, addr, XS_SLOT_ROOM, UC_PROT_READ | UC_PROT_EXEC, page) != UC_ERR_OK)
        return false;
    o->slot = page;
    o->slot_at = addr;
    return true;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static void go_back(xs_oracle *o)
{
    uint64_t at = o->at;
    o->broken |= uc_reg_write(o->uc, o->ids[o->arch->pc], &at) != UC_ERR_OK;
}

static void stop(xs_oracle *o)
{
    o->stopped = true;
    uc_emu_stop(o->uc);
}

/* Ask what to do with an instruction that has ended. */
static bool report(xs_oracle *o, xs_end end)
{
    o->broken |= !read_registers(o);
    bool more = !o->broken && o->ended(o, end, o->arg);
    o->write_count = 0;
    o->writes_lost = false;
    o->before = true;
    return more;
}

static void on_code(uc_engine *uc, uint64_t addr, uint32_t size, void *context)
{
    xs_oracle *o = context;
    (void)uc, (void)size;
    if (o->before) { /* it is about to run */
        o->before = false;
        o->broken |= addr != o->at;
        return;
    }
    if (o->faulted) return; /* not yet stopped for it */
    if (!report(o, XS_END_LANDED))
        stop(o);
    else if (addr == o->at)
        o->before = false; /* landed on itself */
    else
        go_back(o);
}

static void on_write(uc_engine *uc, uc_mem_type type, uint64_t addr, int size, int64_t value, void *context)
{
    xs_oracle *o = context;
    bool writable;
    (void)uc, (void)type, (void)value;
    o->writes_lost |= o->write_count == XS_WRITES;
    if (o->write_count == XS_WRITES) return;
    xs_write *w = &o->writes[o->write_count++];
    *w = (xs_write){.addr = addr, .size = (uint32_t)size};
    const uint8_t *whole = xs_oracle_bytes(o, addr, (size_t)size, &writable);
    for (uint32_t i = 0; i < w->size && i < sizeof w->before; i++) {
        const uint8_t *at = whole ? whole + i : xs_oracle_bytes(o, addr + i, 1, &writable);
        if (at) w->before[i] = *at;
    }
}

static bool on_fault(uc_engine *uc, uc_mem_type type, uint64_t addr, int size, int64_t value, void *context)
{
    xs_oracle *o = context;
    (void)uc, (void)type, (void)value;
    o->faulted = true;
    o->fault = addr;
    o->fault_size = (uint32_t)size;
    return false;
}

/* With this hook Unicorn would go on behind the instruction. */
static void on_interrupt(uc_engine *uc, uint32_t number, void *context)
{
    xs_oracle *o = context;
    o->interrupt = (int)number;
    uc_emu_stop(uc);
}

/* ISO C has no cast from a function to void *. */
static bool add_hook(xs_oracle *o, int type, void (*callback)(void))
{
    uc_hook hook;
    void *address;
    memcpy(&address, &callback, sizeof callback);
    return uc_hook_add(o->uc, &hook, type, address, o, UINT64_C(1), UINT64_C(0)) == UC_ERR_OK;
}

static bool add_hooks(xs_oracle *o)
{
    return add_hook(o, UC_HOOK_CODE, (void (*)(void))on_code) &&
           add_hook(o, UC_HOOK_MEM_WRITE, (void (*)(void))on_write) &&
           add_hook(o, UC_HOOK_INTR, (void (*)(void))on_interrupt) &&
           add_hook(o, UC_HOOK_MEM_READ_INVALID | UC_HOOK_MEM_WRITE_INVALID, (void (*)(void))on_fault);
}

static const char *open_engine(xs_oracle *o, bool plain)
{
    if (uc_open(o->arch->uc, (uc_mode)o->arch->mode, &o->uc) != UC_ERR_OK) return "uc_open";
    if (o->arch->model >= 0 && uc_ctl_set_cpu_model(o->uc, o->arch->model) != UC_ERR_OK)
        return "uc_ctl_set_cpu_model";
    if (!map(o)) return "uc_mem_map_ptr";
    if (!o->arch->open(o->uc)) return "uc_reg_write";
    if (plain) return NULL;
    if (uc_ctl_exits_enable(o->uc) != UC_ERR_OK) return "uc_ctl_exits_enable";
    return add_hooks(o) ? NULL : "uc_hook_add";
}

/* ---- running --------------------------------------------------------------------------------- */

/* Unicorn has returned without being told to. */
static xs_end end_of(const xs_oracle *o)
{
    if (o->interrupt >= 0) return o->interrupt == o->arch->undefined ? XS_END_UNSUPPORTED : XS_END_EXCEPTION;
    switch (o->error) {
    case UC_ERR_OK: /* waits for an interrupt */
    case UC_ERR_FETCH_UNMAPPED:
    case UC_ERR_FETCH_PROT: return XS_END_LANDED;
    case UC_ERR_READ_UNMAPPED:
    case UC_ERR_READ_PROT: return XS_END_LOAD_FAULT;
    case UC_ERR_WRITE_UNMAPPED:
    case UC_ERR_WRITE_PROT: return XS_END_STORE_FAULT;
    default: return XS_END_EXCEPTION;
    }
}

static void begin(xs_oracle *o)
{
    o->write_count = 0;
    o->writes_lost = false;
    o->before = true;
    o->fault = 0;
    o->faulted = false;
    o->interrupt = -1;
}

static xs_oracle *running; /* for the signal handler */

static void on_abort(int number)
{
    (void)number;
    siglongjmp(running->crash, 1);
}

/* Engines in which Unicorn has given up in the middle of a translation: they cannot even be closed. */
typedef struct abandoned {
    uc_engine *uc;
    struct abandoned *next;
} abandoned;
static abandoned *all_abandoned;

static bool replace_engine(xs_oracle *o)
{
    abandoned *one = malloc(sizeof *one);
    if (!one) return false;
    *one = (abandoned){o->uc, all_abandoned};
    all_abandoned = one;
    const char *failed = open_engine(o, o->plain);
    return !failed && (!o->slot || xs_oracle_map_slot(o, o->slot_at)) && xs_oracle_set(o, &o->cpu);
}

/* emu_start that survives abort(). */
static bool start(xs_oracle *o)
{
    begin(o);
    if (sigsetjmp(o->crash, 0) == 0) {
        o->error = uc_emu_start(o->uc, o->at, 0, 0, 0);
        return true;
    }
    o->error = UC_ERR_INSN_INVALID;
    o->interrupt = o->arch->undefined;
    return replace_engine(o);
}

bool xs_oracle_run(xs_oracle *o, uint64_t at, xs_ended_fn *ended, void *arg)
{
    struct sigaction action = {.sa_handler = on_abort, .sa_flags = SA_NODEFER}, before;
    bool ok = true;
    o->at = at;
    o->ended = ended;
    o->arg = arg;
    o->stopped = o->broken = false;
    running = o;
    sigaction(SIGABRT, &action, &before);
    do
        ok = start(o);
    while (ok && !o->broken && !o->stopped && report(o, end_of(o)));
    sigaction(SIGABRT, &before, NULL);
    return ok && !o->broken;
}

xs_end xs_oracle_plain(xs_oracle *o, uint64_t at, const void *word, size_t size, const xs_any_cpu *cpu)
{
    begin(o);
    uc_mem_write(o->uc, at, word, size);
    xs_oracle_set(o, cpu);
    o->error = uc_emu_start(o->uc, at, at + size, 0, 1);
    read_registers(o);
    return end_of(o);
}

/* ---- life ------------------------------------------------------------------------------------ */

xs_oracle *xs_oracle_open(const xs_oracle_arch *arch, uint64_t code_at, uint64_t code_size, bool plain,
                          char *why, size_t size)
{
    xs_oracle *o = calloc(1, sizeof *o);
    const char *failed = "calloc";
    if (o) {
        o->arch = arch;
        for (unsigned i = 0; i < arch->count; i++)
            o->ids[i] = arch->regs[i].id;
        arch->reset(&o->cpu);
        o->code_at = code_at;
        o->code_size = code_size;
        o->plain = plain;
        failed = allocate(o) ? open_engine(o, plain) : "mmap";
    }
    if (!failed) return o;
    snprintf(why, size, "%s fails", failed);
    xs_oracle_close(o);
    return NULL;
}

void xs_oracle_close(xs_oracle *o)
{
    if (!o) return;
    if (o->uc) uc_close(o->uc);
    if (o->host) munmap(o->host, o->host_size);
    free(o);
}
