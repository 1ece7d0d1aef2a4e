// SPDX-License-Identifier: Apache-2.0
// The device run time: HIP loaded with dlopen, devices, modules, streams, events, buffers. Knows nothing of
// attention or assembly. Errors are Error{device_error} with the HIP function, its error name and the
// arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zyfa::runtime {

struct HipApi; ///< function table (runtime/hip_api.hpp)

struct DeviceInfo {
    int ordinal = 0;
    std::string name, target; ///< "AMD Instinct MI355X", "gfx950:sramecc+:xnack-"
    std::uint32_t compute_units = 0, xcds = 0, lds_bytes = 0, clock_khz = 0;
    std::uint64_t memory_bytes = 0;
    std::string pci, partition;
    bool simulated = false; ///< the library is zyfa's simulator (has zyfaSimVersion)
};

/// Which library was loaded and what it answered; for `zyfa doctor` and for error messages.
struct HipReport {
    std::string library;            ///< path loaded, or empty
    std::string version;            ///< "7.2.53211"
    std::string device_status;      ///< "2 devices", "no device (hipErrorNoDevice)", ...
    std::vector<std::string> notes; ///< what was tried, one line each
};

class Runtime {
  public:
    /// device: "auto" (a real libamdhip64), "sim" (zyfa's), or an ordinal; hip_library overrides the search.
    /// Throws Error{no_device} where no library loads or no gfx950 device is found; the message says what was
    /// looked for and that ZYFA_DEVICE=sim runs on the simulator.
    static std::shared_ptr<Runtime> open(const std::string& device, const std::string& hip_library);
    /// Never throws: what open() would find.
    static HipReport probe(const std::string& device, const std::string& hip_library);

    ~Runtime();
    const HipApi& hip() const noexcept { return *api_; }
    const HipReport& report() const noexcept { return report_; }
    const std::vector<DeviceInfo>& devices() const noexcept { return devices_; }
    bool simulated() const noexcept { return simulated_; }

    /// Looks an extension function of the simulator up ("zyfaSim..."); null on a real GPU.
    void* extension(const char* name) const noexcept;

  private:
    Runtime();
    friend struct RuntimeLoader;
    void* handle_ = nullptr;
    std::unique_ptr<HipApi> api_;
    HipReport report_;
    std::vector<DeviceInfo> devices_;
    bool simulated_ = false;
};

/// Makes `device` current for this thread and restores the previous one.
class DeviceGuard {
  public:
    DeviceGuard(const Runtime& runtime, int device);
    ~DeviceGuard();
    DeviceGuard(const DeviceGuard&) = delete;
    DeviceGuard& operator=(const DeviceGuard&) = delete;

  private:
    const Runtime& runtime_;
    int previous_;
};

/// A loaded code object on one device. The ELF bytes are kept alive as long as the module.
class Module {
  public:
    Module(std::shared_ptr<Runtime> runtime, int device, std::vector<std::byte> elf);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
    void* function(const std::string& name) const; ///< hipFunction_t; throws Error{device_error}
    int device() const noexcept { return device_; }
    const std::vector<std::byte>& elf() const noexcept { return elf_; }

  private:
    std::shared_ptr<Runtime> runtime_;
    int device_;
    std::vector<std::byte> elf_;
    void* module_ = nullptr;
};

/// hipModuleLaunchKernel with the `extra` kernarg buffer; no allocation, no lock. Throws Error{device_error}.
void launch(const Runtime& runtime, void* function, const std::array<std::uint32_t, 3>& grid,
            const std::array<std::uint32_t, 3>& block, std::uint32_t dynamic_lds, void* stream,
            std::span<std::byte> kernarg);

