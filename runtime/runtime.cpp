// SPDX-License-Identifier: Apache-2.0
// Opening the run time: which library, which devices, and what to say where there is none.
#include "runtime/runtime.hpp"

#include <dlfcn.h>

#include <charconv>

#include "runtime/hip_api.hpp"
#include "runtime/library_search.hpp"
#include "runtime/topology.hpp"
#include "zyfa/error.hpp"

namespace zyfa::runtime {
namespace {

/// CDNA4 has 32 active CUs per XCD (AMD CDNA4 white paper; paper Table I: 256 CUs in 8 XCDs).
constexpr std::uint32_t compute_units_per_xcd = 32;

/// hipDeviceAttributeNumberOfXccs came with ROCm 6.2; then the driver; then the documented ratio.
std::uint32_t count_xcds(const HipApi& hip, int ordinal, const DeviceInfo& info) {
    int count = 0;
    if (hip.hipDeviceGetAttribute(&count, hipDeviceAttributeNumberOfXccs, ordinal) == hipSuccess &&
        count > 0 && info.compute_units % static_cast<std::uint32_t>(count) == 0)
        return static_cast<std::uint32_t>(count);
    (void)hip.hipGetLastError();
    if (const std::uint32_t known = xcd_count(info.pci); known > 0)
        return known;
    return std::max(1u, info.compute_units / compute_units_per_xcd);
}

/// HIP_VERSION's code: major * 10^7 + minor * 10^5 + patch.
std::string version_text(int code) {
    return std::to_string(code / 10'000'000) + "." + std::to_string(code / 100'000 % 100) + "." +
           std::to_string(code % 100'000);
}

std::string library_version(const HipApi& hip) {
    int code = 0; // without a device, hipRuntimeGetVersion answers 0 and hipDriverGetVersion the version
    for (const auto query : {hip.hipRuntimeGetVersion, hip.hipDriverGetVersion})
        if (query && query(&code) == hipSuccess && code > 0)
            return version_text(code);
    (void)hip.hipGetLastError();
    return "unknown";
}

struct Request {
    bool valid = true;
    Wanted wanted = Wanted::gpu;
    int ordinal = -1; ///< -1: all
};

Request parse_request(const std::string& device) {
    Request request;
    if (device.empty() || device == "auto")
        return request;
    if (device == "sim") {
        request.wanted = Wanted::simulator;
        return request;
    }
    const auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), request.ordinal);
    request.valid = error == std::errc() && end == device.data() + device.size() && request.ordinal >= 0;
    return request;
}

std::string count_text(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " device" : " devices");
}

} // namespace

/// Fills a Runtime as far as it goes; open() turns what is missing into an error.
struct RuntimeLoader {
    static std::shared_ptr<Runtime> load(const std::string& device, const std::string& hip_library) {
        std::shared_ptr<Runtime> runtime(new Runtime);
        HipReport& report = runtime->report_;
        const Request request = parse_request(device);
        if (!request.valid) {
            report.device_status = "device '" + device + "' is none of auto, sim, and a device ordinal";
            return runtime;
        }
        LoadedLibrary library = load_hip_library(request.wanted, hip_library, report.notes);
        if (!library.handle) {
            report.device_status = "no HIP library";
            return runtime;
        }
        runtime->handle_ = library.handle;
        *runtime->api_ = library.api;
        const HipApi& hip = runtime->hip();
        report.library = library.path;
        report.version = library_version(hip);
        runtime->simulated_ = hip.zyfaSimVersion != nullptr;
        if (runtime->simulated_)
            report.version += std::string(" (") + hip.zyfaSimVersion() + ")";

        int count = 0;
        hipError_t status = hip.hipInit(0);
        if (status == hipSuccess)
            status = hip.hipGetDeviceCount(&count);
        (void)hip.hipGetLastError();
        if (status == hipErrorNoDevice || (status == hipSuccess && count == 0)) {
            report.device_status = "no device (hipErrorNoDevice)";
            return runtime;
        }
        if (status != hipSuccess) {
            report.device_status =
                std::string(hip.hipGetErrorName(status)) + " (" + hip.hipGetErrorString(status) + ")";
            return runtime;
        }
        for (int ordinal = 0; ordinal < count; ++ordinal)
            add_device(*runtime, ordinal, request);
        describe(*runtime, count, request);
        return runtime;
    }

