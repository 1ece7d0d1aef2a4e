// SPDX-License-Identifier: Apache-2.0
// The registry behind Memory. Private to memory.cpp.
#pragma once

#include "sim/engine.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace zyfa::sim {

struct Record {
    Allocation allocation;
    std::uint64_t block = 0; ///< bytes of arena held, red zone included; 0: adopted host memory
};

struct Memory::Impl {
    Impl();
    ~Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    std::uint64_t place(std::uint64_t size);
    void give_back(std::uint64_t address, std::uint64_t size);

    mutable std::shared_mutex mutex;
    std::map<std::uint64_t, Record> live;
    std::map<std::uint64_t, Allocation> freed;
    std::map<std::uint64_t, std::uint64_t> holes; ///< address -> bytes of released blocks
    std::map<int, std::uint64_t> used;
    std::uint64_t serial = 0;
    std::atomic<std::uint64_t> generation{1}; ///< grows when a range stops being valid
    void* mapping = nullptr;
    std::uint64_t mapping_size = 0, begin = 0, end = 0, cursor = 0;
    std::atomic<std::uint8_t*> uninitialised{nullptr}; ///< a bit per byte of the mapping, backed on demand
};

} // namespace zyfa::sim
