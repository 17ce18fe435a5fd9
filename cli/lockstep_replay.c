/* lockstep --word: one check, from a state that is given. */
#include <stdlib.h>
#include <string.h>

#include "campaign.h"

static int set_named(const part *pt, xs_any_cpu *cpu, const char *name, size_t len, const char *value)
{
    uint64_t number;
    for (unsigned i = 0; i < pt->cases.arch->count; i++) {
        const char *known = pt->cases.arch->regs[i].name;
        if (strlen(known) != len || strncmp(known, name, len) != 0) continue;
        if (!parse_number(value, &number)) return complain(STATUS_USAGE, "'%s' is not a number", value);
        xs_reg_set(pt->cases.arch, cpu, i, number);
        return STATUS_OK;
    }
    return complain(STATUS_USAGE, "%s has no register '%.*s'", pt->cases.arch->name, (int)len, name);
}

/* x0=1,x1=2 */
static int set_list(const part *pt, xs_any_cpu *cpu, const char *list)
{
    int status = STATUS_OK;
    while (*list && status == STATUS_OK) {
        char item[64];
        size_t len = strcspn(list, ","), name = strcspn(list, "=");
        if (name >= len || len >= sizeof item)
            return complain(STATUS_USAGE, "--reg: '%s' is not NAME=VALUE", list);
        snprintf(item, sizeof item, "%.*s", (int)len, list);
        status = set_named(pt, cpu, item, name, item + name + 1);
        list += len + (list[len] == ',');
    }
    return status;
}

static bool parse_bytes(const char *hex, xs_touch *t)
{
    size_t len = strlen(hex);
    if (len == 0 || len % 2 || len > 2 * sizeof t->before || strspn(hex, "0123456789abcdefABCDEF") != len)
        return false;
    for (size_t i = 0; i < len; i += 2) {
        char pair[3] = {hex[i], hex[i + 1], '\0'};
        t->before[i / 2] = (uint8_t)strtoul(pair, NULL, 16);
    }
    t->size = (uint32_t)(len / 2);
    return true;
}

/* ADDR:HEX, up to 16 bytes */
static int set_memory(xs_check *k, const char *text)
{
    char addr[32];
    size_t len = strcspn(text, ":");
    if (k->touch_count == XS_TOUCHED) return complain(STATUS_USAGE, "--mem: more than %d", XS_TOUCHED);
    xs_touch *t = &k->touched[k->touch_count++];
    snprintf(addr, sizeof addr, "%.*s", (int)(len < 31 ? len : 31), text);
    if (text[len] != ':' || !parse_number(addr, &t->addr) || !parse_bytes(text + len + 1, t))
        return complain(STATUS_USAGE, "--mem: '%s' is not ADDR:HEX of up to 16 bytes", text);
    return STATUS_OK;
}

static int read_state(const part *pt, xs_check *k)
{
    const options *o = pt->p->o;
    int status = STATUS_OK;
    pt->cases.arch->reset(&k->start);
    xs_reg_set(pt->cases.arch, &k->start, pt->cases.arch->pc, pt->cases.arch->code);
    for (unsigned i = 0; i < o->setting_count && status == STATUS_OK; i++) {
        const char *name = o->settings[i].name, *value = o->settings[i].value;
        if (strcmp(name, "reg") == 0)
            status = set_list(pt, &k->start, value);
        else if (strcmp(name, "mem") == 0)
            status = set_memory(k, value);
        else if (strcmp(name, "pc") == 0 || strcmp(name, "sp") == 0 || strcmp(name, "nzcv") == 0)
            status = set_named(pt, &k->start, pt->cases.arch->sp == 1 && *name == 's' ? "x2" : name,
                               pt->cases.arch->sp == 1 && *name == 's' ? 2 : strlen(name), value);
    }
    k->word = pt->p->word;
    k->at = xs_reg_get(pt->cases.arch, &k->start, pt->cases.arch->pc);
    return status;
}

static const xs_case *case_of_word(const part *pt)
{
    for (size_t i = 0; i < pt->cases.count; i++)
        if (xs_case_has(&pt->cases.list[i], pt->p->word)) return &pt->cases.list[i];
    return NULL;
}

static int print_failure(const part *pt, json_object *failure, bool differs)
{
    output out;
    if (!output_open(&out, pt->p->o)) return STATUS_INPUT;
    if (out.format == FORMAT_TEXT)
        failure_print(out.f, failure);
    else
        fprintf(out.f, "%s\n", json_object_to_json_string_ext(failure, JSON_C_TO_STRING_NOSLASHESCAPE));
    return output_close(&out, differs ? STATUS_FOUND : STATUS_OK);
}

static int replay(const part *pt, xs_lockstep *ls, const xs_case *c, xs_check *k)
{
    static xs_slot_check slot; /* too large for a stack */
    json_object *failure;
    bool ok;
    if (pt->p->slots) {
        slot = (xs_slot_check){.word = k->word, .at = k->at, .start = k->start};
        ok = xs_slot_one(ls, c, &slot);
        failure = slot_failure_json(pt, c, &slot);
    } else {
        ok = xs_lockstep_one(ls, c, k);
        failure = failure_json(pt, c, k);
    }
    int status =
        ok ? print_failure(pt, failure, pt->p->slots ? slot.differs : k->differs != 0)
           : complain(STATUS_INTERNAL, "the oracle failed: %s", uc_strerror(xs_lockstep_oracle(ls)->error));
    json_object_put(failure);
    return status;
}

int lockstep_replay(part *pt)
{
    char why[160];
    xs_check k = {0};
    const xs_case *c = case_of_word(pt);
    int status = read_state(pt, &k);
    if (status != STATUS_OK) return status;
    if (!c)
        return complain(STATUS_USAGE, "no %s rule of %s has this word", pt->p->slots ? "slot" : "simulate",
                        pt->view.name);
    xs_place place = {k.at, XS_PAGE};
    xs_oracle_arch const *a = pt->cases.arch;
    bool usual = k.at - a->code < 1 << 19;
    xs_lockstep *ls =
        xs_lockstep_open(&pt->cases, &pt->divergences, usual ? NULL : &place, false, why, sizeof why);
    if (!ls) return complain(STATUS_INTERNAL, "%s", why);
    status = replay(pt, ls, c, &k);
    xs_lockstep_close(ls);
    return status;
}
