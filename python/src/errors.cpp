// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <array>
#include <exception>
#include <string_view>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace zyfa::python {

void translate_errors() {
    nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
        try {
            std::rethrow_exception(pointer);
        } catch (const Error& error) {
            const nb::object make = nb::module_::import_("zyfa._errors").attr("make");
            const nb::object exception = make(to_string(error.code()), error.argument(), error.what());
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
        }
    });
}

std::string in_words_of_torch(const std::string& text) {
    constexpr std::array<char, 4> torch_index{'0', '2', '1', '3'};
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        bool replaced = false;
        for (const auto& [from, to, end] :
             {std::array<std::string_view, 3>{"sizes[", "shape[", "]"}, {"strides[", "stride(", ")"}}) {
            if (text.compare(i, from.size(), from) != 0 || i + from.size() + 1 >= text.size())
                continue;
            const char index = text[i + from.size()];
            if (index < '0' || index > '3' || text[i + from.size() + 1] != ']')
                continue;
            out.append(to).push_back(torch_index[static_cast<std::size_t>(index - '0')]);
            out.append(end);
            i += from.size() + 2;
            replaced = true;
            break;
        }
        if (!replaced)
            out.push_back(text[i++]);
    }
    return out;
}

} // namespace zyfa::python
