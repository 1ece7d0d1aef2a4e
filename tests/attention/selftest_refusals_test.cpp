// SPDX-License-Identifier: Apache-2.0
// What `zyfa doctor --selftest` refused is refused by name, on that kind of device only.
#include "attention/refusals.hpp"

#include <filesystem>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>

#include "attention/services.hpp"
#include "runtime/runtime.hpp"
#include "templates/template.hpp"
#include "zyfa/context.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;

TEST_CASE(
    "a template that the device's self-test refused is refused by name, and again served once it passes") {
    const std::string folder =
        (std::filesystem::temp_directory_path() / ("zyfa-refusals-" + std::to_string(getpid()))).string();
    const Problem problem = Problem::contiguous(DType::bf16, 1, 1, 1, 64, 64, 128, 128, Mask::causal);
    const std::string form(templates::template_for(problem).name());
    const auto runtime = runtime::Runtime::open("sim", "");
    const DeviceIdentity device = call::identity_of(runtime->devices().at(0));
    DeviceIdentity other = device;
    other.simulated = false;

    call::keep_refusals(folder, other, {{form, {"exp-flush"}}});
    call::keep_refusals(folder, device, {{form, {"mfma-bf16", "lds-dma"}}, {"another", {"cvt-fp8"}}});
    const auto refusal = call::refusal_of(folder, device, form);
    REQUIRE(refusal);
    CHECK(refusal->facts == std::vector<std::string>{"mfma-bf16", "lds-dma"});
    CHECK_FALSE(call::refusal_of(folder, device, "third"));

    ContextOptions options;
    options.device = "sim";
    options.mode = Mode::off;
    options.cache_dir = folder;
    Context context(options);
    try {
        context.prepare(problem);
        FAIL("prepared");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::unsupported);
        CHECK(error.argument() == "device");
        CHECK(std::string(error.what()).find(form) != std::string::npos);
        CHECK(std::string(error.what()).find("mfma-bf16") != std::string::npos);
    }

    call::keep_refusals(folder, device, {});
    CHECK_FALSE(call::refusal_of(folder, device, form));
    CHECK(call::refusal_of(folder, other, form));
    context.prepare(problem);
    call::keep_refusals(folder, other, {});
    CHECK_FALSE(std::filesystem::exists(folder + "/refused-templates"));
    std::filesystem::remove_all(folder);
}
