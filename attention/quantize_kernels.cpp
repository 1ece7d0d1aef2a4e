// SPDX-License-Identifier: Apache-2.0
#include "attention/quantize_kernels.hpp"

#include <optional>
#include <string>

#include "attention/log.hpp"
#include "tuner/binaries.hpp"
#include "zyfa/error.hpp"

namespace zyfa::call {

using templates::quantize::Kind;

QuantizeBinary::QuantizeBinary(std::shared_ptr<runtime::Runtime> runtime, int device,
                               std::vector<std::byte> elf, const Kind& kind)
    : module(std::move(runtime), device, std::move(elf)) {
    const std::string name = templates::quantize::kernel_name(kind);
    cast = module.function(name);
    largest = module.function(name + "_largest");
    if (kind.smooth) {
        sum = module.function(name + "_sum");
        mean = module.function(name + "_mean");
        lse = module.function(name + "_lse");
    }
}

const QuantizeBinary* QuantizeKernels::find(const Kind& kind, int device) {
    const std::lock_guard lock(lock_);
    const auto known = loaded_.find({kind, device});
    return known == loaded_.end() ? nullptr : known->second.get();
}

const QuantizeBinary& QuantizeKernels::get(const Kind& kind, int device) {
    if (const QuantizeBinary* known = find(kind, device))
        return *known;
    const std::lock_guard alone(making_);
    if (const QuantizeBinary* known = find(kind, device))
        return *known;
    auto binary = make(kind, device);
    const std::lock_guard lock(lock_);
    return *(loaded_[{kind, device}] = std::move(binary));
}

std::unique_ptr<const QuantizeBinary> QuantizeKernels::make(const Kind& kind, int device) {
    const templates::Kernel kernel = templates::quantize::make_kernel(kind);
    const BinaryKey identity = tuner::binary_key(kernel);
    const Digest key = identity.digest();
    const auto load = [&](std::vector<std::byte> elf) {
        const runtime::DeviceGuard guard(*services_.runtime(), device);
        return std::make_unique<const QuantizeBinary>(services_.runtime(), device, std::move(elf), kind);
    };
    const auto say = [&](const std::string& what) {
        log_line(options_, "quantize: " + kernel.name + ": " + what);
    };
    bool store = options_.mode != Mode::off;
    const auto load_stored = [&]() -> std::unique_ptr<const QuantizeBinary> {
        auto record = services_.cache().find_binary(key);
        if (!record)
            return nullptr;
        try {
            auto binary = load(std::move(record->code_object));
            say("loaded from the cache");
            return binary;
        } catch (const Error&) {
            ++counters_.damaged;
            return nullptr;
        }
    };
    std::optional<cache::Cache::KeyLock> lock;
    if (store) {
        if (auto binary = load_stored())
            return binary;
        lock.emplace(services_.cache().lock(key, options_.wait_s));
        if (lock->waited()) {
            ++counters_.waited;
            if (auto binary = load_stored())
                return binary;
        }
        if (!lock->held()) {
            store = false;
            ++counters_.unpublished;
        }
    }
    jit::CodeObject code = services_.assembler().assemble(kernel.assembly, kernel.target, kernel.name);
    ++counters_.assembled;
    std::string stored = store ? ", stored" : ", not stored";
    if (store) {
        try {
            cache::BinaryRecord record;
            record.key = key;
            record.key_text = identity.canonical();
            record.kernel_name = kernel.name;
            record.target = kernel.target;
            record.toolchain = code.toolchain;
            record.code_object = code.elf;
            services_.cache().publish_binary(record);
        } catch (const Error& error) {
            stored = std::string("; the binary could not be stored: ") + error.what();
        }
    }
    say("assembled by " + code.toolchain + stored);
    return load(std::move(code.elf));
}

} // namespace zyfa::call
