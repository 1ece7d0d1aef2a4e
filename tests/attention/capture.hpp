// SPDX-License-Identifier: Apache-2.0
// Captures of a stream. The capture functions are not among those that the library calls; they are looked up
// here.
#pragma once

#include <memory>

#include <hip/hip_runtime_api.h>

#include <doctest/doctest.h>

#include "tests/attention/rig.hpp"

namespace zyfa::test {

/// hipStreamBeginCapture and its kin out of the library that the context loaded.
class Capture {
  public:
    Capture(Context& context, void* stream)
        : runtime_(runtime_of(context)), stream_(static_cast<hipStream_t>(stream)) {
        REQUIRE(get<decltype(&hipStreamBeginCapture)>("hipStreamBeginCapture")(
                    stream_, hipStreamCaptureModeGlobal) == hipSuccess);
    }
    void end() {
        REQUIRE(get<decltype(&hipStreamEndCapture)>("hipStreamEndCapture")(stream_, &graph_) == hipSuccess);
    }
    void replay() {
        hipGraphExec_t instance = nullptr;
        REQUIRE(get<decltype(&hipGraphInstantiate)>("hipGraphInstantiate")(&instance, graph_, nullptr,
                                                                           nullptr, 0) == hipSuccess);
        REQUIRE(get<decltype(&hipGraphLaunch)>("hipGraphLaunch")(instance, stream_) == hipSuccess);
        runtime::synchronize(*runtime_, 0);
        CHECK(get<decltype(&hipGraphExecDestroy)>("hipGraphExecDestroy")(instance) == hipSuccess);
    }
    ~Capture() {
        if (graph_)
            CHECK(get<decltype(&hipGraphDestroy)>("hipGraphDestroy")(graph_) == hipSuccess);
    }

  private:
    template <class Function>
    Function get(const char* name) const {
        void* function = runtime_->extension(name);
        REQUIRE(function != nullptr);
        return reinterpret_cast<Function>(function);
    }
    std::shared_ptr<runtime::Runtime> runtime_;
    hipStream_t stream_;
    hipGraph_t graph_ = nullptr;
};

} // namespace zyfa::test
