// SPDX-License-Identifier: Apache-2.0
// Assembling and linking through AMD's code object manager, loaded with dlopen.
#include "jit/assembler.hpp"
#include "jit/diagnostics.hpp"
#include "jit/target_name.hpp"
#include "zyfa/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <dlfcn.h>
#include <link.h>

#include <amd_comgr.h>

namespace zyfa::jit {
namespace {

constexpr const char* required_processor = "gfx950";
constexpr const char* isa_prefix = "amdgcn-amd-amdhsa--";

/// The functions used here; all of them are older than gfx950 (comgr 2.0).
struct ComgrApi {
    decltype(&amd_comgr_get_version) get_version;
    decltype(&amd_comgr_status_string) status_string;
    decltype(&amd_comgr_get_isa_count) get_isa_count;
    decltype(&amd_comgr_get_isa_name) get_isa_name;
    decltype(&amd_comgr_create_data) create_data;
    decltype(&amd_comgr_release_data) release_data;
    decltype(&amd_comgr_set_data) set_data;
    decltype(&amd_comgr_set_data_name) set_data_name;
    decltype(&amd_comgr_get_data) get_data;
    decltype(&amd_comgr_create_data_set) create_data_set;
    decltype(&amd_comgr_destroy_data_set) destroy_data_set;
    decltype(&amd_comgr_data_set_add) data_set_add;
    decltype(&amd_comgr_action_data_count) action_data_count;
    decltype(&amd_comgr_action_data_get_data) action_data_get_data;
    decltype(&amd_comgr_create_action_info) create_action_info;
    decltype(&amd_comgr_destroy_action_info) destroy_action_info;
    decltype(&amd_comgr_action_info_set_isa_name) action_info_set_isa_name;
    decltype(&amd_comgr_action_info_set_logging) action_info_set_logging;
    decltype(&amd_comgr_do_action) do_action;

    /// False, and `missing` names it, where the library lacks a function.
    bool resolve(void* library, std::string& missing) {
        const auto get = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
            if (!function && missing.empty())
                missing = name;
        };
        get(get_version, "amd_comgr_get_version");
        get(status_string, "amd_comgr_status_string");
        get(get_isa_count, "amd_comgr_get_isa_count");
        get(get_isa_name, "amd_comgr_get_isa_name");
        get(create_data, "amd_comgr_create_data");
        get(release_data, "amd_comgr_release_data");
        get(set_data, "amd_comgr_set_data");
        get(set_data_name, "amd_comgr_set_data_name");
        get(get_data, "amd_comgr_get_data");
        get(create_data_set, "amd_comgr_create_data_set");
        get(destroy_data_set, "amd_comgr_destroy_data_set");
        get(data_set_add, "amd_comgr_data_set_add");
        get(action_data_count, "amd_comgr_action_data_count");
        get(action_data_get_data, "amd_comgr_action_data_get_data");
        get(create_action_info, "amd_comgr_create_action_info");
        get(destroy_action_info, "amd_comgr_destroy_action_info");
        get(action_info_set_isa_name, "amd_comgr_action_info_set_isa_name");
        get(action_info_set_logging, "amd_comgr_action_info_set_logging");
        get(do_action, "amd_comgr_do_action");
        return missing.empty();
    }
};

/// comgr's status as an error; what failed here is never the assembly's fault.
void check(const ComgrApi& api, amd_comgr_status_t status, const char* function) {
    if (status == AMD_COMGR_STATUS_SUCCESS)
        return;
    const char* text = nullptr;
    api.status_string(status, &text);
    throw Error(ErrorCode::internal, "", std::string(function) + ": " + (text ? text : "unknown status"));
}

class Data {
  public:
    Data(const ComgrApi& api, amd_comgr_data_kind_t kind, const std::string& text, const std::string& name)
        : api_(api) {
        check(api, api.create_data(kind, &handle_), "amd_comgr_create_data");
        check(api, api.set_data(handle_, text.size(), text.data()), "amd_comgr_set_data");
        check(api, api.set_data_name(handle_, name.c_str()), "amd_comgr_set_data_name");
    }
    ~Data() { api_.release_data(handle_); }
    Data(const Data&) = delete;
    Data& operator=(const Data&) = delete;
    amd_comgr_data_t get() const { return handle_; }

