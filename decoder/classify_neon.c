/* 16 words at a time by the table look-ups of an AArch64 host. */
#include "classifier.h"

#if defined(__aarch64__) && defined(__ARM_NEON)
#include <arm_neon.h>

static bool usable(void)
{
    return true;
}

/* Four look-ups of 64 bytes: an index outside the table leaves what is there. */
static inline uint8x16_t look_up(const uint8x16x4_t table[4], uint8x16_t i)
{
    uint8x16_t found = vqtbl4q_u8(table[0], i);
    for (uint8_t part = 1; part < 4; part++)
        found = vqtbx4q_u8(found, table[part], vsubq_u8(i, vdupq_n_u8((uint8_t)(64 * part))));
    return found;
}

static inline uint8_t close_open(const xs_classifier *c, uint32_t word)
{
    uint8_t code = c->f.half[(uint16_t)(word >> (8 * c->f.half_at))];
    return code < CODE_OPEN ? code : xs_code_by_rules(c, word);
}

/* The byte that decides most, for 16 words; then the words that it leaves open. */
static void words(const xs_classifier *c, const uint8_t *text, size_t count, uint8_t *classes)
{
    enum { QUEUE = 1024 };
    uint8x16x4_t table[4];
    uint16_t open[QUEUE];
    for (size_t i = 0; i < 4; i++)
        table[i] = vld1q_u8_x4(c->f.lead + 64 * i);
    for (size_t from = 0; from < count; from += QUEUE, text += 4 * QUEUE, classes += QUEUE) {
        size_t end = count - from < QUEUE ? count - from : QUEUE, opened = 0;
        for (size_t i = 0; i < end; i += 16) {
            uint8x16x4_t bytes = vld4q_u8(text + 4 * i);
            vst1q_u8(classes + i, look_up(table, bytes.val[c->f.first.at[0]]));
        }
        for (size_t i = 0; i < end; i++) {
            open[opened] = (uint16_t)i;
            opened += classes[i] >> 7;
        }
        for (size_t i = 0; i < opened; i++)
            classes[open[i]] = close_open(c, xs_load32(text + 4 * open[i]));
    }
}

/* Half of the parcels would be looked up in vain: the scalar path does as well. */
#define parcels xs_parcels_scalar

#else
static bool usable(void)
{
    return false;
}
#define words   NULL
#define parcels NULL
#endif

const classify_path xs_path_neon = {"neon", usable, words, parcels};