    static void add_device(Runtime& runtime, int ordinal, const Request& request) {
        const HipApi& hip = runtime.hip();
        hipDeviceProp_t properties{};
        if (hip.hipGetDevicePropertiesR0600(&properties, ordinal) != hipSuccess) {
            (void)hip.hipGetLastError();
            runtime.report_.notes.push_back("device " + std::to_string(ordinal) +
                                            ": properties not available");
            return;
        }
        DeviceInfo info;
        info.ordinal = ordinal;
        info.name = properties.name;
        info.target = properties.gcnArchName;
        info.compute_units = static_cast<std::uint32_t>(properties.multiProcessorCount);
        info.lds_bytes = static_cast<std::uint32_t>(properties.sharedMemPerBlock);
        info.clock_khz = static_cast<std::uint32_t>(properties.clockRate);
        info.memory_bytes = properties.totalGlobalMem;
        info.simulated = runtime.simulated_;
        char pci[32] = "";
        if (hip.hipDeviceGetPCIBusId(pci, sizeof pci, ordinal) == hipSuccess)
            info.pci = pci;
        info.partition = runtime.simulated_ ? "SPX" : compute_partition(info.pci);
        info.xcds = count_xcds(hip, ordinal, info);
        const std::string processor = info.target.substr(0, info.target.find(':'));
        if (processor != "gfx950") {
            runtime.report_.notes.push_back("device " + std::to_string(ordinal) + ": " + info.name + ", " +
                                            info.target + ", is not gfx950");
            return;
        }
        if (request.ordinal < 0 || request.ordinal == ordinal)
            runtime.devices_.push_back(std::move(info));
    }

    static void describe(Runtime& runtime, int count, const Request& request) {
        std::string& status = runtime.report_.device_status;
        status = count_text(static_cast<std::size_t>(count));
        if (request.ordinal >= count)
            status += ", none of ordinal " + std::to_string(request.ordinal);
        else if (runtime.devices_.empty())
            status += request.ordinal < 0 ? ", none of them gfx950"
                                          : ", ordinal " + std::to_string(request.ordinal) + " is not gfx950";
    }
};

Runtime::Runtime() : api_(std::make_unique<HipApi>()) {}
Runtime::~Runtime() = default; // the library stays loaded: HIP does not support unloading

std::shared_ptr<Runtime> Runtime::open(const std::string& device, const std::string& hip_library) {
    auto runtime = RuntimeLoader::load(device, hip_library);
    if (!runtime->devices_.empty())
        return runtime;
    const HipReport& report = runtime->report_;
    if (!parse_request(device).valid)
        throw Error(ErrorCode::invalid_argument, "device",
                    report.device_status + " (ZYFA_DEVICE, or --device of the tool)");
    std::string message;
    if (report.library.empty()) {
        message = device == "sim" ? "zyfa's simulator, libamdhip64.so.7 in a folder zyfa-sim, was not found."
                                  : "no HIP library that zyfa can use was found.";
    } else {
        message = "HIP " + report.version + " in " + report.library +
                  " found no gfx950 device: " + report.device_status + ".";
    }
    message += " Looked for:";
    for (const std::string& note : report.notes)
        message += "\n  " + note;
    if (device == "sim")
        message += "\nBuild it with -DZYFA_BUILD_SIM=ON, or name it in ZYFA_HIP_LIBRARY.";
    else
        message += "\nzyfa runs on gfx950 (AMD Instinct MI350X, MI355X). Set ZYFA_DEVICE=sim to run on "
                   "zyfa's simulator "
                   "of it, or ZYFA_HIP_LIBRARY to name another libamdhip64.";
    throw Error(ErrorCode::no_device, "", message);
}

HipReport Runtime::probe(const std::string& device, const std::string& hip_library) {
    try {
        return RuntimeLoader::load(device, hip_library)->report_;
    } catch (const std::exception& error) {
        HipReport report;
        report.device_status = error.what();
        return report;
    }
}

void* Runtime::extension(const char* name) const noexcept {
    return simulated_ ? dlsym(handle_, name) : nullptr;
}

} // namespace zyfa::runtime
