/* oracle/disasm: what Capstone 4 and Capstone 5 say of the same words. */
#include "../oracle/disasm.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT = 0x1000 }; /* address of every word */

/* NULL: Capstone has no opinion. Only words on which all releases of a major version agree. */
static const struct {
    xs_disasm_arch arch;
    unsigned size;
    uint32_t word;
    const char *capstone4, *capstone5;
} texts[] = {
    /* branches: the target is an address */
    {XS_DISASM_ARM64, 4, 0x14000001, "b #0x1004", "b #0x1004"},
    {XS_DISASM_ARM64, 4, 0x94000001, "bl #0x1004", "bl #0x1004"},
    {XS_DISASM_ARM64, 4, 0x54000163, "b.lo #0x102c", "b.lo #0x102c"},
    {XS_DISASM_ARM64, 4, 0xb4000061, "cbz x1, #0x100c", "cbz x1, #0x100c"},
    {XS_DISASM_ARM64, 4, 0x3643ffe7, "tbz w7, #8, #0x8ffc", "tbz w7, #8, #0x8ffc"},
    {XS_DISASM_ARM64, 4, 0xb643ffe7, "tbz x7, #0x28, #0x8ffc", "tbz x7, #0x28, #0x8ffc"},
    {XS_DISASM_ARM64, 4, 0xd61f0200, "br x16", "br x16"},
    {XS_DISASM_ARM64, 4, 0xd63f0120, "blr x9", "blr x9"},
    {XS_DISASM_ARM64, 4, 0xd65f03c0, "ret", "ret"},
    /* pc-relative data */
    {XS_DISASM_ARM64, 4, 0x10000041, "adr x1, #0x1008", "adr x1, #0x1008"},
    {XS_DISASM_ARM64, 4, 0xb0000008, "adrp x8, #0x2000", "adrp x8, #0x2000"},
    {XS_DISASM_ARM64, 4, 0x58000040, "ldr x0, #0x1008", "ldr x0, #0x1008"},
    /* ordinary words */
    {XS_DISASM_ARM64, 4, 0xd503201f, "nop", "nop"},
    {XS_DISASM_ARM64, 4, 0xa9bf7bfd, "stp x29, x30, [sp, #-0x10]!", "stp x29, x30, [sp, #-0x10]!"},
    {XS_DISASM_ARM64, 4, 0xfc008544, "str d4, [x10], #8", "str d4, [x10], #8"},
    {XS_DISASM_ARM64, 4, 0xd4207d00, "brk #0x3e8", "brk #0x3e8"},
    /* what the versions disagree on */
    {XS_DISASM_ARM64, 4, 0x52800060, "movz w0, #0x3", "mov w0, #3"},
    {XS_DISASM_ARM64, 4, 0xd503233f, "hint #0x19", "paciasp"},
    {XS_DISASM_ARM64, 4, 0xd65f0bff, NULL, "retaa"},
    {XS_DISASM_ARM64, 4, 0xd71f0a11, NULL, "braa x16, x17"},
    {XS_DISASM_ARM64, 4, 0x88a17c41, NULL, "cas w1, w1, [x2]"},
    {XS_DISASM_ARM64, 4, 0xdac11230, NULL, "autia x16, x17"},
    /* no instruction, or not of this size */
    {XS_DISASM_ARM64, 4, 0xffffffff, NULL, NULL},
    {XS_DISASM_ARM64, 2, 0xd503201f, NULL, NULL},
    {XS_DISASM_ARM64, 0, 0xd503201f, NULL, NULL},
    {XS_DISASM_ARM64, 3, 0xd503201f, NULL, NULL},
    {XS_DISASM_ARM64, 8, 0xd503201f, NULL, NULL},

    /* RISC-V: targets are printed as offsets from the instruction, not as addresses */
    {XS_DISASM_RISCV64, 4, 0x0100006f, NULL, "j 0x10"},
    {XS_DISASM_RISCV64, 4, 0xff1ff0ef, NULL, "jal -0x10"},
    {XS_DISASM_RISCV64, 4, 0xf60080e7, NULL, "jalr ra, ra, -0xa0"},
    {XS_DISASM_RISCV64, 4, 0x00008067, NULL, "ret"},
    {XS_DISASM_RISCV64, 4, 0x00050463, NULL, "beqz a0, 8"},
    {XS_DISASM_RISCV64, 4, 0x00019097, NULL, "auipc ra, 0x19"},
    {XS_DISASM_RISCV64, 4, 0x94253503, NULL, "ld a0, -0x6be(a0)"},
    {XS_DISASM_RISCV64, 4, 0x100525af, NULL, "lr.w a1, (a0)"},
    {XS_DISASM_RISCV64, 4, 0x00100073, NULL, "ebreak"},
    {XS_DISASM_RISCV64, 2, 0x0001, NULL, "c.nop"},
    {XS_DISASM_RISCV64, 2, 0x8082, NULL, "c.jr ra"},
    {XS_DISASM_RISCV64, 2, 0xa021, NULL, "c.j 8"},
    {XS_DISASM_RISCV64, 2, 0x9002, NULL, "c.ebreak"},
    {XS_DISASM_RISCV64, 2, 0xc398, NULL, "c.sw a4, 0(a5)"},
    {XS_DISASM_RISCV64, 2, 0xc686, NULL, "c.swsp ra, 0x4c(sp)"},
    {XS_DISASM_RISCV32, 4, 0x010000ef, NULL, "jal 0x10"},
    {XS_DISASM_RISCV32, 2, 0x2005, NULL, "c.jal 0x20"},
    {XS_DISASM_RISCV32, 4, 0x94253503, NULL, NULL}, /* ld is RV64 only */
    {XS_DISASM_RISCV64, 4, 0x000090e7, NULL, NULL}, /* jalr with funct3 = 1 */
    {XS_DISASM_RISCV64, 4, 0xffffffff, NULL, NULL},
    {XS_DISASM_RISCV64, 2, 0x0004, NULL, NULL},     /* reserved */
    {XS_DISASM_RISCV64, 4, 0x00000001, NULL, NULL}, /* c.nop is 2 bytes */
    {XS_DISASM_RISCV64, 2, 0x8067, NULL, NULL},     /* half of ret */
};

