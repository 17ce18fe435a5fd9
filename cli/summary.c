/* classify: what a user asks first. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"
#include "sites.h"

enum { TOP = 8 };

typedef struct mnemonic {
    char name[32];
    uint64_t count;
} mnemonic;

/* The same words come up again and again, and Capstone takes a microsecond for each. */
enum { CACHE = 4096 };
typedef struct cached {
    uint32_t word;
    uint16_t cls, mnemonic; /* index + 1 in that class, 0: none */
} cached;

typedef struct tally {
    uint64_t count, by_class[XS_TAIL], by_source[XS_SOURCE_COUNT][XS_TAIL], by_hazard[XS_HAZARD_COUNT];
    uint64_t outside;          /* in no function */
    uint64_t any_hazard, push; /* push: stp x29, x30, [sp, #imm]! */
    mnemonic *mnemonics[XS_TAIL];
    size_t mnemonic_count[XS_TAIL];
    int status;  /* of --fail-on */
    bool failed; /* no memory */
} tally;

/* Index of a mnemonic of a class, which is added if it is new; SIZE_MAX: no memory, and t->failed. */
static size_t find_mnemonic(tally *t, unsigned cls, const char *name)
{
    size_t i = 0;
    while (i < t->mnemonic_count[cls] && strcmp(t->mnemonics[cls][i].name, name) != 0)
        i++;
    if (i < t->mnemonic_count[cls]) return i;
    mnemonic *larger = reallocarray(t->mnemonics[cls], i + 1, sizeof *larger);
    if (!larger) {
        t->failed = true;
        return SIZE_MAX;
    }
    t->mnemonics[cls] = larger;
    snprintf(larger[i].name, sizeof larger[i].name, "%s", name);
    larger[i].count = 0;
    t->mnemonic_count[cls]++;
    return i;
}

static void count_mnemonic(tally *t, unsigned cls, const char *name, uint64_t count)
{
    size_t i = find_mnemonic(t, cls, name);
    if (i != SIZE_MAX) t->mnemonics[cls][i].count += count;
}

static int by_count(const void *a, const void *b)
{
    const mnemonic *x = a, *y = b;
    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

/* The line that draws `stp x29, x30, [sp, #imm]!`; NULL in a table without it. */
static const xs_rule *push_rule(const xs_table *table)
{
    size_t count;
    const xs_rule *rules = xs_table_rules(table, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rules[i].name, "stp.push.fp") == 0) return &rules[i];
    return NULL;
}

/* ---- counting, by threads that each have a tally of their own ------------------------------------- */

typedef struct counter {
    tally tally;
    const code *code;
    const options *o;
    const xs_rule *push;
    view view; /* with a Capstone of its own */
    cached cache[CACHE];
} counter;

static void count_text(counter *n, const site_ref *ref, const xs_insn *insn)
{
    cached *k = &n->cache[(insn->word * 0x9e3779b1u) >> 20];
    insn_text text;
    if (k->mnemonic && k->word == insn->word && k->cls == ref->cls) {
        n->tally.mnemonics[k->cls][k->mnemonic - 1].count++;
        return;
    }
    text_of(&n->view, insn, n->code->image->ranges[ref->range].addr + ref->offset, &text);
    size_t i = find_mnemonic(&n->tally, ref->cls, text.mnemonic);
    if (i == SIZE_MAX) return;
    n->tally.mnemonics[ref->cls][i].count++;
    if (i < UINT16_MAX) *k = (cached){insn->word, ref->cls, (uint16_t)(i + 1)};
}

static void count_site(void *arg, const site_ref *ref, const xs_site *site)
{
    counter *n = arg;
    tally *t = &n->tally;
    count_text(n, ref, &site->insn);
    t->count++;
    t->by_class[ref->cls]++;
    t->outside += ref->function == SIZE_MAX;
    if (ref->function != SIZE_MAX) t->by_source[n->code->image->functions[ref->function].source][ref->cls]++;
    if (n->push && (site->insn.word & n->push->mask) == n->push->value) t->push++;
    t->any_hazard += ref->hazards != 0;
    for (unsigned i = 0; i < XS_HAZARD_COUNT; i++)
        t->by_hazard[i] += ref->hazards >> i & 1;
    if (n->o->cls < 0 || n->o->cls == (int)site->cls)
        t->status = worse(t->status, (int)site_found(n->o, site));
}

static void add_numbers(tally *to, const tally *from)
{
    to->count += from->count;
    to->outside += from->outside;
    to->any_hazard += from->any_hazard;
    to->push += from->push;
    for (unsigned cls = 0; cls < XS_TAIL; cls++) {
        to->by_class[cls] += from->by_class[cls];
        for (unsigned source = 0; source < XS_SOURCE_COUNT; source++)
            to->by_source[source][cls] += from->by_source[source][cls];
    }
    for (unsigned i = 0; i < XS_HAZARD_COUNT; i++)
        to->by_hazard[i] += from->by_hazard[i];
    to->status = worse(to->status, from->status);
    to->failed |= from->failed;
}

