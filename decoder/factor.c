/* From an ordered rule list to byte tables that decide most words, for any list.
 *
 * A rule is a mask and a value, so what a byte of a word says is which rules it allows; byte values that
 * allow the same rules are the same to us, and few kinds of them are left once rules that cannot matter
 * are out. The kinds of two bytes together are the sum of two small numbers: one table look-up away from
 * the kinds of a half word. What would not fit a table of 256 entries is left open. */
#include <stdlib.h>
#include <string.h>

#include "classifier.h"

enum { KINDS = 256, SET_WORDS = XS_MAX_RULES / 64 + 1, UNKNOWN = 0x100 };

/* What is known of a word after some of its bytes: its code, or the rules that it may still match. */
typedef struct state {
    uint64_t code; /* CODE_OPEN: nobody will look further; UNKNOWN: see set */
    uint64_t set[SET_WORDS];
} state;

/* Different states and how often each comes up. */
typedef struct kinds {
    size_t count;
    state state[KINDS];
    uint32_t weight[KINDS];
} kinds;

/* The kinds of both bytes of a half word, and of the half word. */
typedef struct half_kinds {
    unsigned lead; /* the byte that is asked first; the other one is lead ^ 1 */
    kinds byte[2], cell;
    uint8_t of[2][256];     /* a byte -> index into byte[] */
    uint8_t cell_of[KINDS]; /* first kind * byte[1].count + second kind -> index into cell */
} half_kinds;

/* The codes of all cells of one half with all of the other. */
typedef struct matrix {
    uint8_t code[KINDS][KINDS];
    uint8_t row[KINDS], column[KINDS]; /* index of a cell's line among the different ones */
    size_t rows, columns;
} matrix;

typedef struct factoring {
    const xs_classifier *c;
    size_t words, count;
    uint32_t mask[XS_MAX_RULES + 1], value[XS_MAX_RULES + 1];
    half_kinds first, second, other;
    kinds lead; /* split_half: before merging */
    matrix m;
} factoring;

/* ---- the rules that matter ------------------------------------------------------------------------ */

/* Whether all words of rule i would get the same code without it: from the rules in later (nearest last). */
static bool follows_suit(const xs_decoder *d, const uint8_t *code, size_t i, const uint16_t *later,
                         size_t count)
{
    const xs_rule *rule = d->entries[i].rule;
    while (count-- > 0) {
        const xs_rule *next = d->entries[later[count]].rule;
        if ((rule->value ^ next->value) & rule->mask & next->mask) continue;
        if (code[later[count]] != code[i]) return false;
        if ((next->mask & ~rule->mask) == 0) return true;
    }
    return false;
}

/* Entries of d that make a difference to the code, last first. */
static size_t telling_entries(const xs_decoder *d, const uint8_t *code, uint16_t *entry)
{
    size_t count = 0;
    for (size_t i = d->count + 1; i-- > 0;)
        if (!follows_suit(d, code, i, entry, count)) entry[count++] = (uint16_t)i;
    return count;
}

static xs_status take_rules(factoring *f, xs_classifier *c, const xs_decoder *d, const uint8_t *classes)
{
    uint16_t entry[XS_MAX_RULES + 1];
    uint8_t code[XS_MAX_RULES + 1];
    for (size_t i = 0; i <= d->count; i++)
        code[i] = classes[i] | (d->sizes[i] > d->table->granule ? CODE_LONG : 0);
    f->count = telling_entries(d, code, entry);
    if (!xs_index_open(&c->index, f->count)) return XS_E_NOMEM;
    for (size_t i = 0; i < f->count; i++) {
        size_t from = entry[f->count - 1 - i];
        f->mask[i] = d->entries[from].rule->mask;
        f->value[i] = d->entries[from].rule->value;
        c->codes[i] = code[from];
        xs_index_add(&c->index, i, f->mask[i], f->value[i]);
    }
    f->words = c->index.words;
    f->c = c;
    return XS_OK;
}

/* ---- states ---------------------------------------------------------------------------------------- */

static bool same_state(const factoring *f, const state *a, const state *b)
{
    return a->code == b->code && memcmp(a->set, b->set, f->words * sizeof *a->set) == 0;
}

