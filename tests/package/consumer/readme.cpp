// SPDX-License-Identifier: Apache-2.0
// The C++ example of the README, as it stands there, on device memory of the process-wide context. V is all
// ones, so that every output element is 1.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <zyfa/memory.hpp>
// The example's own include comes again below, inside of a function, where its guard makes it empty.
#include <zyfa/context.hpp>

int main() {
    zyfa::Context& context = zyfa::Context::global();
    const std::size_t q_count = 8 * 512 * 128, kv_count = 2 * 512 * 128;
    const auto upload = [&](std::size_t count, std::uint16_t code) {
        const std::vector<std::uint16_t> values(count, code);
        void* memory = zyfa::device_allocate(context, 2 * count);
        zyfa::copy_to_device(context, memory, values.data(), 2 * count);
        return memory;
    };
    void *q = upload(q_count, 0x3f80), *k = upload(kv_count, 0x3f80), *v = upload(kv_count, 0x3f80); // 1.0
    void* o = upload(q_count, 0);
    auto* lse = static_cast<float*>(zyfa::device_allocate(context, 8 * 512 * sizeof(float)));
    void* stream = nullptr;
    {
#include README_EXAMPLE
    }
    zyfa::synchronize(context);
    std::vector<std::uint16_t> out(q_count);
    std::vector<float> logs(8 * 512);
    zyfa::copy_to_host(context, out.data(), o, 2 * q_count);
    zyfa::copy_to_host(context, logs.data(), lse, logs.size() * sizeof(float));
    for (const std::uint16_t code : out)
        if (code != 0x3f80)
            return 1;
    // Row i sees i + 1 keys of score 128 / sqrt(128).
    for (std::size_t i = 0; i < logs.size(); ++i)
        if (std::fabs(logs[i] - (std::sqrt(128.0) + std::log(static_cast<double>(i % 512) + 1))) > 1e-4)
            return 1;
    std::printf("every output element is 1, every log-sum-exp as it should be\n");
    return 0;
}
