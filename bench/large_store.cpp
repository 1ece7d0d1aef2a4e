// SPDX-License-Identifier: Apache-2.0
#include "bench/large_store.hpp"

#include "cache/transfer.hpp"
#include "core/digest.hpp"

namespace zyfa::bench {

namespace {

constexpr std::size_t code_object_bytes = 20'000; // a BF16 kernel's size

std::string binary_text(std::size_t number) {
    return "bench binary " + std::to_string(number);
}

} // namespace

cache::BinaryRecord stored_binary(std::size_t number) {
    cache::BinaryRecord record;
    record.key_text = binary_text(number);
    record.key = digest(record.key_text);
    record.kernel_name = "bench_kernel";
    record.target = "gfx950";
    record.toolchain = "none";
    record.code_object.resize(code_object_bytes);
    for (std::size_t i = 0; i < record.code_object.size(); ++i) { // not compressible to nothing
        record.code_object[i] = static_cast<std::byte>((i * 2654435761u + number) >> 11 & 0xff);
    }
    return record;
}

cache::WinnerRecord stored_winner(std::size_t number) {
    cache::WinnerRecord record;
    record.key_text = "bench winner " + std::to_string(number);
    record.key = digest(record.key_text);
    record.schedule = "bench{n=" + std::to_string(number) + "}";
    record.binary = digest(binary_text(number));
    record.evidence_json = "{}";
    record.data_profile = "gaussian";
    record.policy = "model";
    record.versions_json = "{}";
    return record;
}

LargeStore& LargeStore::get() {
    static LargeStore store;
    return store;
}

LargeStore::LargeStore() {
    cache_ = std::make_unique<cache::Cache>(
        cache::Cache::Options{.user_dir = folder_.path(),
                              .read_only = {},
                              .limits = {.bytes = std::uint64_t{8} << 30, .entries = 10'000'000}});
    cache::Content content;
    for (std::size_t i = 0; i < winners; ++i) {
        content.winners.push_back(stored_winner(i));
        content.binaries.push_back(stored_binary(i));
        content.binaries.back().code_object.resize(2000);
    }
    cache_->take(content, {});
}

} // namespace zyfa::bench
