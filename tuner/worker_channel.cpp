// SPDX-License-Identifier: Apache-2.0
#include "tuner/worker_channel.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include <nlohmann/json.hpp>

#include "core/problem_json.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

std::vector<std::byte> frame_of(const Json& json) {
    const std::vector<std::uint8_t> bytes = Json::to_cbor(json);
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    return {data, data + bytes.size()};
}

template <class Value, class Read>
Value value_of(const std::vector<std::byte>& frame, Read read) {
    try {
        const auto* data = reinterpret_cast<const std::uint8_t*>(frame.data());
        Value value;
        read(Json::from_cbor(data, data + frame.size()), value);
        return value;
    } catch (const Json::exception& error) {
        throw Error(ErrorCode::internal, "worker",
                    std::string("a tuning and its worker process do not understand each other: ") +
                        error.what());
    }
}

/// Milliseconds until `end` for poll(2); -1 for no end.
int left_ms(const std::optional<Clock::time_point>& end) {
    if (!end)
        return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

Received receive(int socket, const std::optional<Clock::time_point>& end, void* to, std::size_t bytes) {
    auto* at = static_cast<char*>(to);
    while (bytes > 0) {
        pollfd waiting{socket, POLLIN, 0};
        const int ready = poll(&waiting, 1, left_ms(end));
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return Received::timed_out;
        const ssize_t n = ready < 0 ? -1 : recv(socket, at, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return Received::closed;
        at += n;
        bytes -= static_cast<std::size_t>(n);
    }
    return Received::frame;
}

} // namespace

std::vector<std::byte> encode(const WorkerTask& task) {
    return frame_of({{"device", task.device},
                     {"hip_library", task.hip_library},
                     {"ordinal", task.ordinal},
                     {"template", task.template_name},
                     {"problem", to_json(task.problem)},
                     {"gate_rows", task.gate_rows},
                     {"bytes", {task.q_bytes, task.k_bytes, task.v_bytes}},
                     {"parent", task.parent}});
}

WorkerTask decode_task(const std::vector<std::byte>& frame) {
    return value_of<WorkerTask>(frame, [](const Json& json, WorkerTask& task) {
        json.at("device").get_to(task.device);
        json.at("hip_library").get_to(task.hip_library);
        json.at("ordinal").get_to(task.ordinal);
        json.at("template").get_to(task.template_name);
        task.problem = problem_from_json(json.at("problem"));
        json.at("gate_rows").get_to(task.gate_rows);
        json.at("bytes").at(0).get_to(task.q_bytes);
        json.at("bytes").at(1).get_to(task.k_bytes);
        json.at("bytes").at(2).get_to(task.v_bytes);
        json.at("parent").get_to(task.parent);
    });
}

std::vector<std::byte> encode(const WorkerRequest& request) {
    const auto* elf = reinterpret_cast<const std::uint8_t*>(request.elf.data());
    return frame_of({{"schedule", request.schedule},
                     {"kernel", request.kernel},
                     {"elf", Json::binary({elf, elf + request.elf.size()})}});
}

WorkerRequest decode_request(const std::vector<std::byte>& frame) {
    return value_of<WorkerRequest>(frame, [](const Json& json, WorkerRequest& request) {
        json.at("schedule").get_to(request.schedule);
        json.at("kernel").get_to(request.kernel);
        const auto& elf = json.at("elf").get_binary();
        const auto* data = reinterpret_cast<const std::byte*>(elf.data());
        request.elf.assign(data, data + elf.size());
    });
}

std::vector<std::byte> encode(const WorkerReply& reply) {
    Json json{{"failure", reply.failure}};
    if (reply.measurement)
        json["measurement"] = to_json(*reply.measurement);
    return frame_of(json);
}

WorkerReply decode_reply(const std::vector<std::byte>& frame) {
    return value_of<WorkerReply>(frame, [](const Json& json, WorkerReply& reply) {
        json.at("failure").get_to(reply.failure);
        if (json.contains("measurement"))
            reply.measurement = measurement_from_json(json.at("measurement"));
    });
}

bool send_frame(int socket, const std::vector<std::byte>& frame) {
    const auto send_all = [socket](const void* data, std::size_t bytes) {
        const auto* at = static_cast<const char*>(data);
        while (bytes > 0) {
            const ssize_t n = send(socket, at, bytes, MSG_NOSIGNAL);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return false;
            at += n;
            bytes -= static_cast<std::size_t>(n);
        }
        return true;
    };
    const std::uint64_t size = frame.size();
    return send_all(&size, sizeof size) && send_all(frame.data(), frame.size());
}

Received receive_frame(int socket, double limit_s, std::vector<std::byte>& frame) {
    constexpr std::uint64_t largest = std::uint64_t{1} << 30; // a code object is far smaller
    std::optional<Clock::time_point> end;
    if (limit_s >= 0)
        end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(std::min(limit_s, 1e6)));
    std::uint64_t size = 0;
    Received received = receive(socket, end, &size, sizeof size);
    if (received != Received::frame)
        return received;
    if (size > largest)
        return Received::closed;
    frame.resize(size);
    return receive(socket, end, frame.data(), frame.size());
}

} // namespace zyfa::tuner
