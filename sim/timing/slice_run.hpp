// SPDX-License-Identifier: Apache-2.0
// Runs workgroups on an address slice in place of their kernel.
#pragma once

#include "sim/timing/address_slice.hpp"
#include "sim/timing/line_stream.hpp"

namespace zyfa::sim::timing {

class SliceRun {
  public:
    /// The observer is told of every load; it is also to be the thread context's.
    SliceRun(const AddressSlice& slice, std::size_t waves, LineObserver& observer)
        : slice_(slice), memo_(slice.code.size(), waves), observer_(observer) {}
    /// Puts the waves of a workgroup that has just been started at the slice's entry.
    void enter(Workgroup& group) const;
    /// As run_workgroup; counts what the kernel's own instructions would have. FaultError as from there.
    void run(Workgroup& group, ThreadContext& thread, std::uint64_t budget);

  private:
    void run_wave(Wave& wave, std::uint64_t budget);

    const AddressSlice& slice_;
    LineMemo memo_;
    LineObserver& observer_;
};

} // namespace zyfa::sim::timing