static size_t first_of(const uint64_t *set, size_t words)
{
    size_t w = 0;
    while (w < words && set[w] == 0)
        w++;
    return w == words ? SIZE_MAX : w * 64 + (size_t)__builtin_ctzll(set[w]);
}

/* Cut off the rules that come after one which the known bits say matches; a code when all that are left
 * agree. */
static void settle(const factoring *f, uint32_t known, state *s)
{
    state kept = {.code = UNKNOWN};
    bool agree = true;
    size_t first = first_of(s->set, f->words);
    for (size_t i = first; i != SIZE_MAX; i = first_of(s->set, f->words)) {
        agree = agree && f->c->codes[i] == f->c->codes[first];
        kept.set[i / 64] |= UINT64_C(1) << (i % 64);
        s->set[i / 64] &= s->set[i / 64] - 1;
        if ((f->mask[i] & ~known) == 0) break;
    }
    *s = first != SIZE_MAX && agree ? (state){.code = f->c->codes[first]} : kept;
}

/* Index of the state among the kinds, KINDS when there is no room. */
static size_t kind_of(const factoring *f, kinds *k, const state *s, uint32_t weight)
{
    size_t i = 0;
    while (i < k->count && !same_state(f, &k->state[i], s))
        i++;
    if (i == KINDS) return KINDS;
    if (i == k->count) {
        k->state[k->count++] = *s;
        k->weight[i] = 0;
    }
    k->weight[i] += weight;
    return i;
}

/* The kinds of a byte's values, rules outside alive aside. */
static void split_byte(const factoring *f, unsigned byte, const state *alive, kinds *k, uint8_t of[256])
{
    k->count = 0;
    for (size_t v = 0; v < 256; v++) {
        const uint64_t *row = f->c->index.rows + (byte * 256 + v) * f->words;
        if (v > 0 && memcmp(row, row - f->words, f->words * sizeof *row) == 0) {
            of[v] = of[v - 1];
            k->weight[of[v]]++;
            continue;
        }
        state s = {.code = UNKNOWN};
        for (size_t i = 0; i < f->words; i++)
            s.set[i] = row[i] & alive->set[i];
        settle(f, UINT32_C(255) << (8 * byte), &s);
        of[v] = (uint8_t)kind_of(f, k, &s, 1);
    }
}

/* The rules that some kind still needs. */
static state alive_in(const factoring *f, const kinds *k)
{
    state alive = {.code = UNKNOWN};
    for (size_t i = 0; i < k->count; i++)
        for (size_t w = 0; w < f->words; w++)
            alive.set[w] |= k->state[i].set[w]; /* empty where the code is known */
    return alive;
}

/* The same kinds without the rules outside alive, of which fewer may be different. of: index into from on
 * entry, into to on return. */
static void merge_kinds(const factoring *f, const state *alive, const kinds *from, kinds *to, uint8_t of[256])
{
    uint8_t merged[KINDS];
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        state s = from->state[i];
        for (size_t w = 0; w < f->words; w++)
            s.set[w] &= alive->set[w];
        merged[i] = (uint8_t)kind_of(f, to, &s, from->weight[i]);
    }
    for (size_t v = 0; v < 256; v++)
        of[v] = merged[of[v]];
}

/* Leave the rarest undecided kind open; false: there is none. */
static bool give_up_one(kinds *k)
{
    size_t rarest = KINDS;
    for (size_t i = 0; i < k->count; i++)
        if (k->state[i].code == UNKNOWN && (rarest == KINDS || k->weight[i] < k->weight[rarest])) rarest = i;
    if (rarest != KINDS) k->state[rarest] = (state){.code = CODE_OPEN};
    return rarest != KINDS;
}

/* The same for half of those that are too many, so that a long list takes few rounds. */
static bool give_up(kinds *k, size_t too_many)
{
    bool any = false;
    for (size_t n = too_many / 2 + 1; n > 0 && give_up_one(k); n--)
        any = true;
    return any;
}

/* ---- half words ------------------------------------------------------------------------------------ */

/* What two bytes say together. Where the first one gives the code, the second was not asked. */
static state meet(const factoring *f, uint32_t known, const state *a, const state *b)
{
    if (a->code != UNKNOWN) return *a;
    if (b->code != UNKNOWN) return *b;
    state s = {.code = UNKNOWN};
    for (size_t w = 0; w < f->words; w++)
        s.set[w] = a->set[w] & b->set[w];
    settle(f, known, &s);
    return s;
}

