// SPDX-License-Identifier: Apache-2.0
// zyfa::Error as the classes of zyfa/_errors.py.
#pragma once

#include <string>

#include "zyfa/error.hpp"

namespace zyfa::python {

/// Call once, when the module is made.
void translate_errors();

/// The library speaks of sizes [B, H, S, D]; a Python caller has tensors [B, S, H, D]: "q.sizes[1]" becomes
/// "q.shape[2]", "q.strides[2]" becomes "q.stride(1)".
std::string in_words_of_torch(const std::string& text);

/// Runs `body`; its Error is thrown on in words of torch.
template <class Body>
auto in_python_words(Body&& body) {
    try {
        return body();
    } catch (const Error& error) {
        throw Error(error.code(), in_words_of_torch(error.argument()), in_words_of_torch(error.what()));
    }
}

} // namespace zyfa::python