static void add_tally(tally *to, tally *from)
{
    add_numbers(to, from);
    for (unsigned cls = 0; cls < XS_TAIL; cls++) {
        for (size_t i = 0; i < from->mnemonic_count[cls]; i++)
            count_mnemonic(to, cls, from->mnemonics[cls][i].name, from->mnemonics[cls][i].count);
        free(from->mnemonics[cls]);
    }
}

typedef struct counting {
    const code *code;
    const options *o;
    window windows[CREW_MAX];
    counter *counters;
} counting;

static void count_item(void *arg, size_t item, unsigned worker)
{
    counting *k = arg;
    sites_visit(k->code, k->o, item, &k->windows[worker], count_site, &k->counters[worker]);
}

static bool count_all(tally *t, const code *c, const options *o, unsigned jobs)
{
    counting k = {.code = c, .o = o};
    size_t items = sites_items(c, o);
    *t = (tally){0};
    if (jobs > items) jobs = items ? (unsigned)items : 1;
    if (!windows_open(k.windows, &jobs, c)) return false;
    k.counters = calloc(jobs, sizeof *k.counters);
    for (unsigned i = 0; k.counters && i < jobs; i++) {
        k.counters[i] = (counter){.code = c, .o = o, .push = push_rule(c->view->table), .view = *c->view};
        if (i > 0) k.counters[i].view.disasm = view_disasm(c->view);
    }
    if (k.counters) crew_run(jobs, items, count_item, &k);
    windows_close(k.windows, jobs);
    for (unsigned i = 0; k.counters && i < jobs; i++) {
        add_tally(t, &k.counters[i].tally);
        if (i > 0) xs_disasm_close(k.counters[i].view.disasm);
    }
    for (int cls = 0; cls < XS_TAIL; cls++)
        if (t->mnemonic_count[cls])
            qsort(t->mnemonics[cls], t->mnemonic_count[cls], sizeof(mnemonic), by_count);
    bool counted = k.counters && !t->failed;
    free(k.counters);
    return counted;
}

static double percent(uint64_t part, uint64_t all)
{
    return all ? 100.0 * (double)part / (double)all : 0.0;
}

static const char *const site_nouns[] = {"function entries", "USDT sites", "returns and tail calls",
                                         "instructions"};

/* The order in which people think of the classes. */
static const xs_class class_order[] = {XS_SIMULATE, XS_SLOT, XS_REJECT};

static void text_classes(const output *out, const tally *t)
{
    for (size_t k = 0; k < 3; k++) {
        xs_class cls = class_order[k];
        fprintf(out->f, "  %s%-8s%s %8" PRIu64 "  %5.1f %%  ", output_paint(out, cls), xs_class_name(cls),
                output_plain(out), t->by_class[cls], percent(t->by_class[cls], t->count));
        for (size_t i = 0; i < t->mnemonic_count[cls] && i < TOP; i++)
            fprintf(out->f, "%s%s %" PRIu64, i ? ", " : "", t->mnemonics[cls][i].name,
                    t->mnemonics[cls][i].count);
        fprintf(out->f, "%s\n", t->mnemonic_count[cls] > TOP ? ", ..." : "");
    }
}

static void text_hazards(const output *out, const tally *t)
{
    fprintf(out->f, "hazards: %" PRIu64 " of these sites", t->any_hazard);
    for (unsigned i = 0; i < XS_HAZARD_COUNT; i++)
        if (t->by_hazard[i]) fprintf(out->f, ", %s %" PRIu64, xs_hazard_name(i), t->by_hazard[i]);
    fputc('\n', out->f);
}

static void text_sources(const output *out, const tally *t)
{
    const char *comma = "from ";
    for (int s = 0; s < XS_SOURCE_COUNT; s++) {
        uint64_t n = t->by_source[s][XS_SIMULATE] + t->by_source[s][XS_SLOT] + t->by_source[s][XS_REJECT];
        if (!n) continue;
        fprintf(out->f, "%s%s %" PRIu64, comma, xs_source_name((xs_source)s), n);
        comma = ", ";
    }
    if (t->outside) fprintf(out->f, "%sno function %" PRIu64, comma, t->outside);
    fputc('\n', out->f);
}

static uint64_t plt_count(const xs_image *image)
{
    uint64_t n = 0;
    for (size_t i = 0; i < image->function_count; i++)
        n += image->functions[i].source == XS_SOURCE_PLT;
    return n;
}

