// SPDX-License-Identifier: Apache-2.0
// Owners of HIP's handles: device guard, module, stream, event, buffer.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "runtime/hip_api.hpp"
#include "runtime/runtime.hpp"
#include "zyfa/error.hpp"

namespace zyfa::runtime {
namespace {

std::string on_device(int device) {
    return "device " + std::to_string(device);
}

} // namespace

DeviceGuard::DeviceGuard(const Runtime& runtime, int device) : runtime_(runtime), previous_(device) {
    const HipApi& hip = runtime_.hip();
    check(hip, hip.hipGetDevice(&previous_), "hipGetDevice");
    if (previous_ != device)
        check(hip, hip.hipSetDevice(device), "hipSetDevice", std::to_string(device));
}

DeviceGuard::~DeviceGuard() {
    (void)runtime_.hip().hipSetDevice(previous_);
}

Module::Module(std::shared_ptr<Runtime> runtime, int device, std::vector<std::byte> elf)
    : runtime_(std::move(runtime)), device_(device), elf_(std::move(elf)) {
    if (elf_.empty()) // HIP reads the length from the image itself
        throw Error(ErrorCode::invalid_argument, "elf", "the code object is empty");
    const DeviceGuard guard(*runtime_, device_);
    const HipApi& hip = runtime_->hip();
    check(hip, hip.hipModuleLoadData(reinterpret_cast<hipModule_t*>(&module_), elf_.data()),
          "hipModuleLoadData", std::to_string(elf_.size()) + " bytes, " + on_device(device_));
}

Module::~Module() {
    (void)runtime_->hip().hipModuleUnload(static_cast<hipModule_t>(module_));
}

void* Module::function(const std::string& name) const {
    const HipApi& hip = runtime_->hip();
    hipFunction_t function = nullptr;
    check(hip, hip.hipModuleGetFunction(&function, static_cast<hipModule_t>(module_), name.c_str()),
          "hipModuleGetFunction", name);
    return function;
}

Stream::Stream(std::shared_ptr<Runtime> runtime, int device) : runtime_(std::move(runtime)), device_(device) {
    const DeviceGuard guard(*runtime_, device_);
    const HipApi& hip = runtime_->hip();
    check(hip, hip.hipStreamCreateWithFlags(reinterpret_cast<hipStream_t*>(&stream_), hipStreamNonBlocking),
          "hipStreamCreateWithFlags", on_device(device_));
}

Stream::~Stream() {
    (void)runtime_->hip().hipStreamDestroy(static_cast<hipStream_t>(stream_));
}

void Stream::synchronize() const {
    const HipApi& hip = runtime_->hip();
    check(hip, hip.hipStreamSynchronize(static_cast<hipStream_t>(stream_)), "hipStreamSynchronize",
          on_device(device_));
}

Event::Event(std::shared_ptr<Runtime> runtime, int device) : runtime_(std::move(runtime)), device_(device) {
    const DeviceGuard guard(*runtime_, device_);
    const HipApi& hip = runtime_->hip();
    check(hip, hip.hipEventCreate(reinterpret_cast<hipEvent_t*>(&event_)), "hipEventCreate",
          on_device(device_));
}

Event::~Event() {
    (void)runtime_->hip().hipEventDestroy(static_cast<hipEvent_t>(event_));
}

void Event::record(void* stream) {
    const HipApi& hip = runtime_->hip();
    check(hip, hip.hipEventRecord(static_cast<hipEvent_t>(event_), static_cast<hipStream_t>(stream)),
          "hipEventRecord", on_device(device_));
}

void Event::synchronize() const {
    const HipApi& hip = runtime_->hip();
    check(hip, hip.hipEventSynchronize(static_cast<hipEvent_t>(event_)), "hipEventSynchronize",
          on_device(device_));
}

bool Event::reached_within(double seconds) const {
    const HipApi& hip = runtime_->hip();
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    // Short waits stay short; a long one is asked about a thousand times a second.
    for (auto pause = std::chrono::microseconds(5); hip.hipEventQuery;
         pause = std::min(2 * pause, std::chrono::microseconds(1000))) {
        const hipError_t status = hip.hipEventQuery(static_cast<hipEvent_t>(event_));
        if (status != hipErrorNotReady) {
            check(hip, status, "hipEventQuery", on_device(device_));
            break;
        }
        if (std::chrono::duration<double>(Clock::now() - begin).count() > seconds)
            return false;
        std::this_thread::sleep_for(pause);
    }
    synchronize();
    return true;
}

double Event::elapsed_ms(const Event& start, const Event& stop) {
    const HipApi& hip = stop.runtime_->hip();
    float milliseconds = 0;
    check(hip,
          hip.hipEventElapsedTime(&milliseconds, static_cast<hipEvent_t>(start.event_),
                                  static_cast<hipEvent_t>(stop.event_)),
          "hipEventElapsedTime", on_device(stop.device_));
    return milliseconds;
}

DeviceBuffer::DeviceBuffer(std::shared_ptr<Runtime> runtime, int device, std::size_t bytes)
    : runtime_(std::move(runtime)), device_(device), size_(bytes) {
    if (bytes == 0)
        return;
    const DeviceGuard guard(*runtime_, device_);
    const HipApi& hip = runtime_->hip();
    check(hip, hip.hipMalloc(&data_, bytes), "hipMalloc",
          std::to_string(bytes) + " bytes, " + on_device(device_));
}

DeviceBuffer::~DeviceBuffer() {
    if (data_)
        (void)runtime_->hip().hipFree(data_);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : runtime_(std::move(other.runtime_)), device_(other.device_), data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

namespace {

void check_range(std::size_t offset, std::size_t bytes, std::size_t size) {
    if (offset > size || bytes > size - offset)
        throw Error(ErrorCode::invalid_argument, "offset",
                    std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                        " do not lie in a buffer of " + std::to_string(size) + " bytes");
}

} // namespace

void DeviceBuffer::upload(std::span<const std::byte> host, std::size_t offset) {
    check_range(offset, host.size(), size_);
    if (host.empty())
        return;
    const DeviceGuard guard(*runtime_, device_);
    const HipApi& hip = runtime_->hip();
    check(hip,
          hip.hipMemcpy(static_cast<std::byte*>(data_) + offset, host.data(), host.size(),
                        hipMemcpyHostToDevice),
          "hipMemcpy", std::to_string(host.size()) + " bytes to " + on_device(device_));
}

void DeviceBuffer::download(std::span<std::byte> host, std::size_t offset) const {
    check_range(offset, host.size(), size_);
    if (host.empty())
        return;
    const DeviceGuard guard(*runtime_, device_);
    const HipApi& hip = runtime_->hip();
    check(hip,
          hip.hipMemcpy(host.data(), static_cast<const std::byte*>(data_) + offset, host.size(),
                        hipMemcpyDeviceToHost),
          "hipMemcpy", std::to_string(host.size()) + " bytes from " + on_device(device_));
}

void DeviceBuffer::fill(int byte) {
    if (size_ == 0)
        return;
    const DeviceGuard guard(*runtime_, device_);
    const HipApi& hip = runtime_->hip();
    check(hip, hip.hipMemset(data_, byte, size_), "hipMemset",
          std::to_string(size_) + " bytes, " + on_device(device_));
    // hipMemset may return before it is done, and zyfa's streams do not wait for the default stream.
    check(hip, hip.hipStreamSynchronize(nullptr), "hipStreamSynchronize", on_device(device_));
}

} // namespace zyfa::runtime