static const struct {
    xs_disasm_arch arch;
    unsigned size;
    uint32_t word;
    unsigned capstone4, capstone5; /* bits that must be there; groups vary between releases */
} groups[] = {
    {XS_DISASM_ARM64, 4, 0x14000001, XS_DISASM_JUMP | XS_DISASM_BRANCH_RELATIVE,
     XS_DISASM_JUMP | XS_DISASM_BRANCH_RELATIVE},
    {XS_DISASM_ARM64, 4, 0x94000001, XS_DISASM_BRANCH_RELATIVE, XS_DISASM_CALL | XS_DISASM_BRANCH_RELATIVE},
    {XS_DISASM_ARM64, 4, 0xb4000061, XS_DISASM_BRANCH_RELATIVE, XS_DISASM_BRANCH_RELATIVE},
    {XS_DISASM_ARM64, 4, 0xd61f0200, XS_DISASM_JUMP, XS_DISASM_JUMP},
    {XS_DISASM_ARM64, 4, 0xd65f03c0, XS_DISASM_RETURN, XS_DISASM_RETURN},
    {XS_DISASM_ARM64, 4, 0xd4000001, XS_DISASM_INTERRUPT, XS_DISASM_INTERRUPT},
    {XS_DISASM_ARM64, 4, 0xd53bd041, XS_DISASM_PRIVILEGED, XS_DISASM_PRIVILEGED},
    {XS_DISASM_RISCV64, 4, 0x00050463, 0, XS_DISASM_JUMP},
};

static bool is_capstone4(void)
{
    return strncmp(xs_disasm_version(), "Capstone 4.", 11) == 0;
}

static bool is_riscv(xs_disasm_arch arch)
{
    return arch != XS_DISASM_ARM64;
}

START_TEST(text_is_capstones)
{
    const char *want = is_capstone4() ? texts[_i].capstone4 : texts[_i].capstone5;
    xs_disasm *disasm = xs_disasm_open(texts[_i].arch);
    xs_disasm_text text;
    memset(&text, 'x', sizeof text);
    bool known = xs_disasm_word(disasm, texts[_i].word, texts[_i].size, AT, &text);
    char got[sizeof text + 1];
    snprintf(got, sizeof got, "%s%s%s", text.mnemonic, *text.operands ? " " : "", text.operands);
    ck_assert_msg(known == (want != NULL), "%08x: known is %d, text is '%s'", texts[_i].word, known, got);
    ck_assert_str_eq(got, want ? want : "");
    xs_disasm_close(disasm);
}
END_TEST

START_TEST(groups_are_capstones)
{
    unsigned want = is_capstone4() ? groups[_i].capstone4 : groups[_i].capstone5, got = ~0u;
    bool can = !(is_capstone4() && is_riscv(groups[_i].arch));
    xs_disasm *disasm = xs_disasm_open(groups[_i].arch);
    ck_assert(xs_disasm_groups(disasm, groups[_i].word, groups[_i].size, &got) == can);
    ck_assert_msg((got & want) == want, "%08x: groups %x, want at least %x", groups[_i].word, got, want);
    xs_disasm_close(disasm);
}
END_TEST