  private:
    const ComgrApi& api_;
    amd_comgr_data_t handle_{};
};

class DataSet {
  public:
    explicit DataSet(const ComgrApi& api) : api_(api) {
        check(api, api.create_data_set(&handle_), "amd_comgr_create_data_set");
    }
    ~DataSet() { api_.destroy_data_set(handle_); }
    DataSet(const DataSet&) = delete;
    DataSet& operator=(const DataSet&) = delete;
    amd_comgr_data_set_t get() const { return handle_; }

    /// Bytes of the first object of that kind; empty if there is none.
    std::vector<std::byte> first(amd_comgr_data_kind_t kind) const {
        std::size_t count = 0;
        check(api_, api_.action_data_count(handle_, kind, &count), "amd_comgr_action_data_count");
        std::vector<std::byte> bytes;
        if (count == 0)
            return bytes;
        amd_comgr_data_t data{};
        check(api_, api_.action_data_get_data(handle_, kind, 0, &data), "amd_comgr_action_data_get_data");
        std::size_t size = 0;
        amd_comgr_status_t status = api_.get_data(data, &size, nullptr);
        if (status == AMD_COMGR_STATUS_SUCCESS) {
            bytes.resize(size);
            status = api_.get_data(data, &size, reinterpret_cast<char*>(bytes.data()));
        }
        api_.release_data(data);
        check(api_, status, "amd_comgr_get_data");
        return bytes;
    }
    std::string log() const {
        const auto bytes = first(AMD_COMGR_DATA_KIND_LOG);
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

  private:
    const ComgrApi& api_;
    amd_comgr_data_set_t handle_{};
};

class ActionInfo {
  public:
    ActionInfo(const ComgrApi& api, const std::string& isa) : api_(api) {
        check(api, api.create_action_info(&handle_), "amd_comgr_create_action_info");
        check(api, api.action_info_set_isa_name(handle_, isa.c_str()), "amd_comgr_action_info_set_isa_name");
        check(api, api.action_info_set_logging(handle_, true), "amd_comgr_action_info_set_logging");
    }
    ~ActionInfo() { api_.destroy_action_info(handle_); }
    ActionInfo(const ActionInfo&) = delete;
    ActionInfo& operator=(const ActionInfo&) = delete;
    amd_comgr_action_info_t get() const { return handle_; }

  private:
    const ComgrApi& api_;
    amd_comgr_action_info_t handle_{};
};

class ComgrAssembler final : public Assembler {
  public:
    ComgrAssembler(const ComgrApi& api, std::string toolchain, std::vector<std::string> processors)
        : api_(api), toolchain_(std::move(toolchain)), processors_(std::move(processors)) {}

    std::string toolchain() const override { return toolchain_; }

    CodeObject assemble(const std::string& assembly, const std::string& target,
                        const std::string& name_for_messages) override {
        if (std::find(processors_.begin(), processors_.end(), processor(target)) == processors_.end())
            throw Error(ErrorCode::unsupported, "target",
                        "target is \"" + target + "\", which " + toolchain_ + " does not know");
        const ActionInfo info(api_, isa_prefix + target);
        const Data source(api_, AMD_COMGR_DATA_KIND_SOURCE, assembly, name_for_messages + ".s");
        const DataSet sources(api_), relocatables(api_), executables(api_);
        check(api_, api_.data_set_add(sources.get(), source.get()), "amd_comgr_data_set_add");

        CodeObject result;
        result.toolchain = toolchain_;
        const auto step = [&](amd_comgr_action_kind_t kind, const DataSet& from, const DataSet& to,
                              double& ms) {
            const auto start = std::chrono::steady_clock::now();
            const amd_comgr_status_t status = api_.do_action(kind, info.get(), from.get(), to.get());
            ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
            if (status != AMD_COMGR_STATUS_SUCCESS)
                throw Error(ErrorCode::assemble_failed, "assembly",
                            failure_message(name_for_messages, toolchain_, assembly, to.log()));
        };
        step(AMD_COMGR_ACTION_ASSEMBLE_SOURCE_TO_RELOCATABLE, sources, relocatables, result.assemble_ms);
        step(AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE, relocatables, executables, result.link_ms);
        result.elf = executables.first(AMD_COMGR_DATA_KIND_EXECUTABLE);
        if (result.elf.empty())
            throw Error(ErrorCode::internal, "",
                        toolchain_ + " linked " + name_for_messages + " but returned no code object");
        return result;
    }

