// SPDX-License-Identifier: Apache-2.0
// One line per shape made resident, for whoever asked for it with ZYFA_LOG.
#pragma once

#include <string>

#include "zyfa/context.hpp"

namespace zyfa::call {

/// To the options' `log` (empty: nowhere; "stderr"; or a file to append to) and their `log_callback`. Never
/// throws: a log that cannot be written does not fail a call, and a callback's exception ends here.
void log_line(const ContextOptions& options, const std::string& text) noexcept;

} // namespace zyfa::call
