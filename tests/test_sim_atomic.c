/* The plain bus: an aligned push is single-copy atomic for each register, as an aligned STP is; whoever reads
 * beside it sees the old value or the new one, never a mixture. */
#include <pthread.h>
#include <string.h>

#include "test_sim.h"

enum { ROUNDS = 2000000 };

typedef struct shared {
    _Alignas(16) uint64_t word[2];
    bool stop;
    unsigned long torn;
} shared;

/* Every value the pusher writes has two equal halves. */
static void *reader(void *arg)
{
    shared *s = arg;
    while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE))
        for (unsigned i = 0; i < 2; i++) {
            uint64_t v = __atomic_load_n(&s->word[i], __ATOMIC_RELAXED);
            s->torn += (uint32_t)v != v >> 32;
        }
    return NULL;
}

static void push_often(shared *s, xs_bus *bus, const xs_prepared *site)
{
    xs_arm64_cpu cpu = {0};
    xs_fault fault;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        cpu.sp = 0x1010;
        cpu.x[29] = (uint64_t)i << 32 | i;
        cpu.x[30] = ~cpu.x[29];
        ck_assert_int_eq(xs_simulate(site, &cpu, bus, 0, &fault), XS_SIM_OK);
    }
    __atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
}

/* In the window, and by the callbacks. */
START_TEST(push_is_atomic_per_register)
{
    const sim_machine *m = machine_of("arm64/stp-2024");
    static shared s;
    pthread_t thread;
    xs_plain_memory memory = {(uint8_t *)s.word, 0x1000, sizeof s.word, false};
    xs_bus bus = xs_plain_bus(&memory);
    ck_assert(bus.window != NULL);
    if (_i) bus.window = NULL;
    xs_prepared site;
    xs_insn push = sim_decode(m, 0xa9bf7bfd);
    xs_site_prepare(m->simulator, &push, &site);
    memset(&s, 0, sizeof s);
    ck_assert_int_eq(pthread_create(&thread, NULL, reader, &s), 0);
    push_often(&s, &bus, &site);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(s.torn, 0);
    ck_assert_uint_eq(s.word[0], (uint64_t)(ROUNDS - 1) << 32 | (ROUNDS - 1));
    ck_assert_uint_eq(s.word[1], ~s.word[0]);
}
END_TEST

/* Bounds of plain memory, at every size, aligned or not, and across the end of the address space. */
START_TEST(plain_memory)
{
    static const size_t sizes[] = {1, 4, 8, 16};
    const uint64_t bases[] = {0, 0x1000, UINT64_MAX - 31, UINT64_MAX - 15};
    for (size_t b = 0; b < 4; b++)
        for (size_t z = 0; z < 4; z++)
            for (uint64_t at = 0; at < 40; at++) {
                uint8_t bytes[32], was[32], moved[16] = {0}, in[16];
                for (unsigned i = 0; i < 32; i++)
                    bytes[i] = was[i] = (uint8_t)(i + 1);
                memset(in, 0xa5, sizeof in);
                xs_plain_memory memory = {bytes, bases[b], sizeof bytes, false};
                xs_bus bus = xs_plain_bus(&memory);
                bool inside = at + sizes[z] <= 32;
                ck_assert_int_eq(bus.load(bus.context, bases[b] + at, moved, sizes[z]), inside);
                if (inside) ck_assert_mem_eq(moved, was + at, sizes[z]);
                memory.read_only = true;
                ck_assert(!bus.store(bus.context, bases[b] + at, in, sizes[z]));
                ck_assert_mem_eq(bytes, was, 32);
                memory.read_only = false;
                ck_assert_int_eq(bus.store(bus.context, bases[b] + at, in, sizes[z]), inside);
                if (inside) memcpy(was + at, in, sizes[z]);
                ck_assert_mem_eq(bytes, was, 32);
            }
    xs_plain_memory memory = {(uint8_t[4]){0}, 0x1000, 4, false};
    xs_bus bus = xs_plain_bus(&memory);
    uint8_t byte = 0;
    ck_assert(!bus.load(bus.context, 0xfff, &byte, 1));
    ck_assert(!bus.load(bus.context, UINT64_MAX, &byte, 1));
}
END_TEST

/* ---- the window --------------------------------------------------------------------------------------- */

/* 64 bytes of the program's memory, of which the middle 32 are a window; how often the callbacks are asked.
 */
typedef struct framed {
    _Alignas(16) uint8_t bytes[64];
    xs_plain_memory memory;
    xs_bus inner;
    unsigned calls;
} framed;

