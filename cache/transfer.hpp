// SPDX-License-Identifier: Apache-2.0
// Entries from one place to another: what is exported, what an import or a merge does with what is there
// already, and how two places differ.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/layer.hpp"
#include "cache/pack.hpp"

namespace zyfa::cache {

/// A store (folder or file) or a pack, for reading. Throws Error{invalid_argument, io_error or unsupported}
/// saying why it cannot be read or is not trusted.
std::unique_ptr<Layer> open_source(const std::string& path, const PackTrust& trust);

/// Winners that `select` likes (all, if it is empty), their binaries and, if asked, their measurements.
/// Damaged entries are left out.
struct Selection {
    std::function<bool(const WinnerRecord&)> select;
    bool measurements = true;
    bool unused_binaries = false; ///< also binaries that no selected winner refers to
};
Content collect(Layer& source, const Selection& selection);

/// Which of two winners of one key survives. The measuring policy decides first (policy_rank() of
/// core/measurement.hpp), then the later time, then the smaller digest of the record: the same pair gives the
/// same answer everywhere and in either order.
struct Verdict {
    bool take_new = false;
    std::string reason;
};
Verdict compare(const WinnerRecord& present, const WinnerRecord& incoming);

/// What became of one incoming entry.
struct Decision {
    enum class Action : std::uint8_t { added, replaced, kept, same, ignored };
    Action action = Action::added;
    std::string kind, key_text, reason; ///< "winner" or "binary"
};
const char* to_string(Decision::Action action) noexcept;

struct TransferReport {
    std::uint64_t added = 0, replaced = 0, kept = 0, same = 0, ignored = 0;
    std::vector<Decision> decisions; ///< one per winner, and per binary that was ignored
    void note(Decision decision);
};

/// Why an entry is not for here ("for gfx942", "kernel-argument ABI 2"), or empty.
struct Acceptance {
    std::function<std::string(const BinaryRecord&)> binary;
    std::function<std::string(const WinnerRecord&)> winner;
};

struct Difference {
    std::string key_text, left, right; ///< what each side has ("", its schedule, or schedule and policy)
};
struct DiffReport {
    std::vector<Difference> winners, binaries;
    std::uint64_t same_winners = 0, same_binaries = 0;
};
DiffReport diff(Layer& left, Layer& right);

} // namespace zyfa::cache
