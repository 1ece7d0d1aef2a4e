// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing but the installed package: prepares a shape on the simulator, and is refused
// politely.
#include <cstdio>
#include <string>

#include <zyfa/attention.hpp>
#include <zyfa/context.hpp>

int main() {
    try {
        zyfa::ContextOptions options;
        options.device = "sim";
        options.cache_dir = ":memory:";
        options.mode = zyfa::Mode::off;
        zyfa::Context context(options);
        const zyfa::Problem problem =
            zyfa::Problem::contiguous(zyfa::DType::bf16, 1, 8, 2, 512, 512, 128, 128, zyfa::Mask::causal);
        const zyfa::Explanation explanation = context.prepare(problem);
        std::printf("%s by %s\n", explanation.schedule.c_str(), explanation.toolchain.c_str());
        if (!explanation.resident || explanation.kernel.empty() || explanation.toolchain.empty())
            return 1;
        try {
            context.attention({});
        } catch (const zyfa::Error& error) {
            std::printf("refused: %s\n", error.what());
            return error.code() == zyfa::ErrorCode::invalid_argument ? 0 : 1;
        }
    } catch (const zyfa::Error& error) {
        std::printf("%s: %s\n", zyfa::to_string(error.code()), error.what());
    }
    return 1;
}
