/* kernel --scan: how a kernel looks back from a kprobe for an exclusive load, beside how the target does. */
#include <inttypes.h>
#include <string.h>

#include "generate.h"
#include "kernel.h"

enum { PLACES = 2000, WORDS = XS_KERNEL_BEFORE, FARTHEST = 40 };

typedef struct scan {
    const referee *r;
    xs_kernel_decoder d;
    view view;
    identity id;
    xs_rng rng;
} scan;

/* A probe, and what stands before it. */
typedef struct probe {
    uint32_t word;
    xs_kernel_place place;
} probe;

/* What became of the places of one scan rule: refused by the kernel. */
typedef struct tally {
    uint64_t places, refused, differences;
    char first[300];
} tally;

/* ---- places --------------------------------------------------------------------------------------- */

static bool one_in(scan *s, unsigned n)
{
    return xs_rng_below(&s->rng, n) == 0;
}

/* A word that a scan passes over, or so it should. */
static uint32_t other_word(scan *s)
{
    size_t entries;
    uint32_t word;
    xs_decoder_entries(s->view.decoder, &entries);
    xs_generate_word(s->view.decoder, xs_rng_below(&s->rng, (unsigned)entries), &s->rng, &word);
    return word;
}

/* A word of a scan rule, or one that a single bit keeps from being one. */
static uint32_t scan_word(scan *s, const xs_rule *rule)
{
    uint32_t word = xs_generate_from_rule(s->view.table, rule, &s->rng);
    return one_in(s, 4) ? word ^ UINT32_C(1) << xs_rng_below(&s->rng, 32) : word;
}

static const xs_rule *any_scan_rule(scan *s)
{
    size_t count, at;
    const xs_rule *rules = xs_table_rules(s->view.table, &count);
    do
        at = xs_rng_below(&s->rng, (unsigned)count);
    while (!rules[at].scan);
    return &rules[at];
}

/* Where the function begins: at the word `back` before the probe, a word after that, or anywhere. */
static uint64_t some_offset(scan *s, unsigned back)
{
    switch (xs_rng_below(&s->rng, 4)) {
    case 0: return 4 * (uint64_t)back;
    case 1: return 4 * (uint64_t)(back - 1);
    case 2: return 4 * (uint64_t)xs_rng_below(&s->rng, FARTHEST + 1);
    default: return 4 * (uint64_t)xs_rng_below(&s->rng, 1 << 20);
    }
}

/* The rule's word somewhere before the probe; nearer to it only others, or (half of the time) any. */
static void make_probe(scan *s, const xs_rule *rule, probe *p)
{
    unsigned back = 1 + xs_rng_below(&s->rng, FARTHEST);
    bool quiet = one_in(s, 2);
    *p = (probe){.word = other_word(s), .place = {.found = !one_in(s, 16), .offset = some_offset(s, back)}};
    for (unsigned i = 0; i < WORDS; i++) {
        bool near = i > WORDS - back;
        bool exclusive = (!near || !quiet) && one_in(s, near ? 16 : 2);
        p->place.before[i] = exclusive ? scan_word(s, any_scan_rule(s)) : other_word(s);
    }
    p->place.before[WORDS - back] = scan_word(s, rule);
}

/* ---- one comparison ------------------------------------------------------------------------------- */

static bool target_refuses(const scan *s, const probe *p)
{
    uint8_t bytes[4 * (WORDS + 1)];
    const size_t at = sizeof bytes - 4;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((i < at ? p->place.before[i / 4] : p->word) >> 8 * (i % 4));
    size_t function = p->place.offset < at ? at - (size_t)p->place.offset : 0;
    const xs_text text = {
        .bytes = bytes, .size = sizeof bytes, .function = p->place.found ? function : XS_NO_FUNCTION};
    return xs_site_in_exclusive(s->view.decoder, &text, at);
}

/* What is compared is the search alone: what the place changes of the kernel's answer to the word. */
typedef struct outcome {
    bool crashed, kernel, target; /* it, or the target, refuses for the place */
    bool differs;                 /* in that, or the place makes another class of it */
} outcome;

static outcome compare(const scan *s, const probe *p)
{
    xs_kernel_verdict alone, there;
    outcome o = {.target = target_refuses(s, p)};
    if (!xs_kernel_classify(&s->d, p->word, &alone) ||
        !xs_kernel_classify_at(&s->d, p->word, &p->place, &there))
        return (outcome){.crashed = true};
    bool same = there.cls == alone.cls && there.handler == alone.handler;
    if (alone.cls == XS_REJECT) o.target = false; /* refused anyway */
    o.kernel = !same && there.cls == XS_REJECT;
    o.differs = o.kernel != o.target || (!same && !o.kernel);
    return o;
}

