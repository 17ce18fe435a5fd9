/* The sites of a program. */
#include "sites.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256 }; /* functions or notes in an item */

/* ---- one site -------------------------------------------------------------------------------------- */

void site_decide(window *w, const site_ref *ref, xs_site *site)
{
    const code *c = w->code;
    const xs_function *f = ref->function == SIZE_MAX ? NULL : &c->image->functions[ref->function];
    xs_text text = window_text(w, ref->range, ref->offset, f);
    xs_site_decide(c->view->decoder, c->view->ideal, &text, ref->offset, site);
}

/* A visit of one item. */
typedef struct visit {
    const code *code;
    const options *o;
    window *w;
    site_fn *fn;
    void *arg;
} visit;

static bool wanted(const visit *v, const site_ref *ref)
{
    const code *c = v->code;
    const options *o = v->o;
    if (o->section && strcmp(o->section, c->image->ranges[ref->range].section) != 0) return false;
    if (!o->symbol) return true;
    if (ref->function == SIZE_MAX) return false;
    const xs_function *f = &c->image->functions[ref->function];
    bool found = fnmatch(o->symbol, f->name, 0) == 0;
    for (unsigned i = 0; i < f->aliases; i++)
        found |= fnmatch(o->symbol, f->alias_names[i], 0) == 0;
    return found;
}

static void visit_site(const visit *v, site_ref *ref)
{
    xs_site site;
    if (!wanted(v, ref)) return;
    site_decide(v->w, ref, &site);
    if (!site.insn.entry) return; /* cut off at the end of its range: counted in code.left */
    ref->cls = (uint8_t)site.cls;
    ref->hazards = (uint8_t)site.hazards;
    v->fn(v->arg, ref, &site);
}

static void visit_entry(const visit *v, size_t i)
{
    const xs_image *image = v->code->image;
    const xs_function *f = &image->functions[i];
    site_ref ref = {.range = f->range,
                    .offset = (size_t)(f->addr - image->ranges[f->range].addr),
                    .function = i,
                    .usdt = SIZE_MAX,
                    .kind = "entry"};
    if (f->source != XS_SOURCE_PLT) visit_site(v, &ref);
}

static void visit_usdt(const visit *v, size_t i)
{
    const xs_image *image = v->code->image;
    const xs_usdt *u = &image->usdts[i];
    if (u->range == SIZE_MAX) return; /* the image has a remark about it */
    const xs_range *range = &image->ranges[u->range];
    const xs_function *f = xs_image_function_at(image, u->addr, range->section_index);
    site_ref ref = {.range = u->range,
                    .offset = (size_t)(u->addr - range->addr),
                    .function = f ? (size_t)(f - image->functions) : SIZE_MAX,
                    .usdt = i,
                    .kind = "usdt"};
    visit_site(v, &ref);
}

const int64_t *jump_offset(const view *v, const xs_insn *insn)
{
    size_t count;
    const xs_operand *operands = xs_table_operands(v->table, &count);
    const xs_piece *pieces = xs_table_pieces(v->table, insn->entry->rule);
    for (size_t i = 0; i < insn->entry->rule->piece_count; i++)
        if (operands[pieces[i].operand].kind == XS_OPERAND_OFFSET) return &insn->op[pieces[i].operand];
    return NULL;
}

/* How an instruction leaves its function; NULL if it stays or comes back. A direct jump leaves when it
 * goes elsewhere; an indirect one may be a tail call or a switch. */
static const char *leaving(const code *c, const xs_insn *insn, uint64_t addr, const xs_function *f)
{
    xs_flow flow = insn->entry->rule->flow;
    if (flow == XS_FLOW_RETURN) return "return";
    if (flow != XS_FLOW_JUMP && flow != XS_FLOW_BRANCH) return NULL;
    const int64_t *offset = jump_offset(c->view, insn);
    if (!offset) return flow == XS_FLOW_JUMP ? "indirect-jump" : NULL;
    uint64_t target = addr + (uint64_t)*offset;
    return f && (target < f->addr || target - f->addr >= f->size) ? "tail-call" : NULL;
}

/* An instruction of a chunk; f: the function it is in, or NULL. */
static void visit_insn(const visit *v, site_ref *ref, const xs_function *f)
{
    const xs_range *range = &v->code->image->ranges[ref->range];
    xs_insn insn;
    if (v->o->sites == SITES_RETURN) {
        if (f && f->source == XS_SOURCE_PLT) return;
        if (xs_decode(v->code->view->decoder, range->bytes + ref->offset, (size_t)range->size - ref->offset,
                      &insn) != XS_OK)
            return;
        ref->kind = leaving(v->code, &insn, range->addr + ref->offset, f);
    }
    if (ref->kind) visit_site(v, ref);
}