static void print_text(output *out, const code *c, const tally *t, const options *o)
{
    const xs_image *m = c->image;
    out->something = true;
    fprintf(out->f, "%s\n  target %s", m->path, c->view->name);
    if (m->isa) fprintf(out->f, ", isa %.40s%s", m->isa, strlen(m->isa) > 40 ? "..." : "");
    fprintf(out->f, "\n  code %" PRIu64 " bytes: %" PRIu64 " simulate, %" PRIu64 " slot, %" PRIu64 " reject",
            m->code_bytes, c->counts[XS_SIMULATE], c->counts[XS_SLOT], c->counts[XS_REJECT]);
    if (m->data_bytes) fprintf(out->f, "; data %" PRIu64 " bytes skipped", m->data_bytes);
    if (c->left) fprintf(out->f, "; %" PRIu64 " bytes no whole instruction", c->left);
    if (m->debug_path) fprintf(out->f, "\n  symbols also from %s", m->debug_path);
    fprintf(out->f, "\n%s: %" PRIu64 " ", site_nouns[o->sites], t->count);
    text_sources(out, t);
    if (o->sites == SITES_ENTRY && plt_count(m))
        fprintf(out->f, "  (and %" PRIu64 " PLT stubs, not counted)\n", plt_count(m));
    text_classes(out, t);
    if (push_rule(c->view->table))
        fprintf(out->f, "stp x29, x30, [sp, #imm]!: %" PRIu64 ", %.1f %%\n", t->push,
                percent(t->push, t->count));
    text_hazards(out, t);
}

static json_object *number(uint64_t n)
{
    return json_object_new_int64((int64_t)n);
}

static json_object *classes_json(const uint64_t counts[XS_TAIL])
{
    json_object *v = json_object_new_object();
    for (size_t k = 0; k < 3; k++)
        json_object_object_add(v, xs_class_name(class_order[k]), number(counts[class_order[k]]));
    return v;
}

static json_object *mnemonics_json(const tally *t)
{
    json_object *v = json_object_new_object();
    for (size_t k = 0; k < 3; k++) {
        json_object *list = json_object_new_object();
        for (size_t i = 0; i < t->mnemonic_count[class_order[k]]; i++)
            json_object_object_add(list, t->mnemonics[class_order[k]][i].name,
                                   number(t->mnemonics[class_order[k]][i].count));
        json_object_object_add(v, xs_class_name(class_order[k]), list);
    }
    return v;
}

static json_object *sources_json(const tally *t)
{
    json_object *v = json_object_new_object();
    for (int s = 0; s < XS_SOURCE_COUNT; s++)
        json_object_object_add(v, xs_source_name((xs_source)s), classes_json(t->by_source[s]));
    return v;
}

static json_object *hazards_json(const tally *t)
{
    json_object *v = json_object_new_object();
    json_object_object_add(v, "sites", number(t->any_hazard));
    for (unsigned i = 0; i < XS_HAZARD_COUNT; i++)
        json_object_object_add(v, xs_hazard_name(i), number(t->by_hazard[i]));
    return v;
}

static json_object *summary_json(const code *c, const tally *t, const options *o)
{
    const xs_image *m = c->image;
    json_object *v = json_object_new_object();
    json_object_object_add(v, "file", json_bytes(m->path));
    json_object_object_add(v, "target", json_object_new_string(c->view->name));
    json_object_object_add(v, "isa", json_name(m->isa));
    json_object_object_add(v, "debug_file", json_name(m->debug_path));
    json_object_object_add(v, "code_bytes", number(m->code_bytes));
    json_object_object_add(v, "data_bytes", number(m->data_bytes));
    json_object_object_add(v, "left_bytes", number(c->left));
    json_object_object_add(v, "instructions", classes_json(c->counts));
    json_object_object_add(v, "sites_kind", json_object_new_string(sites_kind_name(o->sites)));
    json_object_object_add(v, "sites", number(t->count));
    json_object_object_add(v, "classes", classes_json(t->by_class));
    json_object_object_add(v, "sources", sources_json(t));
    json_object_object_add(v, "mnemonics", mnemonics_json(t));
    json_object_object_add(v, "plt_stubs", number(plt_count(m)));
    json_object_object_add(v, "stp_x29_x30", push_rule(c->view->table) ? number(t->push) : NULL);
    json_object_object_add(v, "hazards", hazards_json(t));
    return v;
}

bool summary_print(output *out, const code *c, const options *o, unsigned jobs, summary *found)
{
    tally t;
    bool counted = count_all(&t, c, o, jobs);
    if (counted && out->format == FORMAT_TEXT)
        print_text(out, c, &t, o);
    else if (counted && out->format != FORMAT_TSV)
        output_value(out, "summary", "summary", summary_json(c, &t, o));
    for (int cls = 0; cls < XS_TAIL; cls++)
        free(t.mnemonics[cls]);
    *found = (summary){t.count, t.status};
    return counted;
}
