/* Carry out a probed instruction on saved registers, as a probe's handler does.
 *
 *     xs_simulator_new(decoder, &xs_arm64_arch, &sim, why, sizeof why);     names -> functions, once
 *     xs_decode(decoder, bytes, avail, &insn);                              a site, looked at once
 *     xs_site_prepare(sim, &insn, &site);
 *     xs_simulate(&site, &cpu, &bus, quirks, &fault);                       at every hit
 *
 * Handlers follow the architecture. Where a kernel's own function differs, the difference is a quirk:
 * named in the table, off unless asked for. Only xs_simulator_new allocates; the rest touches nothing but
 * its arguments, so that any number of threads and signal handlers may use one simulator. */
#ifndef XOLSIM_SIMULATOR_H
#define XOLSIM_SIMULATOR_H

#include "xolsim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory, as the simulated instruction sees it. Both callbacks move size bytes (1, 4, 8 or 16) from or to
 * addr, or refuse all of it: false means that nothing was read or written. An instruction asks for
 * everything it needs in one call of each. Addresses wrap at 2^64 (RV32: 2^32).
 *
 * window, when it is not NULL, is plain memory: at least 16 host bytes that are the program's from
 * window_addr on; both addresses are the same modulo 8. Aligned 4 and 8 bytes and pairs of aligned 8 that lie
 * in it as a whole are moved without a call, each register single-copy atomically (Arm ARM B2.2.1). Any other
 * access, one that begins or ends in the window too, is up to the callbacks, which know the window's bytes as
 * well. A store asks no one either: read-only memory is no window. */
typedef struct xs_bus {
    bool (*load)(void *context, uint64_t addr, void *bytes, size_t size);
    bool (*store)(void *context, uint64_t addr, const void *bytes, size_t size);
    void *context;
    uint8_t *window;
    uint64_t window_addr, window_size;
} xs_bus;

/* Why an instruction was not carried out. Any status but OK leaves cpu and memory as they were. */
typedef enum xs_sim_status {
    XS_SIM_OK = 0,
    XS_SIM_LOAD_FAULT,  /* the bus refused a load */
    XS_SIM_STORE_FAULT, /* the bus refused a store */
    XS_SIM_SP,          /* sp is not a multiple of 16 and its check is on (SCTLR_ELx.SA0) */
    XS_SIM_GCS,         /* the return address is not the one on the guarded control stack */
    XS_SIM_BTI,         /* a branch target without a matching landing pad */
    XS_SIM_PC,          /* a branch target that no instruction can be at */
    XS_SIM_STUCK,       /* a quirk: the kernel's handler gives up, the probe is hit again for ever */
    XS_SIM_NO_HANDLER,  /* not an instruction that is simulated */
    XS_SIM_COUNT
} xs_sim_status;
const char *xs_sim_status_name(xs_sim_status status); /* "ok", "load-fault", ...; a static string */

/* Where it failed. All zero with XS_SIM_OK. */
typedef struct xs_fault {
    uint64_t addr; /* of the access that was refused, the sp, or the branch target */
    uint32_t size; /* bytes; 0: no access to memory */
} xs_fault;

/* What a handler may use. */
typedef struct xs_env {
    const xs_bus *bus;
    uint32_t quirks; /* bits of the architecture's quirk list */
    xs_fault *fault;
} xs_env;

/* Carry out one instruction. op[] is indexed by the architecture's operand list; a handler reads only
 * the operands it declares. It checks and reads everything before it changes anything. */
typedef xs_sim_status xs_handler_fn(const int64_t *op, void *cpu, const xs_env *env);

typedef struct xs_handler {
    const char *name; /* as the table spells it */
    xs_handler_fn *run;
    uint32_t needs; /* operands it reads, a bit for each */
    bool lands;     /* may stand where a guarded branch arrives: `before` is not asked */
} xs_handler;

/* An architecture, as the simulator sees it: names and functions. */
typedef struct xs_sim_arch {
    const char *const *operands; /* NULL-terminated; at most XS_SIM_OPERANDS */
    const char *const *quirks;   /* NULL-terminated; at most 32 */
    const xs_handler *handlers;  /* name NULL: the end */
    xs_sim_status (*before)(const void *cpu, const xs_env *env); /* may it begin? NULL: always */
    size_t gate; /* offset of a bool of cpu: while it is off, `before` need not be asked */
} xs_sim_arch;

enum { XS_SIM_OPERANDS = 16 };

/* The handlers of one decoder's entries. */
typedef struct xs_simulator xs_simulator;

/* Find the handler of every entry that simulates. An unknown function or an operand that a rule does
 * not draw although its handler reads it is XS_E_SYNTAX, and why (size bytes) says which line. Free with
 * xs_simulator_free; the decoder must outlive it. */
xs_status xs_simulator_new(const xs_decoder *decoder, const xs_sim_arch *arch, xs_simulator **out, char *why,
                           size_t size);
