// SPDX-License-Identifier: Apache-2.0
// The border between exceptions and statuses.
#pragma once

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "zyfa.h"
#include "zyfa/error.hpp"

namespace zyfa::capi {

/// Keeps the exception that is being handled for this thread and returns its status.
zyfa_status keep_current_exception() noexcept;

/// Runs `body`, which may throw, as the body of a C function.
template <class Body>
zyfa_status guarded(Body&& body) noexcept {
    try {
        std::forward<Body>(body)();
        return ZYFA_OK;
    } catch (...) {
        return keep_current_exception();
    }
}

[[noreturn]] void refuse(const char* argument, const std::string& value, const std::string& accepted);

template <class T>
T& required(T* pointer, const char* argument) {
    if (!pointer)
        refuse(argument, "null", "a pointer");
    return *pointer;
}

/// A structure that starts with its size, of this version of the header.
template <class T>
T& sized(T* pointer, const char* argument) {
    T& value = required(pointer, argument);
    if (value.struct_size != sizeof(T))
        refuse((std::string(argument) + ".struct_size").c_str(), std::to_string(value.struct_size),
               std::to_string(sizeof(T)) + ", the structure's size");
    return value;
}

template <class T>
const T& at(const std::vector<T>& list, std::size_t index) {
    if (index >= list.size())
        refuse("index", std::to_string(index), "less than " + std::to_string(list.size()));
    return list[index];
}

} // namespace zyfa::capi
