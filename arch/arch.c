/* The tables that come with the library; their text is made by the Makefile from the .decode files. */
#include "arch.h"

#include <string.h>

extern const char xs_arm64_decode[], xs_riscv_decode[];
extern const size_t xs_arm64_decode_len, xs_riscv_decode_len;

static const struct {
    const char *arch, *text;
    const size_t *len;
} builtin[] = {
    {"arm64", xs_arm64_decode, &xs_arm64_decode_len},
    {"riscv64", xs_riscv_decode, &xs_riscv_decode_len},
    {"riscv32", xs_riscv_decode, &xs_riscv_decode_len},
};

const char *xs_builtin_arch(size_t i)
{
    return i < sizeof builtin / sizeof *builtin ? builtin[i].arch : NULL;
}

const char *xs_builtin_table(const char *arch, size_t *len)
{
    *len = 0;
    for (size_t i = 0; xs_builtin_arch(i); i++) {
        if (strcmp(builtin[i].arch, arch) != 0) continue;
        *len = *builtin[i].len;
        return builtin[i].text;
    }
    return NULL;
}