void xs_simulator_free(xs_simulator *simulator); /* NULL is allowed */

/* The bit of a quirk of this architecture, 0 if there is none of that name. */
uint32_t xs_quirk_bit(const xs_sim_arch *arch, const char *name);

/* A site made ready: function and operands. Copyable, owns nothing. */
typedef struct xs_prepared {
    xs_handler_fn *run;                                          /* NULL: not simulated */
    xs_sim_status (*before)(const void *cpu, const xs_env *env); /* NULL: nothing to ask */
    size_t gate;                                                 /* as in xs_sim_arch */
    int64_t op[XS_SIM_OPERANDS];
} xs_prepared;

void xs_site_prepare(const xs_simulator *simulator, const xs_insn *insn, xs_prepared *site);

/* Carry the instruction out on cpu (xs_arm64_cpu or xs_riscv_cpu, which holds its address in pc).
 * fault may not be NULL. */
static inline xs_sim_status xs_simulate(const xs_prepared *site, void *cpu, const xs_bus *bus,
                                        uint32_t quirks, xs_fault *fault)
{
    *fault = (xs_fault){0};
    const xs_env env = {bus, quirks, fault};
    xs_sim_status status = site->run ? XS_SIM_OK : XS_SIM_NO_HANDLER;
    if (status == XS_SIM_OK && site->before && *((const bool *)cpu + site->gate))
        status = site->before(cpu, &env);
    return status == XS_SIM_OK ? site->run(site->op, cpu, &env) : status;
}

/* ---- for handlers ------------------------------------------------------------------------------- */

static inline xs_sim_status xs_env_fail(const xs_env *env, xs_sim_status status, uint64_t addr)
{
    *env->fault = (xs_fault){addr, 0};
    return status;
}

/* xs_env_load and so on by the callbacks alone: cold, because a bus that has no window is slow anyway. */
__attribute__((cold)) xs_sim_status xs_bus_load(const xs_env *env, uint64_t addr, uint64_t *value,
                                                uint32_t size);
__attribute__((cold)) xs_sim_status xs_bus_store(const xs_env *env, uint64_t addr, uint64_t value,
                                                 uint32_t size);
__attribute__((cold)) xs_sim_status xs_bus_store_pair(const xs_env *env, uint64_t addr, uint64_t first,
                                                      uint64_t second);

/* Host bytes of an access that the window serves; NULL: any other, and all on a host of the other byte order.
 */
static inline void *xs_window_at(const xs_bus *bus, uint64_t addr, uint32_t size, uint32_t align)
{
    uint64_t offset = addr - bus->window_addr;
    bool inside = bus->window && offset <= bus->window_size - size && (addr & (align - 1)) == 0;
    return inside && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? bus->window + offset : NULL;
}

typedef uint64_t __attribute__((may_alias)) xs_word64;
typedef uint32_t __attribute__((may_alias)) xs_word32;

/* An access of size bytes (up to 8; a pair: 16) in little-endian order, with the fault noted when it is
 * refused; *value is zero-extended, and unchanged then. */
static inline xs_sim_status xs_env_load(const xs_env *env, uint64_t addr, uint64_t *value, uint32_t size)
{
    const void *at = size >= 4 ? xs_window_at(env->bus, addr, size, size) : NULL;
    if (!at) return xs_bus_load(env, addr, value, size);
    *value = size == 8 ? __atomic_load_n((const xs_word64 *)at, __ATOMIC_RELAXED)
                       : __atomic_load_n((const xs_word32 *)at, __ATOMIC_RELAXED);
    return XS_SIM_OK;
}

static inline xs_sim_status xs_env_store(const xs_env *env, uint64_t addr, uint64_t value, uint32_t size)
{
    void *at = size == 8 ? xs_window_at(env->bus, addr, size, size) : NULL;
    if (!at) return xs_bus_store(env, addr, value, size);
    __atomic_store_n((xs_word64 *)at, value, __ATOMIC_RELAXED);
    return XS_SIM_OK;
}

static inline xs_sim_status xs_env_store_pair(const xs_env *env, uint64_t addr, uint64_t first,
                                              uint64_t second)
{
    xs_word64 *at = (xs_word64 *)xs_window_at(env->bus, addr, 16, 8);
    if (!at) return xs_bus_store_pair(env, addr, first, second);
    __atomic_store_n(&at[0], first, __ATOMIC_RELAXED);
    __atomic_store_n(&at[1], second, __ATOMIC_RELAXED);
    return XS_SIM_OK;
}

/* A bus over plain memory: host bytes that the program sees at addr. Aligned 8-byte halves are moved
 * single-copy atomically (__atomic, relaxed), as an aligned STP or LDP does (Arm ARM B2.2.1). It is a window
 * as a whole, if it may be: changes of *memory need a new bus. */
typedef struct xs_plain_memory {
    uint8_t *bytes;
    uint64_t addr, size;
    bool read_only;
} xs_plain_memory;
xs_bus xs_plain_bus(xs_plain_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