/* The kinds of both bytes of a half word, few enough for a table. */
static void split_half(factoring *f, const state *alive, half_kinds *h)
{
    uint8_t of[256];
    split_byte(f, h->lead, alive, &f->lead, of);
    for (;;) {
        state needed = alive_in(f, &f->lead);
        split_byte(f, h->lead ^ 1, &needed, &h->byte[1], h->of[1]);
        needed = alive_in(f, &h->byte[1]);
        memcpy(h->of[0], of, sizeof of);
        merge_kinds(f, &needed, &f->lead, &h->byte[0], h->of[0]);
        size_t room = KINDS / h->byte[1].count;
        if (h->byte[0].count <= room || !give_up(&f->lead, h->byte[0].count - room)) return;
    }
}

static void make_cells(const factoring *f, half_kinds *h)
{
    uint32_t known = UINT32_C(0xffff) << (8 * (h->lead & 2));
    h->cell.count = 0;
    for (size_t i = 0; i < h->byte[0].count; i++)
        for (size_t j = 0; j < h->byte[1].count; j++) {
            state s = meet(f, known, &h->byte[0].state[i], &h->byte[1].state[j]);
            uint32_t weight = h->byte[0].weight[i] * h->byte[1].weight[j];
            h->cell_of[i * h->byte[1].count + j] = (uint8_t)kind_of(f, &h->cell, &s, weight);
        }
}

static uint32_t decided_by(const kinds *k)
{
    uint32_t n = 0;
    for (size_t i = 0; i < k->count; i++)
        if (k->state[i].code < CODE_OPEN) n += k->weight[i];
    return n;
}

/* Whether a gives the code for more values of the half word; if for as many, of its first byte. */
static bool decides_more(const half_kinds *a, const half_kinds *b)
{
    uint32_t in_a = decided_by(&a->cell), in_b = decided_by(&b->cell);
    return in_a != in_b ? in_a > in_b : decided_by(&a->byte[0]) > decided_by(&b->byte[0]);
}

/* The half word that decides most, in its better order. */
static void split_first(factoring *f)
{
    state all = {.code = UNKNOWN};
    memset(all.set, 255, sizeof all.set);
    for (unsigned lead = 0; lead < 4; lead++) {
        f->other.lead = lead;
        split_half(f, &all, &f->other);
        make_cells(f, &f->other);
        if (lead == 0 || decides_more(&f->other, &f->first)) f->first = f->other;
    }
}

/* ---- both halves ----------------------------------------------------------------------------------- */

static uint8_t joint_code(const factoring *f, const state *a, const state *b)
{
    if (a->code != UNKNOWN) return (uint8_t)a->code;
    if (b->code != UNKNOWN) return (uint8_t)b->code;
    uint64_t both[SET_WORDS];
    for (size_t w = 0; w < f->words; w++)
        both[w] = a->set[w] & b->set[w];
    return f->c->codes[first_of(both, f->words)]; /* each set ends with a rule that is in the other as well */
}

static void fill_matrix(factoring *f)
{
    for (size_t i = 0; i < f->first.cell.count; i++)
        for (size_t j = 0; j < f->second.cell.count; j++)
            f->m.code[i][j] = joint_code(f, &f->first.cell.state[i], &f->second.cell.state[j]);
}

static bool same_column(const factoring *f, size_t a, size_t b)
{
    for (size_t i = 0; i < f->first.cell.count; i++)
        if (f->m.code[i][a] != f->m.code[i][b]) return false;
    return true;
}

/* Number the different rows and columns in the order they come up. */
static void number_lines(factoring *f)
{
    matrix *m = &f->m;
    m->rows = m->columns = 0;
    for (size_t i = 0; i < f->first.cell.count; i++) {
        size_t j = 0;
        while (j < i && memcmp(m->code[i], m->code[j], f->second.cell.count) != 0)
            j++;
        m->row[i] = j < i ? m->row[j] : (uint8_t)m->rows++;
    }
    for (size_t i = 0; i < f->second.cell.count; i++) {
        size_t j = 0;
        while (j < i && !same_column(f, i, j))
            j++;
        m->column[i] = j < i ? m->column[j] : (uint8_t)m->columns++;
    }
}

