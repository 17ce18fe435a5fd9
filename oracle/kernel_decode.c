/* The kernel's decode function: which one, where it says the handler, and what it says to one word. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel_internal.h"

/* Parts of the room. Code that looks back from the word sees zeros. */
enum { STRUCTURE_AT = 0, STRUCTURE_SIZE = 1024, PATTERN = 0xa5 };

static const char HANDLERS[] = "simulate_";

/* ---- which ------------------------------------------------------------------------------------------- */

static const struct {
    xs_image_arch arch;
    const char *mode, *function;
    bool by_address;
} functions[] = {
    {XS_IMAGE_ARM64, "uprobe", "arm_probe_decode_insn", false},
    {XS_IMAGE_ARM64, "kprobe", "arm_kprobe_decode_insn", true},
    {XS_IMAGE_RISCV64, "uprobe", "riscv_probe_decode_insn", true},
    {XS_IMAGE_RISCV64, "kprobe", "riscv_probe_decode_insn", true},
};

static bool find_function(const xs_kernel_image *image, const char *mode, xs_kernel_decoder *d, char *why,
                          size_t size)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i].arch != image->arch || strcmp(functions[i].mode, mode) != 0) continue;
        d->mode = functions[i].mode;
        d->name = functions[i].function;
        d->by_address = functions[i].by_address;
        d->function = xs_kernel_image_find(image, d->name);
        if (d->function) return true;
        snprintf(why, size, "no symbol %s: no kernel, inlined there, or built without %ss", d->name, mode);
        return false;
    }
    snprintf(why, size, "unknown mode '%s': uprobe or kprobe", mode);
    return false;
}

/* ---- one word ---------------------------------------------------------------------------------------- */

static bool ask(const xs_kernel_decoder *d, uint32_t word, uint64_t *answer)
{
    uint64_t room;
    uint8_t *bytes = xs_kernel_room(d->k, &room);
    kernel_put(bytes + XS_KERNEL_WORD_AT, word, 4);
    uint64_t first = d->by_address ? room + XS_KERNEL_WORD_AT : word;
    if (!xs_kernel_call(d->k, d->function, (uint64_t[XS_KERNEL_ARGS]){first, room + STRUCTURE_AT}, answer))
        return false;
    *answer = (uint32_t)*answer;
    return true;
}

/* enum probe_insn: INSN_REJECTED, INSN_GOOD_NO_SLOT, INSN_GOOD. */
bool kernel_verdict(const xs_kernel_decoder *d, uint32_t answer, uint64_t handler, xs_kernel_verdict *verdict)
{
    static const xs_class classes[] = {XS_REJECT, XS_SIMULATE, XS_SLOT};
    *verdict = (xs_kernel_verdict){XS_REJECT, 0};
    if (answer >= sizeof classes / sizeof *classes)
        return kernel_crash(d->k, "answers none of the three classes", d->function, 0);
    verdict->cls = classes[answer];
    if (verdict->cls == XS_SIMULATE) verdict->handler = handler;
    return true;
}

bool xs_kernel_classify(const xs_kernel_decoder *d, uint32_t word, xs_kernel_verdict *verdict)
{
    uint64_t answer, room;
    uint8_t *structure = xs_kernel_room(d->k, &room) + STRUCTURE_AT;
    *verdict = (xs_kernel_verdict){XS_REJECT, 0};
    memset(structure, 0, STRUCTURE_SIZE);
    return ask(d, word, &answer) &&
           kernel_verdict(d, (uint32_t)answer, kernel_address_at(structure + d->handler_at), verdict);
}

/* ---- where the handler is said ----------------------------------------------------------------------- */

static bool is_handler(const xs_kernel_image *image, uint64_t addr)
{
    const xs_kernel_symbol *s = xs_kernel_image_at(image, addr, HANDLERS);
    return s && s->addr == addr && strncmp(s->name, HANDLERS, sizeof HANDLERS - 1) == 0;
}

/* Places in the structure, in units of 8 bytes, that hold a handler's address now and did not before. */
static void look(const xs_kernel_decoder *d, const uint8_t *structure, bool possible[STRUCTURE_SIZE / 8])
{
    for (size_t i = 0; i < STRUCTURE_SIZE / 8; i++)
        possible[i] = possible[i] && is_handler(d->k->image, kernel_address_at(structure + 8 * i));
}

