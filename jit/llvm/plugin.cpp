// SPDX-License-Identifier: Apache-2.0
// Entry points of libzyfa-llvm.so (plugin.h). No C++ exception leaves them.
#include "jit/llvm/plugin.h"
#include "jit/llvm/steps.hpp"

#include <chrono>
#include <exception>

#include <llvm/Config/llvm-config.h>

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

extern "C" __attribute__((visibility("default"))) const char* zyfa_llvm_version() {
    return LLVM_VERSION_STRING;
}

extern "C" __attribute__((visibility("default"))) int
zyfa_llvm_assemble(const char* text, size_t size, const char* file_name, const char* cpu,
                   const char* features, zyfa_llvm_output* output) {
    namespace backend = zyfa::jit::llvm_backend;
    try {
        auto start = std::chrono::steady_clock::now();
        const backend::Step assembled = backend::assemble({text, size}, file_name, cpu, features);
        output->assemble_ms = milliseconds_since(start);
        output->log(output->context, assembled.log.data(), assembled.log.size());
        if (!assembled.ok)
            return 1;
        start = std::chrono::steady_clock::now();
        const backend::Step linked = backend::link(assembled.bytes);
        output->link_ms = milliseconds_since(start);
        output->log(output->context, linked.log.data(), linked.log.size());
        if (!linked.ok)
            return 2;
        output->code_object(output->context, linked.bytes.data(), linked.bytes.size());
        return 0;
    } catch (const std::exception& error) {
        const std::string message = error.what();
        output->log(output->context, message.data(), message.size());
        return 3;
    }
}