  private:
    ComgrApi api_;
    std::string toolchain_;
    std::vector<std::string> processors_;
};

/// Where a loaded library is, symbolic links resolved.
std::string path_of(void* library, const std::string& asked) {
    link_map* map = nullptr;
    if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name)
        return asked;
    std::error_code error;
    const auto path = std::filesystem::canonical(map->l_name, error);
    return error ? asked : path.string();
}

std::vector<std::string> known_processors(const ComgrApi& api) {
    std::vector<std::string> processors;
    std::size_t count = 0;
    check(api, api.get_isa_count(&count), "amd_comgr_get_isa_count");
    for (std::size_t i = 0; i < count; ++i) {
        const char* name = nullptr;
        check(api, api.get_isa_name(i, &name), "amd_comgr_get_isa_name");
        const std::string isa(name);
        processors.push_back(
            processor(isa.substr(isa.rfind("--") == std::string::npos ? 0 : isa.rfind("--") + 2)));
    }
    return processors;
}

/// Loads one library; null with a note where it cannot serve. A library that is loaded is never unloaded:
/// LLVM registers clean-up code that must still be there when the process ends.
std::unique_ptr<Assembler> try_library(const std::string& name, ToolchainReport& report) {
    void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        report.notes.push_back("comgr: " + std::string(::dlerror()));
        return nullptr;
    }
    const std::string path = path_of(library, name);
    ComgrApi api{};
    std::string missing;
    if (!api.resolve(library, missing)) {
        report.notes.push_back("comgr: " + path + " has no " + missing);
        return nullptr;
    }
    std::size_t major = 0, minor = 0;
    api.get_version(&major, &minor);
    const std::string version = "comgr " + std::to_string(major) + "." + std::to_string(minor);
    auto processors = known_processors(api);
    if (std::find(processors.begin(), processors.end(), required_processor) == processors.end()) {
        report.notes.push_back(version + ": " + path + " does not list " + required_processor);
        return nullptr;
    }
    report.notes.push_back(version + ": " + path + " lists " + required_processor);
    auto assembler = std::make_unique<ComgrAssembler>(
        api, version + " (" + std::filesystem::path(path).filename().string() + ")", std::move(processors));
    report.chosen = assembler->toolchain();
    return assembler;
}

} // namespace

std::unique_ptr<Assembler> make_comgr_assembler(const std::string& library, ToolchainReport* report) {
    ToolchainReport ignored;
    ToolchainReport& notes = report ? *report : ignored;
    if (library == "none") {
        notes.notes.push_back("comgr: not looked for, as asked");
        return nullptr;
    }
    if (!library.empty()) {
        if (auto assembler = try_library(library, notes))
            return assembler;
        throw Error(
            ErrorCode::invalid_argument, "comgr_library",
            "comgr_library is \"" + library + "\", which cannot serve (" + notes.notes.back() +
                "); accepted: a libamd_comgr.so that lists gfx950, \"none\" to assemble through LLVM, or "
                "nothing to search");
    }
    // The build's own first: it is the one whose C library this process was started with. Then ROCm's usual
    // place, then whatever the dynamic loader finds.
    std::vector<std::string> folders{ZYFA_ROCM_LIBRARY_DIR, "/opt/rocm/lib"};
    for (const std::string& folder : folders)
        for (const char* name : {"libamd_comgr.so.3", "libamd_comgr.so.2"}) {
            const std::string path = folder + "/" + name;
            std::error_code error;
            if (!std::filesystem::exists(path, error)) {
                continue;
            }
            if (auto assembler = try_library(path, notes))
                return assembler;
        }
    for (const char* name : {"libamd_comgr.so.3", "libamd_comgr.so.2"})
        if (auto assembler = try_library(name, notes))
            return assembler;
    return nullptr;
}

} // namespace zyfa::jit
