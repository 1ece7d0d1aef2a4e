// SPDX-License-Identifier: Apache-2.0
// Options from the environment.
#include "zyfa/context.hpp"

#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "attention/services.hpp"

using namespace zyfa;

namespace {

/// Sets a variable for the life of the scope.
class Variable {
  public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name))
            old_ = old, had_ = true;
        value ? setenv(name, value, 1) : unsetenv(name);
    }
    ~Variable() { had_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

  private:
    const char* name_;
    std::string old_;
    bool had_ = false;
};

} // namespace

TEST_CASE("options come from the environment") {
    const Variable device("ZYFA_DEVICE", "sim"), dir("ZYFA_CACHE_DIR", "/a/b"), mode("ZYFA_MODE", "must_hit"),
        layers("ZYFA_CACHE_LAYERS", "/site/zyfa::/shipped/pack"), log("ZYFA_LOG", "stderr"),
        memory("ZYFA_TUNE_MEMORY", "1000000000");
    const ContextOptions options = ContextOptions::from_environment();
    CHECK(options.device == "sim");
    CHECK(options.cache_dir == "/a/b");
    CHECK(options.mode == Mode::must_hit);
    CHECK(options.cache_layers == std::vector<std::string>{"/site/zyfa", "/shipped/pack"});
    CHECK(options.log == "stderr");
    CHECK(options.tune_memory_bytes == 1'000'000'000);
    const Variable unit("ZYFA_TUNE_MEMORY", "1G");
    CHECK_THROWS_WITH_AS(ContextOptions::from_environment(),
                         doctest::Contains("\"1G\"; accepted: a number of bytes"), Error);
}

TEST_CASE("without an environment, only real devices and stored winners are used") {
    const Variable device("ZYFA_DEVICE", nullptr), mode("ZYFA_MODE", nullptr),
        layers("ZYFA_CACHE_LAYERS", nullptr);
    const ContextOptions options = ContextOptions::from_environment();
    CHECK(options.device == "auto");
    CHECK(options.mode == Mode::replay);
    CHECK(options.cache_layers.empty());
}

TEST_CASE("a mode that does not exist is refused by name") {
    const Variable mode("ZYFA_MODE", "fast");
    try {
        ContextOptions::from_environment();
        FAIL("accepted");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::invalid_argument);
        CHECK(error.argument() == "ZYFA_MODE");
        CHECK(std::string(error.what()).find("\"fast\"") != std::string::npos);
        CHECK(std::string(error.what()).find("must_hit") != std::string::npos);
    }
}

TEST_CASE("the user layer lies in the cache folder of the user, or in memory") {
    ContextOptions options;
    options.cache_dir = "/given";
    CHECK(call::user_cache_dir(options) == "/given");
    options.cache_dir.clear();
    {
        const Variable xdg("XDG_CACHE_HOME", "/xdg"), home("HOME", "/home/me");
        CHECK(call::user_cache_dir(options) == "/xdg/zyfa");
    }
    {
        const Variable xdg("XDG_CACHE_HOME", nullptr), home("HOME", "/home/me");
        CHECK(call::user_cache_dir(options) == "/home/me/.cache/zyfa");
    }
    const Variable xdg("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
    CHECK(call::user_cache_dir(options) == ":memory:");
}
