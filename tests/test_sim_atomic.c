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

START_TEST(push_is_atomic_per_register)
{
    const sim_machine *m = machine_of("arm64/stp-2024");
    static shared s;
    pthread_t thread;
    xs_plain_memory memory = {(uint8_t *)s.word, 0x1000, sizeof s.word, false};
    xs_bus bus = xs_plain_bus(&memory);
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

void add_sim_atomic(Suite *s)
{
    TCase *t = tcase_create("plain bus");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, push_is_atomic_per_register);
    tcase_add_test(t, plain_memory);
    suite_add_tcase(s, t);
}
