// SPDX-License-Identifier: Apache-2.0
// The worker process's side: a test bed, and one candidate after the other on it.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "tuner/gate_worker.hpp"
#include "tuner/test_bed.hpp"
#include "tuner/worker_channel.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

TuningInputs inputs_of(const WorkerTask& task) {
    const std::uint64_t bytes = task.q_bytes + task.k_bytes + task.v_bytes;
    void* const memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, worker_inputs, 0);
    if (memory == MAP_FAILED)
        throw Error(ErrorCode::io_error, "worker",
                    std::string("the inputs cannot be mapped: ") + std::strerror(errno));
    const auto* at = static_cast<const std::byte*>(memory);
    TuningInputs inputs;
    for (const auto& [tensor, size] : {std::pair{&inputs.q, task.q_bytes}, std::pair{&inputs.k, task.k_bytes},
                                       std::pair{&inputs.v, task.v_bytes}}) {
        tensor->assign(at, at + size);
        at += size;
    }
    munmap(memory, bytes);
    close(worker_inputs);
    return inputs;
}

Measurement gate(TestBed& bed, const std::shared_ptr<runtime::Runtime>& runtime, int device,
                 WorkerRequest request) {
    Measurement measurement;
    measurement.schedule = Schedule::parse(request.schedule);
    Binary binary;
    binary.kernel.name = std::move(request.kernel);
    try {
        binary.module = std::make_unique<runtime::Module>(runtime, device, std::move(request.elf));
        binary.function = binary.module->function(binary.kernel.name);
    } catch (const Error& error) {
        measurement.status = CandidateStatus::load_failed;
        measurement.message = error.what();
        return measurement;
    }
    BoundLaunch launch = bed.bind(binary, measurement.schedule);
    bed.gate(measurement.schedule, launch, measurement);
    return measurement;
}

} // namespace

int serve_gate(const templates::Template& (*find)(std::string_view name)) {
    // Ctrl-C is the tuning's to answer; and without a tuning there is nothing to do, whatever hangs here.
    std::signal(SIGINT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<std::byte> frame;
    if (receive_frame(worker_socket, -1, frame) != Received::frame)
        return 1;
    std::unique_ptr<TestBed> bed;
    std::shared_ptr<runtime::Runtime> runtime;
    WorkerTask task;
    try {
        task = decode_task(frame);
        if (getppid() != static_cast<pid_t>(task.parent)) // it died before prctl()
            return 1;
        runtime = runtime::Runtime::open(task.device, task.hip_library);
        const runtime::DeviceGuard guard(*runtime, task.ordinal);
        const TuningInputs inputs = inputs_of(task);
        bed = std::make_unique<TestBed>(runtime, task.ordinal, find(task.template_name), task.problem, inputs,
                                        task.gate_rows);
    } catch (const std::exception& error) {
        send_frame(worker_socket, encode(WorkerReply{error.what(), std::nullopt}));
        return 1;
    }
    if (!send_frame(worker_socket, encode(WorkerReply{})))
        return 1;
    const runtime::DeviceGuard guard(*runtime, task.ordinal);
    while (receive_frame(worker_socket, -1, frame) == Received::frame) {
        WorkerReply reply;
        try {
            reply.measurement = gate(*bed, runtime, task.ordinal, decode_request(frame));
        } catch (const std::exception& error) {
            reply.failure = error.what();
        }
        if (!send_frame(worker_socket, encode(reply)))
            return 1;
    }
    return 0;
}

} // namespace zyfa::tuner