/* Without the words before it that do not matter for the difference. */
static void shrink(const scan *s, probe *p)
{
    for (unsigned i = 0; i < WORDS; i++) {
        uint32_t word = p->place.before[i];
        p->place.before[i] = 0;
        if (!compare(s, p).differs) p->place.before[i] = word;
    }
}

static void note_difference(const scan *s, probe *p, tally *t)
{
    shrink(s, p);
    FILE *f = fmemopen(t->first, sizeof t->first, "w");
    if (!f) return;
    fprintf(f, "0x%08" PRIx32 " ", p->word);
    if (p->place.found)
        fprintf(f, "%" PRIu64 " words into its function", p->place.offset / 4);
    else
        fputs("in no function", f);
    for (unsigned i = WORDS; i-- > 0;)
        if (p->place.before[i]) fprintf(f, ", %u before it 0x%08" PRIx32, WORDS - i, p->place.before[i]);
    outcome o = compare(s, p);
    fprintf(f, ": %s by the kernel, %s by %s", o.kernel ? "refused" : "allowed",
            o.target ? "refused" : "allowed", s->view.name);
    fclose(f);
}

/* ---- one rule ------------------------------------------------------------------------------------- */

static int check_rule(scan *s, const xs_rule *rule, tally *t)
{
    for (; t->places < PLACES; t->places++) {
        probe p;
        make_probe(s, rule, &p);
        outcome o = compare(s, &p);
        if (o.crashed) return referee_crashed(s->r, &s->d, p.word, s->d.name);
        t->refused += o.kernel;
        if (o.differs && t->differences++ == 0) note_difference(s, &p, t);
    }
    return t->differences ? STATUS_FOUND : STATUS_OK;
}

/* ---- output --------------------------------------------------------------------------------------- */

static const column columns[] = {{"rule", "RULE", 14},
                                 {"places", "PLACES", 8},
                                 {"refused", "REFUSED", 8},
                                 {"differences", "DIFFERENCES", 11},
                                 {"first", "FIRST", 0}};

static void print_rule(const xs_rule *rule, const tally *t, output *out)
{
    json_object *row = json_object_new_object();
    json_object_object_add(row, "rule", json_object_new_string(rule->name));
    json_object_object_add(row, "places", json_object_new_int64((int64_t)t->places));
    json_object_object_add(row, "refused", json_object_new_int64((int64_t)t->refused));
    json_object_object_add(row, "differences", json_object_new_int64((int64_t)t->differences));
    json_object_object_add(row, "first", json_name(t->first));
    output_row(out, "scan", row);
}

/* Every scan rule of the table, whatever target it is for: what one kernel looks for, another passes over. */
static int check_all(void *arg, output *out)
{
    scan *s = arg;
    size_t count;
    int status = STATUS_OK;
    const xs_rule *rules = xs_table_rules(s->view.table, &count);
    for (size_t i = 0; i < count && status < STATUS_USAGE; i++) {
        tally t = {0};
        if (!rules[i].scan) continue;
        status = worse(status, check_rule(s, &rules[i], &t));
        print_rule(&rules[i], &t, out);
    }
    return status;
}

static int scan_all(scan *s)
{
    size_t count;
    xs_decoder_scan_entries(s->view.decoder, &count);
    if (!count)
        return complain(STATUS_USAGE, "--scan: %s looks back for nothing; a kprobe target does",
                        s->view.name);
    return referee_list(s->r, &s->view, &s->id, "scans", columns, sizeof columns / sizeof *columns, check_all,
                        s);
}

int kernel_scan(const referee *r)
{
    scan s = {.r = r, .rng = xs_rng_new(r->seed, "scan", 0)};
    int status = referee_open(r, "kprobe", false, &s.d);
    if (status == STATUS_OK && !s.d.lookup)
        status = complain(STATUS_INPUT, "%s: %s looks at no other instruction: nothing to scan", r->path,
                          s.d.name);
    if (status == STATUS_OK) status = referee_target(r, &s.d, &s.id, &s.view);
    if (status == STATUS_OK) status = scan_all(&s);
    view_close(&s.view);
    identity_close(&s.id);
    xs_kernel_close(s.d.k);
    return status;
}
