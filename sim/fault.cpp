// SPDX-License-Identifier: Apache-2.0
#include "sim/fault.hpp"

#include "sim/engine.hpp"

#include <cstdio>

namespace zyfa::sim {

namespace {

const char* name(AllocationKind kind) {
    switch (kind) {
    case AllocationKind::device:
        return "device";
    case AllocationKind::host_pinned:
        return "pinned host";
    case AllocationKind::managed:
        return "managed";
    case AllocationKind::code:
        return "code";
    case AllocationKind::kernarg:
        return "kernarg";
    }
    return "unknown";
}

std::string describe(const Allocation& a, std::uint64_t address, unsigned bytes) {
    std::string text = std::string(a.freed ? "freed " : "") + name(a.kind) + " allocation #" +
                       std::to_string(a.serial) + " at " + hexadecimal(a.address) + " of " +
                       std::to_string(a.size) + " bytes";
    if (address < a.address)
        return std::to_string(a.address - address) + " bytes before " + text;
    const std::uint64_t offset = address - a.address;
    if (offset >= a.size)
        return "offset " + std::to_string(offset) + ", " + std::to_string(offset + bytes - a.size) +
               " bytes past the end of " + text;
    if (bytes > a.size - offset)
        return "offset " + std::to_string(offset) + ", the last " + std::to_string(offset + bytes - a.size) +
               " bytes past the end of " + text;
    return "offset " + std::to_string(offset) + " of " + text;
}

} // namespace

void fault(std::string kind, std::string detail, int lane) {
    throw FaultError{std::move(kind), std::move(detail), lane, false};
}

const char* OutOfBounds::kind() const noexcept {
    static constexpr const char* kinds[] = {"global memory fault", "lds out of bounds",
                                            "scratch out of bounds"};
    return kinds[static_cast<unsigned>(space)];
}

std::string OutOfBounds::describe(const Memory& memory) const {
    std::string text = std::string(what) + " of " + std::to_string(bytes) + " bytes at ";
    if (space != Space::global)
        return text + "offset " + std::to_string(address) + " (" + hexadecimal(address) + "), " +
               std::to_string(limit) + " bytes are allocated";
    text += hexadecimal(address);
    if (const auto near = memory.nearest(address))
        return text + ": " + zyfa::sim::describe(*near, address, bytes);
    return text + ": nothing is allocated";
}

std::string hexadecimal(std::uint64_t value) {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(value));
    return buffer;
}

} // namespace zyfa::sim
