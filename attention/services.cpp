// SPDX-License-Identifier: Apache-2.0
// Opening HIP, the assembler and the cache at first need.
#include "attention/services.hpp"

#include "attention/log.hpp"
#include "core/environment.hpp"
#include "runtime/hip_api.hpp"
#include "zyfa/error.hpp"

namespace zyfa::call {

const std::shared_ptr<runtime::Runtime>& Services::runtime() {
    const std::lock_guard lock(opening_);
    if (!runtime_)
        runtime_ = runtime::Runtime::open(options_.device, options_.hip_library);
    return runtime_;
}

jit::Assembler& Services::assembler() {
    const std::lock_guard lock(opening_);
    if (!assembler_) {
        jit::ToolchainReport report;
        assembler_ = jit::make_assembler(options_.comgr_library, &report);
        if (!assembler_) {
            std::string message = "no toolchain that knows gfx950 can be loaded; looked for:";
            for (const std::string& note : report.notes)
                message += "\n  " + note;
            throw Error(ErrorCode::assemble_failed, "ZYFA_COMGR_LIBRARY", message);
        }
    }
    return *assembler_;
}

cache::Cache& Services::cache() {
    const std::lock_guard lock(opening_);
    if (!cache_) {
        cache::Cache::Options options;
        options.user_dir = user_cache_dir(options_);
        options.read_only = options_.cache_layers;
        options.winners_layer = options_.winners_layer;
        options.log = [this](const std::string& text) { log_line(options_, text); };
        cache_ = std::make_unique<cache::Cache>(options);
    }
    return *cache_;
}

const runtime::DeviceInfo& Services::device(int ordinal, const char* argument) {
    const auto& devices = runtime()->devices();
    for (const runtime::DeviceInfo& info : devices)
        if (info.ordinal == ordinal)
            return info;
    std::string accepted;
    for (const runtime::DeviceInfo& info : devices)
        accepted += (accepted.empty() ? "" : ", ") + std::to_string(info.ordinal) + " (" + info.target + ")";
    throw Error(ErrorCode::no_device, argument,
                std::string(argument) + " is " + std::to_string(ordinal) + "; accepted: " + accepted);
}

bool Services::several_devices() {
    const runtime::HipApi& hip = runtime()->hip();
    int count = 0;
    runtime::check(hip, hip.hipGetDeviceCount(&count), "hipGetDeviceCount");
    return count > 1;
}

cache::Counters Services::cache_counters() {
    const std::lock_guard lock(opening_);
    return cache_ ? cache_->counters() : cache::Counters{};
}

DeviceIdentity identity_of(const runtime::DeviceInfo& info) {
    return {info.target, info.compute_units, info.xcds, info.partition, info.simulated};
}

templates::DeviceShape shape_of(const runtime::DeviceInfo& info) {
    return {info.compute_units, info.xcds, info.lds_bytes};
}

std::string user_cache_dir(const ContextOptions& options) {
    if (!options.cache_dir.empty())
        return options.cache_dir;
    if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty())
        return xdg + "/zyfa";
    if (const std::string home = environment("HOME"); !home.empty())
        return home + "/.cache/zyfa";
    return ":memory:";
}

} // namespace zyfa::call
