// SPDX-License-Identifier: Apache-2.0
// The two identities (docs/architecture.md): which binary, and which winner. Each is one canonical, versioned
// byte string, written and read by the same function pair, and looked up by its digest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/digest.hpp"
#include "zyfa/problem.hpp"

namespace zyfa {

/// What the device is, as far as a winner depends on it. gfx950 is not one chip: MI350P has 128 CUs, MI355X
/// 256.
struct DeviceIdentity {
    std::string target; ///< with features: "gfx950:sramecc+:xnack-"
    std::uint32_t compute_units = 0, xcds = 0;
    std::string partition;  ///< "SPX", ...
    bool simulated = false; ///< a simulated winner never answers for silicon, and the other way round
    bool operator==(const DeviceIdentity&) const = default;
};

/// What a binary's code depends on beyond the schedule; binaries do not depend on lengths, strides or counts.
struct ProblemClass {
    DType dtype = DType::bf16;
    std::uint32_t dim_qk = 128, dim_v = 128;
    Mask mask = Mask::causal;
    bool even_group =
        false; ///< GQA group size (Hq / Hkv) is even: two heads per tile pair (paper Section IV-A)
    bool nan_exact = true;
    bool lse = false;
    Probability probability = Probability::automatic;
    bool operator==(const ProblemClass&) const = default;
};
/// BF16 ignores `probability`: its class always says automatic.
ProblemClass classify(const Problem& problem);

/// The bucket of sizes that share a winner. Bucket n holds the sizes in (2^(n-1), 2^n]; lengths up to 256,
/// one workgroup's rows (paper Section IV-A), share bucket 8. The lengths 256 k for k = 1 to 50 therefore
/// need 7 tunings. (docs/cache.md)
struct SizeBucket {
    std::uint32_t batch_heads = 0, seq_q = 0, seq_kv = 0; ///< bucket numbers
    bool operator==(const SizeBucket&) const = default;
};
std::uint32_t bucket(std::int64_t size); ///< smallest n with size <= 2^n
SizeBucket bucket(const Problem& problem);

enum class StrideClass : std::uint8_t { bhsd, bshd, other };
const char* to_string(StrideClass strides) noexcept;
/// bhsd: in all four tensors a head's rows lie closer together than its heads; bshd: the other way round;
/// other: mixed, or broadcast heads. Padding does not change the class, nor do strides over a size of 1.
StrideClass stride_class(const Problem& problem);

struct WinnerKey {
    ProblemClass problem_class;
    SizeBucket sizes;
    StrideClass strides = StrideClass::bhsd;
    DeviceIdentity device;
    bool operator==(const WinnerKey&) const = default;

    std::string canonical() const;                 ///< versioned, readable, one line
    static WinnerKey parse(std::string_view text); ///< throws Error{invalid_argument}
    Digest digest() const { return zyfa::digest(canonical()); }
};
WinnerKey winner_key(const Problem& problem, const DeviceIdentity& device);

/// Binary identity: assembly text, target, kernel-argument ABI. Which toolchain assembled it is provenance.
struct BinaryKey {
    Digest assembly;    ///< of the assembly text
    std::string target; ///< "gfx950"
    std::uint32_t kernarg_abi = 0;
    bool operator==(const BinaryKey&) const = default;

    std::string canonical() const;
    static BinaryKey parse(std::string_view text);
    Digest digest() const { return zyfa::digest(canonical()); }
};

} // namespace zyfa
