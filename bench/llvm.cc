// LLVM's MC layer, used the fastest way there is: getInstruction into one MCInst, no text.
#include <llvm-c/Target.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "shims.h"

namespace
{
struct disassembler {
    std::unique_ptr<llvm::MCRegisterInfo> registers;
    std::unique_ptr<llvm::MCAsmInfo> assembler;
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
    std::unique_ptr<llvm::MCContext> context;
    std::unique_ptr<llvm::MCDisassembler> decoder;
    unsigned granule = 4;
};

void initialize()
{
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64Disassembler();
    LLVMInitializeRISCVTargetInfo();
    LLVMInitializeRISCVTargetMC();
    LLVMInitializeRISCVDisassembler();
}

// Everything that llvm-objdump would know, so that little is refused.
const char *features(bool riscv)
{
    if (riscv) return "+m,+a,+f,+d,+c";
    return LLVM_VERSION_MAJOR >= 16 ? "+all" : "+v8.7a,+sve2,+mte";
}

#if LLVM_VERSION_MAJOR >= 22
const llvm::Triple &key(const llvm::Triple &triple)
{
    return triple;
}
#else
const std::string &key(const llvm::Triple &triple)
{
    return triple.str();
}
#endif
} // namespace

const char *bench_llvm_version(void)
{
    return LLVM_VERSION_STRING;
}

void *bench_llvm_new(const char *arch)
{
    initialize();
    const bool riscv = std::strcmp(arch, "riscv64") == 0;
    const llvm::Triple triple(riscv ? "riscv64-linux-gnu" : "aarch64-linux-gnu");
    std::string why;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(key(triple), why);
    if (!target) return nullptr;
    auto d = std::make_unique<disassembler>();
    d->granule = riscv ? 2 : 4;
    d->registers.reset(target->createMCRegInfo(key(triple)));
    if (d->registers)
        d->assembler.reset(target->createMCAsmInfo(*d->registers, key(triple), llvm::MCTargetOptions()));
    d->subtarget.reset(target->createMCSubtargetInfo(key(triple), "", features(riscv)));
    if (!d->assembler || !d->subtarget) return nullptr;
    d->context =
        std::make_unique<llvm::MCContext>(triple, d->assembler.get(), d->registers.get(), d->subtarget.get());
    d->decoder.reset(target->createMCDisassembler(*d->subtarget, *d->context));
    if (!d->decoder) return nullptr;
    static std::vector<std::unique_ptr<disassembler>> all; // never freed before the end
    all.push_back(std::move(d));
    return all.back().get();
}

size_t bench_llvm_run(void *llvm, const uint8_t *text, size_t size, size_t *unknown)
{
    const disassembler *d = static_cast<const disassembler *>(llvm);
    const llvm::ArrayRef<uint8_t> bytes(text, size);
    llvm::MCInst instruction;
    size_t begun = 0;
    *unknown = 0;
    for (size_t at = 0; at < size; begun++) {
        uint64_t length = 0;
        instruction.clear();
        if (d->decoder->getInstruction(instruction, length, bytes.slice(at), at, llvm::nulls()) ==
            llvm::MCDisassembler::Fail) {
            ++*unknown;
            if (length == 0) length = d->granule;
        }
        at += length;
    }
    return begun;
}
