/* The sites of a program. */
#include "sites.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- code ------------------------------------------------------------------------------------ */

/* Index of the first function of a range. Functions are sorted by range, then address. */
static size_t first_function(const xs_image *image, size_t range)
{
    size_t low = 0, high = image->function_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (image->functions[mid].range < range)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Classify a range, beginning anew at every function: what stands between them (padding, data that no
 * symbol marks) must not shift the instruction boundaries of what follows. */
static void classify_range(code *c, size_t r)
{
    const xs_range *range = &c->image->ranges[r];
    size_t granule = c->view->granule, at = 0, left;
    for (size_t f = first_function(c->image, r); at < range->size; f++) {
        bool more = f < c->image->function_count && c->image->functions[f].range == r;
        size_t end = more ? (size_t)(c->image->functions[f].addr - range->addr) : (size_t)range->size;
        if (more && (end <= at || end % granule)) continue; /* at the range's start, or nowhere code can be */
        xs_classify_text(c->view->classifier, range->bytes + at, end - at, c->classes[r] + at / granule, &left);
        c->left += left;
        at = end;
    }
    for (size_t i = 0; i < range->size / granule; i++)
        if (c->classes[r][i] < XS_TAIL) c->counts[c->classes[r][i]]++;
}

bool code_open(code *c, const xs_image *image, const view *v)
{
    *c = (code){.image = image, .view = v};
    c->classes = calloc(image->range_count + 1, sizeof *c->classes);
    for (size_t r = 0; c->classes && r < image->range_count; r++) {
        c->classes[r] = malloc((size_t)image->ranges[r].size / v->granule + 1);
        if (!c->classes[r]) {
            code_close(c);
            return false;
        }
        classify_range(c, r);
    }
    return c->classes != NULL;
}

void code_close(code *c)
{
    for (size_t r = 0; c->classes && r < c->image->range_count; r++)
        free(c->classes[r]);
    free(c->classes);
    *c = (code){0};
}

/* ---- collecting ------------------------------------------------------------------------------ */

void site_decide(const code *c, const site_ref *ref, xs_site *site)
{
    const xs_range *range = &c->image->ranges[ref->range];
    xs_text text = {.bytes = range->bytes,
                    .size = (size_t)range->size,
                    .addr = range->addr,
                    .function = XS_NO_FUNCTION,
                    .starts = c->classes[ref->range]};
    if (ref->function != SIZE_MAX) {
        const xs_function *f = &c->image->functions[ref->function];
        text.function = f->range == ref->range ? (size_t)(f->addr - range->addr) : 0;
    }
    xs_site_decide(c->view->decoder, c->view->ideal, &text, ref->offset, site);
}

static void add_site(const code *c, site_list *list, site_ref ref)
{
    xs_site site;
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 1024;
        site_ref *larger = realloc(list->refs, room * sizeof *larger);
        if (!larger) {
            list->failed = true;
            return;
        }
        list->refs = larger;
        list->room = room;
    }
    site_decide(c, &ref, &site);
    if (!site.insn.entry) return; /* cut off at the end of its range: counted in code.left */
    ref.cls = (uint8_t)site.cls;
    ref.hazards = (uint8_t)site.hazards;
    list->refs[list->count++] = ref;
}

static bool wanted(const code *c, const options *o, const site_ref *ref)
{
    if (o->section && strcmp(o->section, c->image->ranges[ref->range].section) != 0) return false;
    if (!o->symbol) return true;
    if (ref->function == SIZE_MAX) return false;
    const xs_function *f = &c->image->functions[ref->function];
    bool found = fnmatch(o->symbol, f->name, 0) == 0;
    for (unsigned i = 0; i < f->aliases; i++)
        found |= fnmatch(o->symbol, f->alias_names[i], 0) == 0;
    return found;
}

static void collect_entries(const code *c, const options *o, site_list *list)
{
    for (size_t i = 0; i < c->image->function_count; i++) {
        const xs_function *f = &c->image->functions[i];
        site_ref ref = {.range = f->range,
                        .offset = (size_t)(f->addr - c->image->ranges[f->range].addr),
                        .function = i,
                        .usdt = SIZE_MAX,
                        .kind = "entry"};
        if (f->source != XS_SOURCE_PLT && wanted(c, o, &ref)) add_site(c, list, ref);
    }
}

static size_t function_of(const code *c, const xs_range *range, uint64_t addr)
{
    const xs_function *f = xs_image_function_at(c->image, addr, range->section_index);
    return f ? (size_t)(f - c->image->functions) : SIZE_MAX;
}

static void collect_usdt(const code *c, const options *o, site_list *list)
{
    for (size_t i = 0; i < c->image->usdt_count; i++) {
        const xs_usdt *u = &c->image->usdts[i];
        if (u->range == SIZE_MAX) continue; /* the image has a remark about it */
        const xs_range *range = &c->image->ranges[u->range];
        site_ref ref = {.range = u->range,
                        .offset = (size_t)(u->addr - range->addr),
                        .function = function_of(c, range, u->addr),
                        .usdt = i,
                        .kind = "usdt"};
        if (wanted(c, o, &ref)) add_site(c, list, ref);
    }
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

/* Every instruction, or those that leave their function. Functions are in address order, so the one at
 * hand moves along. */
static void collect_range(const code *c, const options *o, size_t r, site_list *list)
{
    const xs_range *range = &c->image->ranges[r];
    size_t granule = c->view->granule, function = first_function(c->image, r);
    for (size_t i = 0; i < range->size / granule && !list->failed; i++) {
        if (c->classes[r][i] == XS_TAIL) continue;
        uint64_t addr = range->addr + i * granule;
        while (function + 1 < c->image->function_count && c->image->functions[function + 1].range == r &&
               c->image->functions[function + 1].addr <= addr)
            function++;
        const xs_function *f = function < c->image->function_count ? &c->image->functions[function] : NULL;
        if (f && (f->range != r || addr < f->addr || addr - f->addr >= f->size)) f = NULL;
        site_ref ref = {.range = r,
                        .offset = i * granule,
                        .function = f ? function : SIZE_MAX,
                        .usdt = SIZE_MAX,
                        .kind = "insn"};
        if (!wanted(c, o, &ref)) continue;
        if (o->sites == SITES_RETURN) {
            xs_insn insn;
            if (xs_decode(c->view->decoder, range->bytes + ref.offset, (size_t)range->size - ref.offset,
                          &insn) != XS_OK)
                continue;
            ref.kind = f && f->source == XS_SOURCE_PLT ? NULL : leaving(c, &insn, addr, f);
            if (!ref.kind) continue;
        }
        add_site(c, list, ref);
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

bool sites_collect(const code *c, const options *o, site_list *out)
{
    *out = (site_list){0};
    if (o->sites == SITES_ENTRY) collect_entries(c, o, out);
    if (o->sites == SITES_USDT) collect_usdt(c, o, out);
    if (o->sites == SITES_RETURN || o->sites == SITES_ALL)
        for (size_t r = 0; r < c->image->range_count; r++)
            collect_range(c, o, r, out);
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