/* Every instruction, or those that leave their function. Functions are in address order, so the one at hand
 * moves along. */
static void visit_chunk(const visit *v, size_t number)
{
    const xs_image *image = v->code->image;
    const chunk *k = &v->code->chunks[number];
    const xs_range *range = &image->ranges[k->range];
    size_t granule = v->code->view->granule, next = code_function_from(image, k->range, k->from + 1);
    window_load(v->w, number);
    for (size_t at = k->from; at < k->to && k->to - at >= granule; at += granule) {
        if (v->w->classes[(at - k->from) / granule] == XS_TAIL) continue;
        while (next < image->function_count && image->functions[next].range == k->range &&
               image->functions[next].addr <= range->addr + at)
            next++;
        const xs_function *f = next > 0 ? &image->functions[next - 1] : NULL;
        if (f &&
            (f->range != k->range || range->addr + at - f->addr >= f->size)) /* behind one inside another */
            f = xs_image_function_at(image, range->addr + at, range->section_index);
        site_ref ref = {.range = k->range,
                        .offset = at,
                        .function = f ? (size_t)(f - image->functions) : SIZE_MAX,
                        .usdt = SIZE_MAX,
                        .kind = "insn"};
        visit_insn(v, &ref, f);
    }
}

/* ---- all sites ------------------------------------------------------------------------------------- */

/* How many things there are to look at: functions, notes, or chunks. */
static size_t subjects(const code *c, const options *o)
{
    if (o->sites == SITES_ENTRY) return c->image->function_count;
    return o->sites == SITES_USDT ? c->image->usdt_count : c->chunk_count;
}

static size_t batch(const options *o)
{
    return o->sites == SITES_ENTRY || o->sites == SITES_USDT ? BATCH : 1;
}

size_t sites_items(const code *c, const options *o)
{
    return (subjects(c, o) + batch(o) - 1) / batch(o);
}

void sites_visit(const code *c, const options *o, size_t item, window *w, site_fn *fn, void *arg)
{
    const visit v = {c, o, w, fn, arg};
    size_t from = item * batch(o), to = from + batch(o), end = subjects(c, o);
    for (size_t i = from; i < to && i < end; i++) {
        if (o->sites == SITES_ENTRY)
            visit_entry(&v, i);
        else if (o->sites == SITES_USDT)
            visit_usdt(&v, i);
        else
            visit_chunk(&v, i);
    }
}

/* ---- sorting --------------------------------------------------------------------------------- */

typedef struct sorter {
    const code *code;
    sort_key key;
} sorter;

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_place(const site_ref *a, const site_ref *b)
{
    int c = compare(a->range, b->range);
    return c ? c : compare(a->offset, b->offset);
}

static const xs_function *function_at(const sorter *s, const site_ref *r)
{
    return r->function == SIZE_MAX ? NULL : &s->code->image->functions[r->function];
}

static int compare_sites(const void *x, const void *y, void *arg)
{
    const sorter *s = arg;
    const site_ref *a = x, *b = y;
    const xs_function *fa = function_at(s, a), *fb = function_at(s, b);
    int c = 0;
    if (s->key == SORT_CLASS) c = compare(a->cls, b->cls);
    if (s->key == SORT_NAME) c = strcmp(fa ? fa->name : "", fb ? fb->name : "");
    if (s->key == SORT_SIZE) c = compare(fb ? fb->size : 0, fa ? fa->size : 0); /* largest first */
    return c ? c : by_place(a, b);
}

typedef struct collecting {
    const options *o;
    site_list *list;
} collecting;

static void add_site(void *arg, const site_ref *ref, const xs_site *site)
{
    const collecting *k = arg;
    site_list *list = k->list;
    if (list->failed || (k->o->cls >= 0 && (int)site->cls != k->o->cls)) return;
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 1024;
        site_ref *larger = reallocarray(list->refs, room, sizeof *larger);
        if (!larger) {
            list->failed = true;
            return;
        }
        list->refs = larger;
        list->room = room;
    }
    list->refs[list->count++] = *ref;
}

bool sites_collect(const code *c, const options *o, window *w, site_list *out)
{
    *out = (site_list){0};
    for (size_t i = 0; i < sites_items(c, o) && !out->failed; i++)
        sites_visit(c, o, i, w, add_site, &(collecting){o, out});
    if (out->failed)
        sites_free(out);
    else if (out->count)
        qsort_r(out->refs, out->count, sizeof *out->refs, compare_sites, &(sorter){c, o->sort});
    return !out->failed;
}

void sites_free(site_list *list)
{
    free(list->refs);
    list->refs = NULL;
    list->count = list->room = 0;
}
