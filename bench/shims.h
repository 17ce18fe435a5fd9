/* The decoders of others that are C++: each is there only when its package is. Not installed. */
#ifndef BENCH_SHIMS_H
#define BENCH_SHIMS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* arch: arm64 or riscv64. NULL: that LLVM lacks it. Lives as long as the program. */
void *bench_llvm_new(const char *arch);
const char *bench_llvm_version(void);

/* Decode text from its first byte to its last without making text of it. Returns the instructions begun,
 * those that it does not know included; *unknown: how many these are. */
size_t bench_llvm_run(void *llvm, const uint8_t *text, size_t size, size_t *unknown);

void *bench_vixl_new(void);
size_t bench_vixl_run(void *vixl, const uint8_t *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
