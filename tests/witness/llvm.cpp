// What LLVM's instruction descriptions say of a word.
#include "llvm.h"

#include <cstring>
#include <memory>
#include <string>

#include <llvm/Config/llvm-config.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#if LLVM_VERSION_MAJOR >= 22
#define NAME_OF(triple) (triple)
#else
#define NAME_OF(triple) (triple).str()
#endif

using namespace llvm;

namespace
{
struct Machine {
    Triple triple;
    std::unique_ptr<MCRegisterInfo> registers;
    std::unique_ptr<MCAsmInfo> assembly;
    std::unique_ptr<MCSubtargetInfo> subtarget;
    std::unique_ptr<MCInstrInfo> instructions;
    std::unique_ptr<MCContext> context;
    std::unique_ptr<MCDisassembler> disassembler;
};
Machine machine;

#if LLVM_VERSION_MAJOR >= 17
bool startsWith(const std::string &text, const char *prefix)
{
    return text.compare(0, std::strlen(prefix), prefix) == 0;
}

// RISC-V: what is standard and does not exclude what the tables hold. Vendors' extensions begin with an x;
// those on integer registers in place of F and D end in inx; E has half of the registers; Zclsd and Zcmp,
// Zcmt take the place of the compressed loads and stores of F and D.
bool isWanted(std::string feature)
{
    if (startsWith(feature, "experimental-")) feature = feature.substr(13);
    for (const char *other : {"e", "zce", "zclsd", "zcmp", "zcmt"})
        if (feature == other) return false;
    bool standard = feature.size() == 1 || feature[0] == 'z' || feature[0] == 's';
    return standard && feature.find("inx") == std::string::npos;
}

std::string riscvFeatures()
{
    std::string all = "+m";
    for (const SubtargetFeatureKV &f : machine.subtarget->getAllProcessorFeatures())
        if (isWanted(f.Key)) all += std::string(",+") + f.Key;
    return all;
}
#else
std::string riscvFeatures() // it cannot be asked for their names
{
    return "+m,+a,+f,+d,+c";
}
#endif

std::string featuresOf(const char *arch, bool zc)
{
    if (std::strcmp(arch, "arm64") == 0)
        return LLVM_VERSION_MAJOR >= 16 ? "+all" : "+v8.7a,+sve2,+sme,+mops,+hbc,+tme,+ls64";
    return zc ? "+m,+a,+f,+zca,+zcmp,+zcmt" : riscvFeatures();
}

bool makeSubtarget(const Target *target, const std::string &features)
{
    machine.subtarget.reset(target->createMCSubtargetInfo(NAME_OF(machine.triple), "", features));
    return machine.subtarget != nullptr;
}

bool makeDisassembler(const Target *target)
{
    MCTargetOptions options;
    machine.registers.reset(target->createMCRegInfo(NAME_OF(machine.triple)));
    machine.assembly.reset(target->createMCAsmInfo(*machine.registers, NAME_OF(machine.triple), options));
    machine.instructions.reset(target->createMCInstrInfo());
    machine.context.reset(new MCContext(machine.triple, machine.assembly.get(), machine.registers.get(),
                                        machine.subtarget.get()));
    machine.disassembler.reset(target->createMCDisassembler(*machine.subtarget, *machine.context));
    return machine.disassembler != nullptr;
}

bool isPcRelative(const MCInstrDesc &d)
{
    for (unsigned i = 0; i < d.getNumOperands(); i++) {
#if LLVM_VERSION_MAJOR >= 16
        const MCOperandInfo &operand = d.operands()[i];
#else
        const MCOperandInfo &operand = d.OpInfo[i];
#endif
        if (operand.OperandType == MCOI::OPERAND_PCREL) return true;
    }
    return false;
}

bool changesFlow(const MCInst &inst, const MCInstrDesc &d)
{
    return d.isBranch() || d.isCall() || d.isReturn() || d.isIndirectBranch() ||
           d.mayAffectControlFlow(inst, *machine.registers);
}
} // namespace

const char *llvm_version(void)
{
    return LLVM_VERSION_STRING;
}

int llvm_open(const char *arch, int zc)
{
    std::string why;
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64Disassembler();
    LLVMInitializeRISCVTargetInfo();
    LLVMInitializeRISCVTargetMC();
    LLVMInitializeRISCVDisassembler();
    machine = Machine();
    machine.triple =
        Triple(std::string(std::strcmp(arch, "arm64") == 0 ? "aarch64" : arch) + "-unknown-linux-gnu");
    const Target *target = TargetRegistry::lookupTarget(NAME_OF(machine.triple), why);
    if (!target || !makeSubtarget(target, "")) return 0;
    return makeSubtarget(target, featuresOf(arch, zc)) && makeDisassembler(target);
}

llvm_said llvm_say(uint32_t word, unsigned size)
{
    const uint8_t bytes[4] = {uint8_t(word), uint8_t(word >> 8), uint8_t(word >> 16), uint8_t(word >> 24)};
    MCInst inst;
    uint64_t length = 0;
    auto status =
        machine.disassembler->getInstruction(inst, length, ArrayRef<uint8_t>(bytes, size), 0x10000, nulls());
    if (status != MCDisassembler::Success || length != size) return {0, nullptr};
    const MCInstrDesc &d = machine.instructions->get(inst.getOpcode());
    unsigned flags = LLVM_KNOWN;
    if (changesFlow(inst, d)) flags |= LLVM_BRANCH;
    if (d.isReturn()) flags |= LLVM_RETURN;
    if (isPcRelative(d)) flags |= LLVM_PCREL;
    return {flags, machine.instructions->getName(inst.getOpcode()).data()};
}
