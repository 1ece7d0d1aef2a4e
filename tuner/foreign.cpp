// SPDX-License-Identifier: Apache-2.0
#include "tuner/foreign.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/keys.hpp"
#include "jit/metadata.hpp"
#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

std::string read_text(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream)
        throw Error(ErrorCode::io_error, file, file + " cannot be read");
    return text;
}

bool is_text(const std::string& bytes) {
    return std::none_of(bytes.begin(), bytes.end(), [](char byte) {
        const auto code = static_cast<unsigned char>(byte);
        return (code < 0x20 && !(code >= '\t' && code <= '\r')) || code == 0x7f;
    });
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
    throw Error(ErrorCode::invalid_argument, file, file + " " + what);
}

bool is_elf(const std::string& text) {
    return text.starts_with("\177ELF");
}

/// The schedule in a comment line of its own near the top, as `zyfa asm` writes it.
std::optional<Schedule> schedule_in(const std::string& assembly, std::string_view template_name) {
    const std::string beginning = "// " + std::string(template_name) + "{";
    std::size_t at = 0;
    for (int line = 0; line < 10 && at != std::string::npos && at < assembly.size(); ++line) {
        const std::size_t end = assembly.find('\n', at);
        const std::string text = assembly.substr(at, end == std::string::npos ? end : end - at);
        if (text.starts_with(beginning))
            return Schedule::parse(text.substr(3));
        at = end == std::string::npos ? end : end + 1;
    }
    return std::nullopt;
}

/// Holds the code object's metadata against the launches of the plan.
void check_abi(const std::string& file, const ForeignCandidate& candidate, const templates::LaunchPlan& plan,
               const templates::DeviceShape& device) {
    jit::CodeObjectMetadata metadata;
    try {
        metadata = jit::read_metadata(candidate.code.elf);
    } catch (const Error& error) {
        refuse(file, std::string("is no code object: ") + error.what());
    }
    if (metadata.target.find(candidate.kernel.target) == std::string::npos)
        refuse(file, "is for " + metadata.target + "; accepted: " + candidate.kernel.target);
    const auto check = [&](const std::string& name, const std::array<std::uint32_t, 3>& block) {
        std::string names;
        for (const jit::KernelMetadata& kernel : metadata.kernels) {
            names += (names.empty() ? "" : ", ") + kernel.name;
            if (kernel.name != name)
                continue;
            if (kernel.kernarg_bytes != plan.kernarg.size())
                refuse(file, "takes " + std::to_string(kernel.kernarg_bytes) +
                                 " bytes of kernel arguments; accepted: " +
                                 std::to_string(plan.kernarg.size()) + ", in the layout of ABI " +
                                 std::to_string(templates::kernarg_abi) + " (`zyfa asm` shows it)");
            if (kernel.max_workgroup_size < block[0] * block[1] * block[2])
                refuse(file, "allows workgroups of " + std::to_string(kernel.max_workgroup_size) +
                                 " work-items; the launch has " +
                                 std::to_string(block[0] * block[1] * block[2]));
            if (kernel.lds_bytes + plan.dynamic_lds > device.lds_bytes)
                refuse(file, "takes " + std::to_string(kernel.lds_bytes) + " bytes of LDS; the device has " +
                                 std::to_string(device.lds_bytes));
            return;
        }
        refuse(file, "has no kernel " + name + ", which " + without_file(candidate.schedule).canonical() +
                         " launches; it has: " + (names.empty() ? "none" : names));
    };
    check(plan.kernel, plan.block);
}

} // namespace

bool is_foreign(const Schedule& schedule) {
    return schedule.parameters.contains(file_parameter);
}

Schedule without_file(const Schedule& schedule) {
    Schedule known = schedule;
    known.parameters.erase(file_parameter);
    return known;
}

ForeignCandidate read_foreign(const std::string& file, const templates::Template& form,
                              const Problem& problem, const std::optional<Schedule>& like,
                              const templates::DeviceShape& device, jit::Assembler& assembler) {
    const std::string text = read_text(file);
    const bool assembly = !is_elf(text);
    if (assembly && !is_text(text)) // LLVM's parser need not come back from arbitrary bytes
        refuse(file, "is neither a code object (it has no ELF header) nor text; accepted: either of them");
    std::optional<Schedule> schedule = like;
    if (!schedule && assembly)
        schedule = schedule_in(text, form.name());
    if (!schedule)
        schedule = form.default_schedule(problem);
    if (schedule->template_name != form.name())
        refuse(file, "is to run like " + schedule->canonical() + "; accepted: a schedule of template " +
                         std::string(form.name()) + ", which serves the problem");
    if (const auto why = form.reject(problem, *schedule))
        refuse(file, "is to run like " + schedule->canonical() + ", which is not allowed: " + *why);

    ForeignCandidate candidate;
    candidate.kernel = form.instantiate(classify(problem), *schedule);
    const Digest content = digest(std::string_view(text));
    candidate.schedule = *schedule;
    candidate.schedule.parameters[file_parameter] = "b2-" + content.hex().substr(0, 12);
    candidate.provenance =
        file + " (" + (assembly ? "edited assembly" : "code object") + ", BLAKE2b " + content.hex() + ")";
    if (assembly) {
        candidate.kernel.assembly = text;
        try {
            candidate.code = assembler.assemble(text, candidate.kernel.target, candidate.kernel.name);
        } catch (const Error& error) {
            throw Error(error.code(), file, file + ": " + error.what());
        }
    } else {
        candidate.kernel.assembly = "code object " + content.hex() + "\n";
        const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
        candidate.code.elf.assign(bytes, bytes + text.size());
        candidate.code.toolchain = "not known: " + file;
    }
    check_abi(file, candidate, form.plan(problem, *schedule, device), device);
    return candidate;
}

} // namespace zyfa::tuner