/// Device memory for work on one stream: given in the stream's order, and given back when work enqueued by
/// then is done. Legal while the stream captures (it becomes a node of the graph). Throws
/// Error{device_error}, also where the library has no memory pools.
class OrderedBuffer {
  public:
    OrderedBuffer(const Runtime& runtime, std::size_t bytes, void* stream);
    ~OrderedBuffer();
    OrderedBuffer(const OrderedBuffer&) = delete;
    OrderedBuffer& operator=(const OrderedBuffer&) = delete;
    void* data() const noexcept { return data_; }
    /// The memory is the caller's to give back, by free_ordered.
    void* release() noexcept { return std::exchange(data_, nullptr); }

  private:
    const Runtime& runtime_;
    void* stream_;
    void* data_ = nullptr;
};

/// Gives memory of an OrderedBuffer back whose stream may be gone; waits for work that may use it.
void free_ordered(const Runtime& runtime, void* data, int device) noexcept;
/// What tells the stream from every other one that there was or will be (hipStreamGetId; a handle may be that
/// of a stream that is gone, or stand for another stream in each thread). Nothing where the library does not
/// say.
std::optional<std::uint64_t> stream_id(const Runtime& runtime, void* stream) noexcept;

/// Device memory set in the stream's order. Throws Error{device_error}.
void fill_ordered(const Runtime& runtime, void* to, int byte, std::size_t bytes, void* stream);
/// Device memory to host memory in the stream's order, and waits for it. Throws Error{device_error}.
void fetch_ordered(const Runtime& runtime, void* to, const void* from, std::size_t bytes, void* stream);

class Stream {
  public:
    Stream(std::shared_ptr<Runtime> runtime, int device);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    void* handle() const noexcept { return stream_; }
    void synchronize() const;

  private:
    std::shared_ptr<Runtime> runtime_;
    int device_;
    void* stream_ = nullptr;
};

/// Device time between two points of a stream.
class Event {
  public:
    Event(std::shared_ptr<Runtime> runtime, int device);
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record(void* stream);
    void synchronize() const;
    /// Waits at most `seconds`; false where the device has not come to the event by then. Without limit where
    /// the library cannot be asked.
    bool reached_within(double seconds) const;
    static double elapsed_ms(const Event& start, const Event& stop);

  private:
    std::shared_ptr<Runtime> runtime_;
    int device_;
    void* event_ = nullptr;
};

class DeviceBuffer {
  public:
    DeviceBuffer() = default;
    DeviceBuffer(std::shared_ptr<Runtime> runtime, int device, std::size_t bytes);
    ~DeviceBuffer();
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
    void* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    void upload(std::span<const std::byte> host, std::size_t offset = 0); ///< synchronous
    void download(std::span<std::byte> host, std::size_t offset = 0) const;
    void fill(int byte);

  private:
    std::shared_ptr<Runtime> runtime_;
    int device_ = 0;
    void* data_ = nullptr;
    std::size_t size_ = 0;
};

/// Whether the stream is capturing; a null stream answers for the device's default stream.
bool is_capturing(const Runtime& runtime, void* stream);
/// Device ordinal of a stream; for the null stream, `fallback`.
int stream_device(const Runtime& runtime, void* stream, int fallback);
/// Device ordinal a pointer belongs to and how many bytes lie from it to its allocation's end; nullopt-like:
/// -1.
struct PointerInfo {
    int device = -1;
    std::size_t bytes_to_end = 0;
};
PointerInfo pointer_info(const Runtime& runtime, const void* pointer);
void synchronize(const Runtime& runtime, int device);
/// Calls of this thread do not end another thread's capture of a graph, as allocations and synchronisations
/// otherwise do (hipStreamCaptureModeGlobal). Nothing where the library does not have it.
void stand_apart_from_captures(const Runtime& runtime) noexcept;

/// After a kernel's fault the device answers every call with it. The simulator can be made usable again, with
/// its memory and modules; on a real GPU this returns false and the process has to end.
bool clear_fault(const Runtime& runtime, int device);
/// Ends what runs on the device and hangs. Only the simulator can: on a real GPU this returns false, and the
/// kernel stays where it is until the process ends. The device has then faulted (clear_fault).
bool stop_kernels(const Runtime& runtime, int device);

} // namespace zyfa::runtime
