/* System.map and /proc/kallsyms: lines of ADDRESS TYPE NAME, in the latter also [MODULE]. */
#include "vmlinux_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The whole file, NUL-terminated; NULL when it cannot be read. */
static char *read_text(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    if (f && getdelim(&text, &room, '\0', f) < 0) {
        free(text);
        text = NULL;
    }
    if (f) fclose(f);
    return text;
}

/* False: no such line. A name in a module is none of the kernel's, and *name is then NULL. */
static bool parse_line(char *line, uint64_t *addr, const char **name)
{
    char *save = NULL, *end, *number = strtok_r(line, " \t\r", &save), *type = strtok_r(NULL, " \t\r", &save);
    *name = strtok_r(NULL, " \t\r", &save);
    if (!number || !type || !*name || strlen(type) != 1) return false;
    *addr = strtoull(number, &end, 16);
    if (*end) return false;
    if (strtok_r(NULL, " \t\r", &save) || **name == '$') *name = NULL;
    return true;
}

xs_image_status krn_read_map(krn_loading *loading, const char *path)
{
    char *save = NULL;
    uint64_t addr, any = 0;
    const char *name;
    loading->map = read_text(path);
    if (!loading->map)
        return krn_fail(loading, XS_IMAGE_E_OPEN, "%s: %s", path, "cannot be read, or is empty");
    for (char *line = strtok_r(loading->map, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (!parse_line(line, &addr, &name))
            return krn_fail(loading, XS_IMAGE_E_FORMAT, "%s: %s", path,
                            "no System.map: lines of ADDRESS TYPE NAME");
        any |= addr;
        if (name && !krn_add_symbol(loading, addr, name))
            return krn_fail(loading, XS_IMAGE_E_NOMEM, "%s: %s", path, "out of memory");
    }
    return any ? XS_IMAGE_OK
               : krn_fail(loading, XS_IMAGE_E_FORMAT, "%s: %s", path,
                          "all addresses are 0: kallsyms shows them to root only");
}
