/* For arch/<isa>/simulate.c, after it has listed its OPERANDS(O) and QUIRKS(Q): their numbers, bits and
 * names, each list written once. Not installed, and included once in a file. */
#ifndef OPERANDS
#error "OPERANDS(O) and QUIRKS(Q) come before this file"
#endif

#define AS_ENUM(name) OP_##name,
enum { OPERANDS(AS_ENUM) OPERAND_COUNT };
#define AS_NAME(name) #name,
static const char *const operand_names[] = {OPERANDS(AS_NAME) NULL};
_Static_assert((int)OPERAND_COUNT <= (int)XS_SIM_OPERANDS, "xs_prepared has no room");

#define AS_BIT_NUMBER(id, name) NUMBER_##id,
enum { QUIRKS(AS_BIT_NUMBER) };
#define AS_BIT(id, name) id = 1 << NUMBER_##id,
enum { QUIRKS(AS_BIT) };
#define AS_QUIRK_NAME(id, name) name,
static const char *const quirk_names[] = {QUIRKS(AS_QUIRK_NAME) NULL};

/* The bit of an operand, for what a handler needs. */
#define N(operand) (UINT32_C(1) << OP_##operand)
