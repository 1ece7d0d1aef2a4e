// SPDX-License-Identifier: Apache-2.0
// zyfa._core's functions that make e4m3 codes.
#pragma once

#include <nanobind/nanobind.h>

namespace zyfa::python {

void bind_quantize(nanobind::module_& m);

} // namespace zyfa::python
