// SPDX-License-Identifier: Apache-2.0
#include "capi/context.hpp"

#include <cmath>
#include <cstdlib>

#include "attention/options.hpp"
#include "capi/status.hpp"

namespace {

using namespace zyfa;

double seconds(const char* name, const char* value) {
    char* end = nullptr;
    const double number = std::strtod(value, &end);
    if (end == value || *end != '\0' || !std::isfinite(number) || number < 0)
        capi::refuse(name, std::string("\"") + value + "\"", "seconds, 0 or more");
    return number;
}

Mode mode_of(const char* value) {
    if (const std::optional<Mode> mode = call::mode_named(value))
        return *mode;
    capi::refuse("mode", std::string("\"") + value + "\"", call::mode_names);
}

bool yes_or_no(const char* name, const char* value) {
    if (value != std::string("0") && value != std::string("1"))
        capi::refuse(name, std::string("\"") + value + "\"", "0, 1");
    return *value == '1';
}

std::uint64_t byte_count(const char* name, const char* value) {
    if (const std::optional<std::uint64_t> bytes = call::byte_count(value))
        return *bytes;
    capi::refuse(name, std::string("\"") + value + "\"", call::byte_counts);
}

void set(ContextOptions& options, const std::string& name, const char* value) {
    if (name == "device")
        options.device = value;
    else if (name == "hip_library")
        options.hip_library = value;
    else if (name == "comgr_library")
        options.comgr_library = value;
    else if (name == "cache_dir")
        options.cache_dir = value;
    else if (name == "cache_layers")
        options.cache_layers = call::path_list(value);
    else if (name == "winners_layer")
        options.winners_layer = value;
    else if (name == "mode")
        options.mode = mode_of(value);
    else if (name == "tune_budget_s")
        options.tune_budget_s = seconds("tune_budget_s", value);
    else if (name == "wait_s")
        options.wait_s = seconds("wait_s", value);
    else if (name == "log")
        options.log = value;
    else if (name == "tuner_worker")
        options.tuner_worker = value;
    else if (name == "tune_memory_bytes")
        options.tune_memory_bytes = byte_count("tune_memory_bytes", value);
    else if (name == "background_idle_s")
        options.background_idle_s = seconds("background_idle_s", value);
    else if (name == "batch_invariant")
        options.batch_invariant = yes_or_no("batch_invariant", value);
    else if (name == "background_tuning")
        options.background_tuning = yes_or_no("background_tuning", value);
    else if (name == "stable")
        options.stable = yes_or_no("stable", value);
    else
        capi::refuse("name", "\"" + name + "\"",
                     "device, hip_library, comgr_library, cache_dir, cache_layers, winners_layer, mode, "
                     "tune_budget_s, tuner_worker, tune_memory_bytes, background_tuning, background_idle_s, "
                     "stable, wait_s, log, batch_invariant");
}

} // namespace

zyfa_status zyfa_options_create(zyfa_options** options) {
    return capi::guarded(
        [&] { capi::required(options, "options") = new zyfa_options{ContextOptions::from_environment()}; });
}

void zyfa_options_destroy(zyfa_options* options) {
    delete options;
}

zyfa_status zyfa_options_set(zyfa_options* options, const char* name, const char* value) {
    return capi::guarded([&] {
        set(capi::required(options, "options").options, &capi::required(name, "name"),
            &capi::required(value, "value"));
    });
}

zyfa_status zyfa_options_set_log(zyfa_options* options, zyfa_log_function function, void* user) {
    return capi::guarded([&] {
        ContextOptions& o = capi::required(options, "options").options;
        o.log_callback = nullptr;
        if (function)
            o.log_callback = [function, user](const std::string& line) { function(user, line.c_str()); };
    });
}

zyfa_status zyfa_context_create(const zyfa_options* options, zyfa_context** context) {
    return capi::guarded([&] {
        zyfa_context*& out = capi::required(context, "context");
        auto made = std::make_unique<zyfa_context>();
        made->own =
            std::make_unique<Context>(options ? options->options : ContextOptions::from_environment());
        out = made.release();
    });
}

zyfa_status zyfa_context_global(zyfa_context** context) {
    return capi::guarded([&] {
        static zyfa_context global;
        Context::global(); // what is wrong with the environment is said here
        capi::required(context, "context") = &global;
    });
}

void zyfa_context_destroy(zyfa_context* context) {
    if (context && context->own)
        delete context;
}
