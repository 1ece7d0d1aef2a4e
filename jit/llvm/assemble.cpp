// SPDX-License-Identifier: Apache-2.0
// Assembly text to a relocatable ELF with LLVM's MC layer, as llvm-mc -filetype=obj does.
#include "jit/llvm/steps.hpp"

#include <memory>

#include <llvm/ADT/SmallVector.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

extern "C" void LLVMInitializeAMDGPUTargetInfo();
extern "C" void LLVMInitializeAMDGPUTargetMC();
extern "C" void LLVMInitializeAMDGPUAsmParser();

namespace zyfa::jit::llvm_backend {
namespace {

const llvm::Triple& triple() {
    static const llvm::Triple amdhsa("amdgcn-amd-amdhsa");
    return amdhsa;
}

const llvm::Target* amdgpu_target(std::string& error) {
    static const bool registered = [] {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUAsmParser();
        return true;
    }();
    (void)registered;
    return llvm::TargetRegistry::lookupTarget(triple(), error);
}

} // namespace

Step assemble(std::string_view text, const char* file_name, const char* cpu, const char* features) {
    Step step;
    const llvm::Target* target = amdgpu_target(step.log);
    if (!target)
        return step;

    llvm::raw_string_ostream log(step.log);
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text.data(), text.size()), file_name),
        llvm::SMLoc());
    sources.setDiagHandler(
        [](const llvm::SMDiagnostic& diagnostic, void* stream) {
            diagnostic.print(nullptr, *static_cast<llvm::raw_string_ostream*>(stream), /*ShowColors=*/false);
        },
        &log);

    const llvm::MCTargetOptions options;
    const std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple()));
    const std::unique_ptr<llvm::MCAsmInfo> asm_info(target->createMCAsmInfo(*registers, triple(), options));
    const std::unique_ptr<llvm::MCInstrInfo> instructions(target->createMCInstrInfo());
    // LLVM prints on stderr when asked for a processor it does not know, so ask first.
    const auto known =
        std::unique_ptr<llvm::MCSubtargetInfo>(target->createMCSubtargetInfo(triple(), "", ""));
    if (!known->isCPUStringValid(cpu)) {
        log << "unknown processor " << cpu << '\n';
        return step;
    }
    const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
        target->createMCSubtargetInfo(triple(), cpu, features));

    llvm::MCContext context(triple(), asm_info.get(), registers.get(), subtarget.get(), &sources, &options);
    const std::unique_ptr<llvm::MCObjectFileInfo> file_info(
        target->createMCObjectFileInfo(context, /*PIC=*/true));
    context.setObjectFileInfo(file_info.get());

    llvm::SmallVector<char, 0> object;
    llvm::raw_svector_ostream object_stream(object);
    std::unique_ptr<llvm::MCAsmBackend> backend(target->createMCAsmBackend(*subtarget, *registers, options));
    std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(object_stream);
    std::unique_ptr<llvm::MCCodeEmitter> emitter(target->createMCCodeEmitter(*instructions, context));
    const std::unique_ptr<llvm::MCStreamer> streamer(target->createMCObjectStreamer(
        triple(), context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
    const std::unique_ptr<llvm::MCAsmParser> parser(
        llvm::createMCAsmParser(sources, context, *streamer, *asm_info));
    const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
        target->createMCAsmParser(*subtarget, *parser, *instructions, options));
    parser->setTargetParser(*target_parser);

    step.ok = !parser->Run(/*NoInitialTextSection=*/false) && !context.hadError();
    if (step.ok)
        step.bytes.assign(object.begin(), object.end());
    return step;
}

} // namespace zyfa::jit::llvm_backend
