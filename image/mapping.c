/* Mapping symbols and RISC-V ISA strings.
 * References: ELF for the Arm 64-bit Architecture (AAELF64), "Mapping symbols"; RISC-V ELF psABI, "Mapping
 * Symbol"; the RISC-V unprivileged manual, "ISA Extension Naming Conventions". */
#include "internal.h"

#include <ctype.h>
#include <string.h>

static const char *isa_of(img_loading *loading, const char *isa)
{
    size_t length = strcspn(isa, "."); /* a suffix only makes the symbol unique */
    return isa[length] ? img_string(loading, "%.*s", (int)length, isa) : isa;
}

/* "$x", "$d", "$x.anything", "$d.anything"; RISC-V also "$xrv64i2p1_...". */
bool img_mapping_symbol(img_loading *loading, const char *name, img_mark *mark)
{
    if (name[0] != '$' || (name[1] != 'x' && name[1] != 'd')) return false;
    mark->data = name[1] == 'd';
    mark->isa = NULL;
    if (!name[2] || name[2] == '.') return true;
    bool isa = loading->image.arch != XS_IMAGE_ARM64 && !mark->data && name[2] == 'r' && name[3] == 'v';
    if (isa) mark->isa = isa_of(loading, name + 2);
    return isa;
}

/* Behind a letter's version, "2" or "2p1". */
static const char *skip_version(const char *at)
{
    while (isdigit((unsigned char)*at))
        at++;
    if (*at == 'p' && isdigit((unsigned char)at[1])) {
        for (at++; isdigit((unsigned char)*at);)
            at++;
    }
    return at;
}

/* "c", or "zca", which is C without its floating-point part. */
bool xs_isa_has_c(const char *isa)
{
    if (!isa || strncmp(isa, "rv", 2) != 0) return false;
    const char *at = isa + 2;
    while (isdigit((unsigned char)*at))
        at++;
    while (*at) {
        if (*at == '_') {
            at++;
        } else if (strchr("zsx", *at)) { /* the name of one extension, to the next '_' */
            if (!strncmp(at, "zca", 3) && !isalpha((unsigned char)at[3])) return true;
            at += strcspn(at, "_");
        } else if (*at == 'c') {
            return true;
        } else {
            at = skip_version(at + 1);
        }
    }
    return false;
}
