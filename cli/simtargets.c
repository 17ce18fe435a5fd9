/* Targets by name, each made when a line first asks for it. */
#include <string.h>

#include "arch.h"
#include "simbatch.h"

static xs_table *table_of(sim_targets *c, const char *target, sim_why *why)
{
    char arch[32];
    size_t len, i = 0;
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(target, "+-/"), target);
    const char *text = c->o->table ? NULL : xs_builtin_table(arch, &len);
    if (!c->o->table && !text) {
        sim_refuse(why, "unknown architecture '%s': arm64, riscv64 or riscv32", arch);
        return NULL;
    }
    while (i < SIM_TABLES && c->table[i].table && c->table[i].text != text)
        i++;
    if (i == SIM_TABLES) return NULL; /* there are no more built-in ones */
    if (!c->table[i].table) c->table[i].table = table_open(c->o, arch, &c->status);
    if (!c->table[i].table) sim_refuse(why, "the table cannot be used");
    c->table[i].text = text;
    return c->table[i].table;
}

static bool open_target(sim_targets *c, sim_target *t, const char *name, sim_why *why)
{
    xs_target parsed;
    char reason[200];
    const xs_table *table = table_of(c, name, why);
    if (!table) return false;
    if (strlen(name) >= sizeof t->name ||
        xs_target_parse(table, name, &parsed, reason, sizeof reason) != XS_OK)
        return sim_refuse(why, "target '%.40s': %s", name,
                          strlen(name) < sizeof t->name ? reason : "too long");
    xs_status status = xs_decoder_new(table, &parsed, &t->decoder);
    if (status != XS_OK) return sim_refuse(why, "%s: %s", name, xs_status_text(status));
    if (!sim_machine_open(&t->machine, t->decoder, why)) {
        xs_decoder_free(t->decoder);
        *t = (sim_target){0};
        return false;
    }
    snprintf(t->name, sizeof t->name, "%s", name);
    return true;
}

static void close_target(sim_target *t)
{
    sim_machine_close(&t->machine);
    xs_decoder_free(t->decoder);
    *t = (sim_target){0};
}

const sim_machine *sim_targets_find(sim_targets *c, const char *name, sim_why *why)
{
    if (c->targets && strcmp(c->target[c->last].name, name) == 0) return &c->target[c->last].machine;
    for (size_t i = 0; i < c->targets; i++)
        if (strcmp(c->target[i].name, name) == 0) return &c->target[c->last = i].machine;
    sim_target fresh = {0};
    if (!open_target(c, &fresh, name, why)) return NULL;
    c->last = c->targets < SIM_TARGETS ? c->targets++ : c->next++ % SIM_TARGETS;
    close_target(&c->target[c->last]);
    c->target[c->last] = fresh;
    return &c->target[c->last].machine;
}

void sim_targets_close(sim_targets *c)
{
    for (size_t i = 0; i < c->targets; i++)
        close_target(&c->target[i]);
    for (size_t i = 0; i < SIM_TABLES; i++)
        xs_table_free(c->table[i].table);
}

/* The target of the command line in one piece. */
static void name_default(sim_targets *c)
{
    const options *o = c->o;
    if (o->target)
        snprintf(c->name, sizeof c->name, "%s", o->target);
    else
        snprintf(c->name, sizeof c->name, "%s/%s%s%s", o->arch ? o->arch : "arm64",
                 o->kernel ? o->kernel : "", o->mode ? "/" : "", o->mode ? o->mode : "");
}

int sim_targets_open(sim_targets *c, const options *o)
{
    sim_why why;
    memset(c, 0, sizeof *c);
    c->o = o;
    name_default(c);
    if (!(o->target || o->arch || o->kernel || o->mode || o->table)) return STATUS_OK;
    if (sim_targets_find(c, c->name, &why)) return STATUS_OK;
    return c->status ? c->status : complain(STATUS_USAGE, "%s", why.text);
}
