// SPDX-License-Identifier: Apache-2.0
// The tuning's side of the worker process.
#include "tuner/gate_worker.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "tuner/worker_channel.hpp"
#include "zyfa/error.hpp"

extern char** environ;

namespace zyfa::tuner {

namespace {

[[noreturn]] void fail(const std::string& what, int error) {
    throw Error(ErrorCode::io_error, "worker", what + ": " + std::strerror(error));
}

/// Above the descriptors that the worker finds its own at, so that giving it those overwrites neither.
int out_of_the_way(int file) {
    const int moved = fcntl(file, F_DUPFD_CLOEXEC, 16);
    const int error = errno;
    close(file);
    if (moved < 0)
        fail("no file descriptor for a worker process", error);
    return moved;
}

void write_all(int file, const std::vector<std::byte>& bytes) {
    const std::byte* at = bytes.data();
    for (std::size_t left = bytes.size(); left > 0;) {
        const ssize_t n = write(file, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            fail("the inputs cannot be handed to a worker process", errno);
        at += n;
        left -= static_cast<std::size_t>(n);
    }
}

std::string seconds(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g s", value);
    return text;
}

} // namespace

struct GateWorker::Task {
    WorkerTask task;
};

GateWorker::GateWorker(std::vector<std::string> command, const runtime::Runtime& runtime, int device,
                       std::string_view template_name, const Problem& problem, const TuningInputs& inputs,
                       std::uint32_t gate_rows)
    : command_(std::move(command)), task_(std::make_unique<Task>()) {
    WorkerTask& task = task_->task;
    task.device = runtime.simulated() ? "sim" : "auto";
    task.hip_library = runtime.report().library;
    task.ordinal = device;
    task.template_name = template_name;
    task.problem = problem;
    task.gate_rows = gate_rows;
    task.q_bytes = inputs.q.size();
    task.k_bytes = inputs.k.size();
    task.v_bytes = inputs.v.size();
    task.parent = getpid();
    const int file = memfd_create("zyfa-tuning-inputs", MFD_CLOEXEC);
    if (file < 0)
        fail("no memory file for the inputs of a worker process", errno);
    inputs_ = out_of_the_way(file);
    try {
        for (const auto* tensor : {&inputs.q, &inputs.k, &inputs.v})
            write_all(inputs_, *tensor);
    } catch (...) {
        close(inputs_);
        throw;
    }
}

GateWorker::~GateWorker() {
    stop();
    close(inputs_);
}

void GateWorker::stop() noexcept {
    if (socket_ >= 0)
        close(socket_);
    socket_ = -1;
    if (process_ > 0) {
        kill(process_, SIGKILL);
        while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    process_ = 0;
}

std::string GateWorker::how_it_ended() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = 0;
    stop();
    return WIFSIGNALED(status)
               ? std::string("its process was ended by signal ") + std::to_string(WTERMSIG(status)) + " (" +
                     strsignal(WTERMSIG(status)) + ")"
               : "its process ended with exit code " + std::to_string(WEXITSTATUS(status));
}

void GateWorker::make_ready(double limit_s) {
    if (process_ != 0)
        return;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        fail("no socket to a worker process", errno);
    socket_ = out_of_the_way(ends[0]);
    const int theirs = out_of_the_way(ends[1]);

    std::vector<char*> arguments;
    for (std::string& argument : command_)
        arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, theirs, worker_socket);
    posix_spawn_file_actions_adddup2(&files, inputs_, worker_inputs);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&files, worker_inputs + 1); // what HIP has open, above all
#endif
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error =
        posix_spawn(&process_, command_.front().c_str(), &files, &attributes, arguments.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(theirs);
    if (error != 0) {
        process_ = 0;
        stop();
        fail("the worker process " + command_.front() + " cannot be started", error);
    }
    ++started_;
    std::vector<std::byte> frame;
    const bool sent = send_frame(socket_, encode(task_->task));
    const Received received = sent ? receive_frame(socket_, limit_s, frame) : Received::closed;
    std::string failure;
    if (received == Received::frame)
        failure = decode_reply(frame).failure;
    else if (received == Received::closed)
        failure = how_it_ended();
    else
        failure = "it is not ready after " + seconds(limit_s);
    if (failure.empty())
        return;
    stop();
    throw Error(ErrorCode::io_error, "worker", "the worker process " + command_.front() + ": " + failure);
}

bool GateWorker::passes(const Schedule& schedule, const Binary& binary, double limit_s,
                        Measurement& measurement) {
    const auto fails = [&](CandidateStatus status, const std::string& message) {
        measurement.status = status;
        measurement.message = message;
        stop(); // what it has left on the device goes with it
        return false;
    };
    std::vector<std::byte> frame;
    const bool sent =
        send_frame(socket_, encode(WorkerRequest{schedule.canonical(), binary.kernel.name, binary.code.elf}));
    switch (sent ? receive_frame(socket_, limit_s, frame) : Received::closed) {
    case Received::timed_out:
        return fails(CandidateStatus::timed_out,
                     "not done within " + seconds(limit_s) + "; its process was killed");
    case Received::closed:
        return fails(CandidateStatus::crashed, how_it_ended());
    case Received::frame:
        break;
    }
    const WorkerReply reply = decode_reply(frame);
    if (!reply.measurement)
        return fails(CandidateStatus::crashed, reply.failure);
    const Measurement& seen = *reply.measurement;
    if (seen.status == CandidateStatus::measured)
        return true;
    measurement.relative_rms = seen.relative_rms;
    measurement.emulation_relative_rms = seen.emulation_relative_rms;
    measurement.max_abs = seen.max_abs;
    measurement.lse_max_abs = seen.lse_max_abs;
    measurement.gate_rows = seen.gate_rows;
    if (seen.status == CandidateStatus::crashed)
        return fails(seen.status, seen.message);
    measurement.status = seen.status;
    measurement.message = seen.message;
    return false;
}

} // namespace zyfa::tuner