/* A word that some target simulates is given to the kernel. 1: it simulates it, 0: not, -1: crashed. */
static int try_word(const xs_kernel_decoder *d, uint32_t word, bool possible[STRUCTURE_SIZE / 8])
{
    uint64_t answer, room;
    uint8_t *structure = xs_kernel_room(d->k, &room) + STRUCTURE_AT;
    xs_kernel_verdict verdict;
    memset(structure, PATTERN, STRUCTURE_SIZE);
    if (!ask(d, word, &answer) || !kernel_verdict(d, (uint32_t)answer, 0, &verdict)) return -1;
    if (verdict.cls != XS_SIMULATE) return 0;
    look(d, structure, possible);
    return 1;
}

static bool may_simulate(const xs_table *table, const xs_rule *rule)
{
    const xs_decision *decisions = xs_table_decisions(table, rule);
    for (size_t i = 0; i < rule->decision_count; i++)
        if (!rule->scan && decisions[i].cls == XS_SIMULATE) return true;
    return false;
}

static bool find_handler(xs_kernel_decoder *d, const xs_table *table, char *why, size_t size)
{
    size_t rules;
    unsigned simulated = 0;
    bool possible[STRUCTURE_SIZE / 8];
    const xs_rule *rule = xs_table_rules(table, &rules);
    memset(possible, true, sizeof possible);
    for (size_t i = 0; i < rules; i++) {
        int tried = may_simulate(table, &rule[i]) ? try_word(d, rule[i].value, possible) : 0;
        if (tried < 0) {
            char text[200];
            xs_kernel_crash_text(&d->k->crash, text, sizeof text);
            snprintf(why, size, "%s, given the word 0x%08" PRIx32 ", crashes: %s", d->name, rule[i].value,
                     text);
            return false;
        }
        simulated += (unsigned)tried;
    }
    for (d->handler_at = 0; d->handler_at < STRUCTURE_SIZE && !possible[d->handler_at / 8];)
        d->handler_at += 8;
    if (simulated && d->handler_at < STRUCTURE_SIZE) return true;
    snprintf(why, size,
             simulated ? "%s writes no address of a %s* symbol to its structure"
                       : "%s simulates nothing%s: no probe decoder",
             d->name, simulated ? HANDLERS : "");
    return false;
}

/* A kprobe's decoder asks for the symbol before the word, to look back for an exclusive load: there is none,
 * so that the answer is about the word alone. */
static bool no_symbols(xs_kernel *k, xs_kernel_decoder *d, char *why, size_t size)
{
    static const char lookup[] = "kallsyms_lookup_size_offset";
    if (k->image->arch != XS_IMAGE_ARM64 || strcmp(d->mode, "kprobe") != 0) return true;
    d->lookup = xs_kernel_image_find(k->image, lookup);
    if (d->lookup && xs_kernel_answer(k, d->lookup, 0, (const uint64_t[]){0, 0})) return true;
    snprintf(why, size, "no symbol %s: %s cannot be called without it", lookup, d->name);
    return false;
}

/* A function of which the place is no more than the beginning. */
static bool lay(const xs_kernel_decoder *d, const xs_kernel_place *place)
{
    uint64_t room;
    uint8_t *bytes = xs_kernel_room(d->k, &room) + XS_KERNEL_WORD_AT - sizeof place->before;
    kernel_put_words(bytes, place->before, XS_KERNEL_BEFORE);
    return xs_kernel_answer(d->k, d->lookup, place->found,
                            (const uint64_t[]){place->offset + sizeof place->before, place->offset});
}

bool xs_kernel_classify_at(const xs_kernel_decoder *d, uint32_t word, const xs_kernel_place *place,
                           xs_kernel_verdict *verdict)
{
    static const xs_kernel_place nowhere;
    *verdict = (xs_kernel_verdict){XS_REJECT, 0};
    if (!d->lookup) return false;
    bool ok = lay(d, place) && xs_kernel_classify(d, word, verdict);
    return lay(d, &nowhere) && ok;
}

bool xs_kernel_decoder_open(xs_kernel *k, const xs_table *table, const char *mode, xs_kernel_decoder *out,
                            char *why, size_t size)
{
    *out = (xs_kernel_decoder){.k = k};
    return find_function(k->image, mode, out, why, size) && no_symbols(k, out, why, size) &&
           find_handler(out, table, why, size);
}

const char *xs_kernel_handler_name(const xs_kernel_decoder *d, uint64_t handler, char *buf, size_t size)
{
    const xs_kernel_symbol *s = handler ? xs_kernel_image_at(d->k->image, handler, HANDLERS) : NULL;
    if (!handler) return "-";
    if (!s)
        snprintf(buf, size, "0x%" PRIx64, handler);
    else if (s->addr != handler)
        snprintf(buf, size, "%s+0x%" PRIx64, s->name, handler - s->addr);
    else /* without what link-time optimisation and control-flow integrity add */
        snprintf(buf, size, "%.*s", (int)strcspn(s->name, "."), s->name);
    return buf;
}
