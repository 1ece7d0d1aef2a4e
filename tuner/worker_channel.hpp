// SPDX-License-Identifier: Apache-2.0
// What a tuning and its worker process say to each other: frames of bytes over a socket, with a time limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/measurement.hpp"
#include "zyfa/problem.hpp"

namespace zyfa::tuner {

/// File descriptors that a worker is started with: the socket, and a memory file with q, k and v.
inline constexpr int worker_socket = 3, worker_inputs = 4;

/// What the worker gates candidates of. Sent once.
struct WorkerTask {
    std::string device; ///< as Runtime::open takes it
    std::string hip_library;
    int ordinal = 0;
    std::string template_name;
    Problem problem;
    std::uint32_t gate_rows = 0;
    std::uint64_t q_bytes = 0, k_bytes = 0, v_bytes = 0; ///< of the memory file, in this order
    std::int64_t parent = 0;                             ///< process id
};

/// One candidate.
struct WorkerRequest {
    std::string schedule; ///< canonical
    std::string kernel;
    std::vector<std::byte> elf;
};

/// To the task: `failure` empty where the worker is ready. To a request: what the gate found.
struct WorkerReply {
    std::string failure;
    std::optional<Measurement> measurement;
};

std::vector<std::byte> encode(const WorkerTask& task);
std::vector<std::byte> encode(const WorkerRequest& request);
std::vector<std::byte> encode(const WorkerReply& reply);
// Throw Error{internal} for what the other side cannot have sent.
WorkerTask decode_task(const std::vector<std::byte>& frame);
WorkerRequest decode_request(const std::vector<std::byte>& frame);
WorkerReply decode_reply(const std::vector<std::byte>& frame);

enum class Received { frame, closed, timed_out };

/// False where the other side is gone.
bool send_frame(int socket, const std::vector<std::byte>& frame);
/// Waits for a whole frame, at most `limit_s` (< 0: without limit).
Received receive_frame(int socket, double limit_s, std::vector<std::byte>& frame);

} // namespace zyfa::tuner
