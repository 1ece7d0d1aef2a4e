// SPDX-License-Identifier: Apache-2.0
// What a device says of its clock, power and temperature: AMD's amd-smi library, loaded at run time, or the
// simulator's stand-in.
#pragma once

#include <memory>
#include <string>

#include "runtime/runtime.hpp"
#include "tuner/clocked_device.hpp"

namespace zyfa::tuner {

class Telemetry {
  public:
    virtual ~Telemetry() = default;
    virtual ClockReading read() = 0;
    /// "amd-smi", "simulator": where the readings come from.
    virtual std::string source() const = 0;
};

/// Null where there is none; `why` then says what was looked for. Never throws.
std::unique_ptr<Telemetry> open_telemetry(const std::shared_ptr<runtime::Runtime>& runtime,
                                          const runtime::DeviceInfo& device, std::string& why);

} // namespace zyfa::tuner