/* Divide the other half for what the first one leaves undecided, giving up cells until all fits. */
static void split_second(factoring *f)
{
    f->second.lead = f->first.lead ^ 2;
    for (;;) {
        state needed = alive_in(f, &f->first.cell);
        split_half(f, &needed, &f->second);
        make_cells(f, &f->second);
        fill_matrix(f);
        number_lines(f);
        if (f->m.rows * f->m.columns <= KINDS) return;
        /* With none left undecided there would be one column and a row for each code, so this comes to an
         * end. */
        give_up(&f->first.cell, f->m.rows - KINDS / f->m.columns);
    }
}

/* ---- tables ---------------------------------------------------------------------------------------- */

static void fill_pair(const half_kinds *h, pair_table *p)
{
    p->at[0] = h->lead;
    p->at[1] = h->lead ^ 1;
    for (size_t v = 0; v < 256; v++) {
        p->byte[0][v] = (uint8_t)(h->of[0][v] * h->byte[1].count);
        p->byte[1][v] = h->of[1][v];
    }
}

static uint8_t code_or_open(const state *s)
{
    return s->code == UNKNOWN ? CODE_OPEN : (uint8_t)s->code;
}

/* The first pair's code for each half word. Rows of the same kind are the same. */
static void fill_half(const half_kinds *h, uint8_t *half)
{
    unsigned high = h->lead & 1 ? 0 : 1; /* which of h->byte is the upper one */
    const uint8_t *row_of[KINDS] = {NULL};
    for (size_t v = 0; v < 256; v++) {
        uint8_t *row = half + 256 * v, kind = h->of[high][v];
        for (size_t low = 0; low < 256 && !row_of[kind]; low++) {
            size_t lead = high == 0 ? kind : h->of[0][low], other = high == 0 ? h->of[1][low] : kind;
            row[low] = code_or_open(&h->cell.state[h->cell_of[lead * h->byte[1].count + other]]);
        }
        if (row_of[kind])
            memcpy(row, row_of[kind], 256);
        else
            row_of[kind] = row;
    }
}

/* The codes that the first byte gives by itself. */
static void fill_lead(const half_kinds *h, uint8_t lead[256])
{
    for (size_t v = 0; v < 256; v++)
        lead[v] = code_or_open(&h->byte[0].state[h->of[0][v]]);
}

static bool has_undecided(const kinds *k)
{
    for (size_t i = 0; i < k->count; i++)
        if (k->state[i].code == UNKNOWN) return true;
    return false;
}

static void fill_join(factoring *f, factors *to)
{
    const matrix *m = &f->m;
    fill_pair(&f->second, &to->second);
    for (size_t i = 0; i < KINDS; i++) {
        to->first.cell[i] = (uint8_t)(m->row[f->first.cell_of[i]] * m->columns);
        to->second.cell[i] = m->column[f->second.cell_of[i]];
    }
    for (size_t i = 0; i < f->first.cell.count; i++)
        for (size_t j = 0; j < f->second.cell.count; j++)
            to->join[m->row[i] * m->columns + m->column[j]] = m->code[i][j];
}

static void fill_factors(factoring *f, factors *to)
{
    fill_pair(&f->first, &to->first);
    fill_lead(&f->first, to->lead);
    fill_half(&f->first, to->half);
    to->half_at = f->first.lead & 2;
    to->has_second = has_undecided(&f->first.cell);
    if (to->has_second) {
        split_second(f);
        fill_join(f, to);
    } else {
        for (size_t i = 0; i < KINDS; i++)
            to->first.cell[i] = (uint8_t)f->first.cell.state[f->first.cell_of[i]].code;
    }
}

xs_status xs_factor(xs_classifier *c, const xs_decoder *d, const uint8_t *classes)
{
    factoring *f = calloc(1, sizeof *f);
    xs_status status = f ? take_rules(f, c, d, classes) : XS_E_NOMEM;
    if (status == XS_OK) {
        split_first(f);
        fill_factors(f, &c->f);
    }
    free(f);
    return status;
}