static bool framed_load(void *context, uint64_t addr, void *bytes, size_t size)
{
    framed *f = context;
    f->calls++;
    return f->inner.load(f->inner.context, addr, bytes, size);
}

static bool framed_store(void *context, uint64_t addr, const void *bytes, size_t size)
{
    framed *f = context;
    f->calls++;
    return f->inner.store(f->inner.context, addr, bytes, size);
}

enum { FRAME = 16, WINDOW = 32 };

static xs_bus framed_bus(framed *f, uint64_t window_addr, bool windowed)
{
    for (unsigned i = 0; i < sizeof f->bytes; i++)
        f->bytes[i] = (uint8_t)(i + 1);
    f->calls = 0;
    f->memory = (xs_plain_memory){f->bytes, window_addr - FRAME, sizeof f->bytes, false};
    f->inner = xs_plain_bus(&f->memory);
    return (xs_bus){framed_load, framed_store, f, windowed ? f->bytes + FRAME : NULL, window_addr, WINDOW};
}

static xs_sim_status access(const xs_env *env, unsigned what, uint64_t addr, uint64_t *value)
{
    static const uint32_t sizes[] = {1, 4, 8, 1, 4, 8};
    const uint64_t new_value = UINT64_C(0xf1e2d3c4b5a69788);
    if (what == 6) return xs_env_store_pair(env, addr, new_value, ~new_value);
    return what < 3 ? xs_env_load(env, addr, value, sizes[what])
                    : xs_env_store(env, addr, new_value, sizes[what]);
}

/* With the window and without: the same answer, value, fault and bytes. Without a call if and only if all of
 * an aligned access is inside. */
static void check_window(uint64_t window_addr, uint64_t offset, unsigned what)
{
    static const uint32_t size[] = {1, 4, 8, 1, 4, 8, 16}, align[] = {0, 4, 8, 0, 0, 8, 8};
    static framed with, without;
    xs_fault faults[2] = {{0}};
    uint64_t values[2] = {7, 7}, addr = window_addr + offset;
    xs_bus buses[2] = {framed_bus(&with, window_addr, true), framed_bus(&without, window_addr, false)};
    xs_sim_status status[2];
    for (unsigned i = 0; i < 2; i++) {
        const xs_env env = {&buses[i], 0, &faults[i]};
        status[i] = access(&env, what, addr, &values[i]);
    }
    bool inside = offset < WINDOW && offset + size[what] <= WINDOW,
         direct = inside && align[what] && offset % align[what] == 0;
    if (status[0] != status[1] || values[0] != values[1] ||
        memcmp(with.bytes, without.bytes, sizeof with.bytes) || faults[0].addr != faults[1].addr ||
        faults[0].size != faults[1].size)
        wrong("access %u at window %llx + %lld: differs", what, (unsigned long long)window_addr,
              (long long)offset);
    if (with.calls != !direct || without.calls != 1)
        wrong("access %u at window %llx + %lld: %u calls", what, (unsigned long long)window_addr,
              (long long)offset, with.calls);
}

/* Edges, straddling them, beyond what is mapped, and a window that goes on at address 0. */
START_TEST(window)
{
    const uint64_t bases[] = {0, 0x1000, FRAME, UINT64_MAX - WINDOW + 1, UINT64_MAX - 15};
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++)
        for (uint64_t i = 0; i < WINDOW + 3 * FRAME; i++)
            for (unsigned what = 0; what < 7; what++)
                check_window(bases[b], i - FRAME - 4, what);
    all_right();
}
END_TEST

/* Plain memory that cannot be a window: read-only, too small, not aligned as the program sees it. */
START_TEST(no_window)
{
    static _Alignas(16) uint8_t bytes[32];
    xs_plain_memory plain = {bytes, 0x1000, sizeof bytes, false}, read_only = plain, small = plain,
                    odd = plain;
    read_only.read_only = true;
    small.size = 15;
    odd.addr = 0x1004;
    ck_assert_ptr_eq(xs_plain_bus(&plain).window, bytes);
    ck_assert_ptr_eq(xs_plain_bus(&read_only).window, NULL);
    ck_assert_ptr_eq(xs_plain_bus(&small).window, NULL);
    ck_assert_ptr_eq(xs_plain_bus(&odd).window, NULL);
}
END_TEST

void add_sim_atomic(Suite *s)
{
    TCase *t = tcase_create("plain bus");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, push_is_atomic_per_register, 0, 2);
    tcase_add_test(t, window);
    tcase_add_test(t, no_window);
    tcase_add_test(t, plain_memory);
    suite_add_tcase(s, t);
}