START_TEST(plain_words_have_no_groups)
{
    xs_disasm *disasm = xs_disasm_open(XS_DISASM_ARM64);
    unsigned got = ~0u;
    ck_assert(xs_disasm_groups(disasm, 0xa9bf7bfd, 4, &got)); /* stp */
    ck_assert_uint_eq(got, 0);
    got = ~0u;
    ck_assert(!xs_disasm_groups(disasm, 0xffffffff, 4, &got));
    ck_assert_uint_eq(got, 0);
    xs_disasm_close(disasm);
}
END_TEST

START_TEST(text_and_groups_do_not_disturb_each_other)
{
    xs_disasm *disasm = xs_disasm_open(XS_DISASM_ARM64);
    xs_disasm_text text;
    unsigned got;
    for (int i = 0; i < 3; i++) {
        ck_assert(xs_disasm_word(disasm, 0x14000001, 4, UINT64_C(0xffffffc008000000), &text));
        ck_assert_str_eq(text.operands, "#0xffffffc008000004");
        ck_assert(xs_disasm_groups(disasm, 0xd65f03c0, 4, &got));
        ck_assert_uint_eq(got, XS_DISASM_RETURN);
        ck_assert(!xs_disasm_word(disasm, 0xffffffff, 4, 0, &text));
        ck_assert(!xs_disasm_groups(disasm, 0xffffffff, 4, &got));
    }
    xs_disasm_close(disasm);
}
END_TEST

START_TEST(riscv_needs_capstone5)
{
    xs_disasm *rv32 = xs_disasm_open(XS_DISASM_RISCV32), *rv64 = xs_disasm_open(XS_DISASM_RISCV64);
    ck_assert((rv32 == NULL) == is_capstone4());
    ck_assert((rv64 == NULL) == is_capstone4());
    xs_disasm_close(rv32);
    xs_disasm_close(rv64);
}
END_TEST

START_TEST(no_disassembler_has_no_opinion)
{
    xs_disasm_text text;
    unsigned got = ~0u;
    memset(&text, 'x', sizeof text);
    ck_assert(!xs_disasm_word(NULL, 0xd503201f, 4, 0, &text));
    ck_assert_str_eq(text.mnemonic, "");
    ck_assert_str_eq(text.operands, "");
    ck_assert(!xs_disasm_groups(NULL, 0xd503201f, 4, &got));
    ck_assert_uint_eq(got, 0);
    xs_disasm_close(NULL);
}
END_TEST

START_TEST(unknown_architecture_cannot_be_opened)
{
    ck_assert_ptr_null(xs_disasm_open((xs_disasm_arch)99));
}
END_TEST

START_TEST(version_says_what_is_known)
{
    const char *version = xs_disasm_version();
    ck_assert_msg(strncmp(version, "Capstone ", 9) == 0, "%s", version);
    ck_assert_ptr_nonnull(strstr(version, "AArch64"));
    ck_assert((strstr(version, "RISC-V") == NULL) == is_capstone4());
}
END_TEST

/* A run that is meant for one major version, such as tests/capstone5, says so in XOLSIM_CAPSTONE. */
START_TEST(version_is_the_one_meant)
{
    const char *meant = getenv("XOLSIM_CAPSTONE");
    if (!meant) return;
    char want[32];
    int length = snprintf(want, sizeof want, "Capstone %s.", meant);
    ck_assert_msg(strncmp(xs_disasm_version(), want, (size_t)length) == 0, "%s", xs_disasm_version());
}
END_TEST

Suite *oracle_suite(void);

Suite *oracle_suite(void)
{
    Suite *suite = suite_create("oracle");
    TCase *disasm = tcase_create("disasm");
    tcase_add_loop_test(disasm, text_is_capstones, 0, sizeof texts / sizeof *texts);
    tcase_add_loop_test(disasm, groups_are_capstones, 0, sizeof groups / sizeof *groups);
    tcase_add_test(disasm, plain_words_have_no_groups);
    tcase_add_test(disasm, text_and_groups_do_not_disturb_each_other);
    tcase_add_test(disasm, riscv_needs_capstone5);
    tcase_add_test(disasm, no_disassembler_has_no_opinion);
    tcase_add_test(disasm, unknown_architecture_cannot_be_opened);
    tcase_add_test(disasm, version_says_what_is_known);
    tcase_add_test(disasm, version_is_the_one_meant);
    suite_add_tcase(suite, disasm);
    return suite;
}
