/* The decoder that is measured: the newest release's uprobes. */
#include "bench.h"

#include <arch.h>
#include <stdio.h>

static const char *newest_release(const xs_table *table)
{
    const char *newest = NULL;
    for (size_t i = 0; xs_table_kernel(table, i); i++)
        if (xs_table_kernel_kind(table, i) == XS_KERNEL_RELEASE) newest = xs_table_kernel(table, i);
    return newest;
}

bool ours_open(ours *o, const char *arch)
{
    char why[TEXT] = "";
    size_t len, findings;
    xs_target target;
    const char *text = xs_builtin_table(arch, &len);
    *o = (ours){.table = xs_table_parse(text, len, NULL, 0, &findings)};
    if (!o->table) return false;
    snprintf(o->target, sizeof o->target, "%s/%s/uprobe", arch, newest_release(o->table));
    if (xs_target_parse(o->table, o->target, &target, why, sizeof why) == XS_OK &&
        xs_decoder_new(o->table, &target, &o->decoder) == XS_OK)
        return true;
    fprintf(stderr, "bench: %s: %s\n", o->target, why);
    return false;
}

void ours_close(ours *o)
{
    xs_decoder_free(o->decoder);
    xs_table_free(o->table);
}
