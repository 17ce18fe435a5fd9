/* The target in view: its table, its decoder, ideal's, and Capstone. */
#include <stdlib.h>
#include <string.h>

#include "arch.h"
#include "cli.h"

enum { MAX_SHOWN = 20 };

enum { TABLE_MAX = 1 << 26 }; /* bytes; the built-in tables have 20,000 */

/* The whole file; NULL when it cannot be read or is longer than a table can be. */
static char *read_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    *len = 0;
    while (f && !ferror(f) && !feof(f) && *len < TABLE_MAX) {
        if (*len == room) {
            room = room ? room * 2 : 65536;
            char *larger = realloc(text, room);
            if (!larger) break;
            text = larger;
        }
        *len += fread(text + *len, 1, room - *len, f);
    }
    bool whole = f && feof(f) && !ferror(f);
    if (f) fclose(f);
    if (whole) return text;
    free(text);
    return NULL;
}

static int print_diags(const char *path, const xs_diag *diags, size_t count)
{
    for (size_t i = 0; i < count && i < MAX_SHOWN; i++)
        fprintf(stderr, "%s:%u:%u: %s: %s\n", path, diags[i].line, diags[i].column, diags[i].code,
                diags[i].message);
    if (count > MAX_SHOWN) fprintf(stderr, "%s: %zu more\n", path, count - MAX_SHOWN);
    return STATUS_INPUT;
}

int table_findings(const char *path, xs_diag *diags, size_t max, size_t *count)
{
    size_t len;
    char *text = read_file(path, &len);
    *count = 0;
    if (!text) return complain(STATUS_INPUT, "%s: cannot be read, or is too long", path);
    xs_table *table = xs_table_parse(text, len, diags, max, count);
    free(text);
    if (!table) return *count ? STATUS_OK : complain(STATUS_INTERNAL, "out of memory");
    *count = xs_table_check(table, diags, max);
    xs_table_free(table);
    return STATUS_OK;
}

static xs_table *parse_and_check(const char *path, const char *text, size_t len, bool check, int *status)
{
    xs_diag diags[MAX_SHOWN];
    size_t count;
    xs_table *table = xs_table_parse(text, len, diags, MAX_SHOWN, &count);
    if (!table && count == 0) complain(*status = STATUS_INTERNAL, "out of memory");
    if (table && check) count = xs_table_check(table, diags, MAX_SHOWN);
    if (count == 0) return table;
    *status = print_diags(path, diags, count);
    xs_table_free(table);
    return NULL;
}

xs_table *table_open(const options *o, const char *arch, int *status)
{
    size_t len;
    *status = STATUS_OK;
    if (!o->table) {
        const char *text = xs_builtin_table(arch, &len);
        if (text) return parse_and_check("built-in table", text, len, false, status);
        *status = complain(STATUS_USAGE, "unknown architecture '%s': arm64, riscv64 or riscv32", arch);
        return NULL;
    }
    char *text = read_file(o->table, &len);
    if (!text) {
        *status = complain(STATUS_INPUT, "%s: cannot be read, or is too long", o->table);
        return NULL;
    }
    xs_table *table = parse_and_check(o->table, text, len, true, status);
    free(text);
    return table;
}

static xs_disasm *open_disasm(const char *target)
{
    static const struct {
        const char *name;
        xs_disasm_arch arch;
    } known[] = {{"arm64", XS_DISASM_ARM64}, {"riscv64", XS_DISASM_RISCV64}, {"riscv32", XS_DISASM_RISCV32}};
    for (size_t i = 0; i < 3; i++)
        if (strncmp(target, known[i].name, strlen(known[i].name)) == 0) return xs_disasm_open(known[i].arch);
    return NULL;
}

xs_disasm *view_disasm(const view *v)
{
    return v->disasm ? open_disasm(v->name) : NULL;
}

/* Ideal for the same architecture. The program's own extensions count, and compressed instructions
 * exist wherever there is one to look at, whatever the kernel was built with. */
static void open_ideal(view *v, const char *isa)
{
    char name[96];
    xs_target ideal;
    snprintf(name, sizeof name, "%s/ideal", xs_table_arch(v->table, v->target.arch));
    if (xs_target_parse(v->table, name, &ideal, NULL, 0) != XS_OK) return;
    ideal.ext |= v->target.ext;
    for (size_t i = 0; isa && xs_table_ext(v->table, i); i++) {
        char ext[32];
        snprintf(ext, sizeof ext, "_%s", xs_table_ext(v->table, i));
        if (strlen(ext) > 2 && strstr(isa, ext)) ideal.ext |= xs_table_ext_bit(v->table, ext + 1);
    }
    xs_decoder_new(v->table, &ideal, &v->ideal);
}

static int open_named(view *v, const options *o, const char *target, const char *isa)
{
    char arch[32], why[512];
    int status;
    *v = (view){0};
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(target, "+-/"), target);
    v->table = table_open(o, arch, &status);
    if (!v->table) return status;
    if (xs_target_parse(v->table, target, &v->target, why, sizeof why) != XS_OK) {
        view_close(v);
        return complain(STATUS_USAGE, "%s: %s", target, why);
    }
    xs_status made = xs_decoder_new(v->table, &v->target, &v->decoder);
    if (made == XS_OK) made = xs_classifier_new(v->decoder, NULL, &v->classifier);
    if (made != XS_OK) {
        view_close(v);
        return complain(STATUS_INTERNAL, "%s: %s", target, xs_status_text(made));
    }
    xs_target_format(v->table, &v->target, v->name, sizeof v->name);
    open_ideal(v, isa);
    v->granule = xs_table_granule(v->table);
    v->is_arm = strncmp(target, "arm64", 5) == 0;
    v->disasm = o->table_text ? NULL : open_disasm(target);
    return STATUS_OK;
}

int view_open_target(view *v, const options *o, const char *target)
{
    return open_named(v, o, target, NULL);
}

int view_open(view *v, const options *o, const char *path, const char *arch, const char *isa)
{
    char target[256];
    *v = (view){0};
    const char *wanted = o->target ? o->target : o->arch;
    size_t len = wanted ? strcspn(wanted, "+-/") : 0;
    if (arch && wanted && (len != strlen(arch) || strncmp(arch, wanted, len) != 0))
        return complain(STATUS_INPUT, "%s: the file is %s, the target %.*s", path, arch, (int)len, wanted);
    if (o->target) return open_named(v, o, o->target, isa);
    const char *base = o->arch ? o->arch : arch ? arch : "arm64";
    snprintf(target, sizeof target, "%s/%s%s%s", base, o->kernel ? o->kernel : "", o->mode ? "/" : "",
             o->mode ? o->mode : "");
    return open_named(v, o, target, isa);
}

void view_close(view *v)
{
    xs_disasm_close(v->disasm);
    xs_classifier_free(v->classifier);
    xs_decoder_free(v->decoder);
    xs_decoder_free(v->ideal);
    xs_table_free(v->table);
    *v = (view){0};
}
