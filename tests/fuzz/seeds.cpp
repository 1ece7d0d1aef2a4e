// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/seeds.hpp"

#include <string_view>

#include "cache/compression.hpp"
#include "cache/pack.hpp"
#include "cache/records.hpp"
#include "core/keys.hpp"

namespace zyfa::fuzz {

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return {data, data + text.size()};
}

/// `kind`: what read_as_pack takes the rest for.
Bytes as(int kind, const Bytes& rest) {
    Bytes result{static_cast<std::byte>(kind)};
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
}

WinnerKey some_key() {
    Problem problem = Problem::contiguous(DType::bf16, 1, 8, 2, 4096, 4096, 128, 128, Mask::causal);
    return winner_key(problem, {"gfx950:sramecc+:xnack-", 256, 8, "SPX", true});
}

cache::BinaryRecord some_binary(int n) {
    cache::BinaryRecord record;
    record.key_text = BinaryKey{digest("text " + std::to_string(n)), "gfx950", 1}.canonical();
    record.key = digest(record.key_text);
    record.kernel_name = "kernel";
    record.target = "gfx950";
    record.toolchain = "comgr 3.0";
    for (int i = 0; i < 500; ++i)
        record.code_object.push_back(static_cast<std::byte>(i * (n + 3) >> 2));
    return record;
}

cache::WinnerRecord some_winner(int n) {
    cache::WinnerRecord record;
    WinnerKey key = some_key();
    key.sizes.seq_q += static_cast<std::uint32_t>(n);
    record.key_text = key.canonical();
    record.key = key.digest();
    record.schedule = "bf16_fwd{tau=0.5}";
    record.binary = some_binary(n).key;
    record.evidence_json = record.versions_json = "{}";
    record.data_profile = "gaussian";
    record.policy = "race";
    return record;
}

cache::Content some_content() {
    cache::Content content;
    for (int n = 0; n < 3; ++n) {
        content.binaries.push_back(some_binary(n));
        content.winners.push_back(some_winner(n));
        content.measurements.push_back({some_winner(n).key, "bf16_fwd{tau=0}", "{}", 7});
    }
    return content;
}

constexpr std::size_t head_bytes = 120; ///< of a pack (cache/pack.cpp)

} // namespace

std::vector<Seed> pack_seeds() {
    const Bytes pack = cache::write_pack(some_content(), nullptr, 1'700'000'000);
    Bytes body{pack[16], pack[17]}; // the manifest's length, as read_as_pack wants it
    body.insert(body.end(), pack.begin() + head_bytes, pack.end());
    return {{"pack", as(0, pack)},
            {"empty-pack", as(0, cache::write_pack({}, nullptr, 0))},
            {"body", as(1, body)},
            {"binary", as(2, cache::encode(some_binary(1)))},
            {"winner", as(2, cache::encode(some_winner(1)))},
            {"measurement", as(2, cache::encode(some_content().measurements[0]))},
            {"frame", as(3, cache::compress(some_binary(1).code_object))}};
}

std::vector<Seed> key_seeds() {
    const std::string key(64, '7');
    return {{"winner-key", bytes_of(some_key().canonical())},
            {"binary-key", bytes_of(some_binary(1).key_text)},
            {"public-key", bytes_of(key)},
            {"signers", bytes_of("# ours\ntrust " + key + " build machine\nrevoke " + key + " lost\n")}};
}

} // namespace zyfa::fuzz
