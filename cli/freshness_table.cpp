// SPDX-License-Identifier: Apache-2.0
#include "cli/freshness_table.hpp"

#include "attention/services.hpp"
#include "core/keys.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cli {

namespace {

/// The device's part of a key, as text.
std::string text_of(const DeviceIdentity& device) {
    WinnerKey key;
    key.device = device;
    return key.canonical();
}

} // namespace

FreshnessOfWinners::FreshnessOfWinners(const ContextOptions& options) {
    try {
        const auto runtime = runtime::Runtime::open(options.device, options.hip_library);
        for (const runtime::DeviceInfo& info : runtime->devices())
            versions_.emplace(text_of(call::identity_of(info)), runtime::versions(*runtime, info.ordinal));
    } catch (const Error&) { // a cache can be looked at without a device
    }
}

call::Freshener::Answer FreshnessOfWinners::ask(const cache::WinnerRecord& winner) {
    std::optional<runtime::Versions> now;
    try {
        const auto here = versions_.find(text_of(WinnerKey::parse(winner.key_text).device));
        if (here != versions_.end())
            now = here->second;
    } catch (const Error&) { // of another version: the freshener says so
    }
    return freshener_.ask(winner, now);
}

} // namespace zyfa::cli
