// SPDX-License-Identifier: Apache-2.0
// Candidates meet the device in a process of their own first: one that faults, hangs or tears its process
// down is found out there, and the tuning goes on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/measurement.hpp"
#include "runtime/runtime.hpp"
#include "tuner/binaries.hpp"
#include "tuner/tuner.hpp"

namespace zyfa::tuner {

/// The process is started by posix_spawn(3) from an executable (never by fork alone: a HIP library that is in
/// use does not survive one), holds a device context of its own, gates one candidate after the other, and is
/// started anew after one that it did not survive. It ends with the thread that started it, however that
/// ends.
class GateWorker {
  public:
    /// `command`: the executable and its arguments; it calls serve_gate(). The rest is as for TestBed;
    /// `inputs` are copied.
    GateWorker(std::vector<std::string> command, const runtime::Runtime& runtime, int device,
               std::string_view template_name, const Problem& problem, const TuningInputs& inputs,
               std::uint32_t gate_rows);
    ~GateWorker();
    GateWorker(const GateWorker&) = delete;
    GateWorker& operator=(const GateWorker&) = delete;

    /// Starts a process where none is ready: it opens HIP, copies the inputs and computes the reference rows.
    /// Throws Error{io_error} naming `worker` where that is not done within `limit_s` seconds.
    void make_ready(double limit_s);
    /// Whether the candidate passed within `limit_s` seconds of wall clock; after make_ready(). Else its
    /// measurement says how it failed: timed_out (the process is killed), crashed (a fault, or the process
    /// ended), wrong, unstable, load_failed.
    bool passes(const Schedule& schedule, const Binary& binary, double limit_s, Measurement& measurement);

    std::uint64_t started() const noexcept { return started_; } ///< processes

  private:
    void stop() noexcept;       ///< kills what runs and waits for its end
    std::string how_it_ended(); ///< waits for a process that has closed its socket

    std::vector<std::string> command_;
    struct Task;
    std::unique_ptr<Task> task_;
    int socket_ = -1, inputs_ = -1;
    pid_t process_ = 0;
    std::uint64_t started_ = 0;
};

/// The other side, for the executable's main(): answers requests on the file descriptors of
/// worker_channel.hpp until the tuning closes the socket. Returns an exit code. `find`: the template of a
/// name.
int serve_gate(const templates::Template& (*find)(std::string_view name));

} // namespace zyfa::tuner
