// SPDX-License-Identifier: Apache-2.0
// One line per shape made resident, for whoever asked for it with ZYFA_LOG.
#pragma once

#include <string>

namespace zyfa::call {

/// `where` is empty (nothing is written), "stderr", or a file to append to. Never throws: a log that cannot
/// be written does not fail a call.
void log_line(const std::string& where, const std::string& text) noexcept;

} // namespace zyfa::call
