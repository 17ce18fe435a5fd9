#include "disasm.h"

#include <stdio.h>
#include <stdlib.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* CS_MODE_BIG_ENDIAN = 1 << 31, in an enum */
#include <capstone.h>
#pragma GCC diagnostic pop

struct xs_disasm {
    csh handle;
    cs_insn *insn; /* with room for details; used again for every word */
};

_Static_assert(sizeof(((cs_insn *)0)->mnemonic) <= sizeof(((xs_disasm_text *)0)->mnemonic), "mnemonic fits");
_Static_assert(sizeof(((cs_insn *)0)->op_str) <= sizeof(((xs_disasm_text *)0)->operands), "operands fit");

static bool capstone_mode(xs_disasm_arch arch, cs_arch *cs, cs_mode *mode)
{
    switch (arch) {
    case XS_DISASM_ARM64:
        *cs = CS_ARCH_ARM64;
        *mode = CS_MODE_LITTLE_ENDIAN;
        return cs_support(CS_ARCH_ARM64);
#if CS_API_MAJOR >= 5
    case XS_DISASM_RISCV32:
    case XS_DISASM_RISCV64:
        *cs = CS_ARCH_RISCV;
        *mode = (cs_mode)(CS_MODE_RISCVC | (arch == XS_DISASM_RISCV32 ? CS_MODE_RISCV32 : CS_MODE_RISCV64));
        return cs_support(CS_ARCH_RISCV);
#endif
    default: return false;
    }
}

xs_disasm *xs_disasm_open(xs_disasm_arch arch)
{
    cs_arch cs;
    cs_mode mode;
    if (!capstone_mode(arch, &cs, &mode)) return NULL;
    xs_disasm *disasm = malloc(sizeof *disasm);
    if (!disasm) return NULL;
    if (cs_open(cs, mode, &disasm->handle) != CS_ERR_OK) {
        free(disasm);
        return NULL;
    }
    /* cs_malloc makes room for details only while they are on. */
    cs_option(disasm->handle, CS_OPT_DETAIL, CS_OPT_ON);
    disasm->insn = cs_malloc(disasm->handle);
    cs_option(disasm->handle, CS_OPT_DETAIL, CS_OPT_OFF);
    if (!disasm->insn) {
        xs_disasm_close(disasm);
        return NULL;
    }
    return disasm;
}

void xs_disasm_close(xs_disasm *disasm)
{
    if (!disasm) return;
    if (disasm->insn) cs_free(disasm->insn, 1);
    cs_close(&disasm->handle);
    free(disasm);
}

/* Decode into disasm->insn; false when Capstone refuses or sees another size. */
static bool decode(xs_disasm *disasm, uint32_t word, unsigned size, uint64_t addr)
{
    if (!disasm || (size != 2 && size != 4)) return false;
    const uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16),
                              (uint8_t)(word >> 24)};
    const uint8_t *code = bytes;
    size_t left = size;
    return cs_disasm_iter(disasm->handle, &code, &left, &addr, disasm->insn) && left == 0;
}

bool xs_disasm_word(xs_disasm *disasm, uint32_t word, unsigned size, uint64_t addr, xs_disasm_text *text)
{
    bool known = decode(disasm, word, size, addr);
    snprintf(text->mnemonic, sizeof text->mnemonic, "%s", known ? disasm->insn->mnemonic : "");
    snprintf(text->operands, sizeof text->operands, "%s", known ? disasm->insn->op_str : "");
    return known;
}

bool xs_disasm_groups(xs_disasm *disasm, uint32_t word, unsigned size, unsigned *groups)
{
    static const struct {
        unsigned capstone;
        xs_disasm_group ours;
    } names[] = {
        {CS_GRP_JUMP, XS_DISASM_JUMP},
        {CS_GRP_CALL, XS_DISASM_CALL},
        {CS_GRP_RET, XS_DISASM_RETURN},
        {CS_GRP_INT, XS_DISASM_INTERRUPT},
        {CS_GRP_IRET, XS_DISASM_INTERRUPT},
        {CS_GRP_PRIVILEGE, XS_DISASM_PRIVILEGED},
        {CS_GRP_BRANCH_RELATIVE, XS_DISASM_BRANCH_RELATIVE},
    };
    *groups = 0;
    if (!disasm) return false;
    cs_option(disasm->handle, CS_OPT_DETAIL, CS_OPT_ON);
    bool known = decode(disasm, word, size, 0);
    for (size_t i = 0; known && i < sizeof names / sizeof *names; i++)
        if (cs_insn_group(disasm->handle, disasm->insn, names[i].capstone))
            *groups |= (unsigned)names[i].ours;
    cs_option(disasm->handle, CS_OPT_DETAIL, CS_OPT_OFF);
    return known;
}

#define STRING_OF(x)  #x
#define NUMBER(macro) STRING_OF(macro)
#define CAPSTONE      "Capstone " NUMBER(CS_API_MAJOR) "." NUMBER(CS_API_MINOR) "." NUMBER(CS_VERSION_EXTRA)

const char *xs_disasm_version(void)
{
#if CS_API_MAJOR >= 5
    if (cs_support(CS_ARCH_ARM64) && cs_support(CS_ARCH_RISCV)) return CAPSTONE " (AArch64, RISC-V)";
    if (cs_support(CS_ARCH_RISCV)) return CAPSTONE " (RISC-V)";
#endif
    return cs_support(CS_ARCH_ARM64) ? CAPSTONE " (AArch64)" : CAPSTONE " (neither AArch64 nor RISC-V)";
}
