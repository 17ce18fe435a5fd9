/* The tables that come with the library. */
#ifndef XOLSIM_ARCH_H
#define XOLSIM_ARCH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Text of the .decode file that has this architecture ("arm64", "riscv64", "riscv32"), embedded in the
 * library; a static string of *len bytes. NULL and 0 when there is none. */
const char *xs_builtin_table(const char *arch, size_t *len);

/* Architectures with a built-in table, in order; NULL past the last. */
const char *xs_builtin_arch(size_t i);

#ifdef __cplusplus
}
#endif
#endif
