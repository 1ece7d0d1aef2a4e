// SPDX-License-Identifier: Apache-2.0
// The handles of options and contexts.
#pragma once

#include <memory>

#include "zyfa.h"
#include "zyfa/context.hpp"

struct zyfa_options {
    zyfa::ContextOptions options;
};

struct zyfa_context {
    std::unique_ptr<zyfa::Context> own; ///< null: the process-wide one
};

namespace zyfa::capi {

/// Null means the process-wide context.
inline Context& context_of(zyfa_context* context) {
    return context && context->own ? *context->own : Context::global();
}

} // namespace zyfa::capi
