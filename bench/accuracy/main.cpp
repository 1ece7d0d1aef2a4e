// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_accuracy: the error of one FP8 call against fp64 on the same codes (docs/accuracy.md).
//
//   zyfa_accuracy distributions [--seq N] [--heads N] [--seed N] [NAME...]   the paper's Figure 15
//   zyfa_accuracy captured [--seq N] [--heads N] FILE...                     captured layers
//   zyfa_accuracy rotation [--seq N] [--heads N] [FILE...]                   input error without and with R
//   zyfa_accuracy plot FILE.csv FILE.svg [TITLE]                             a picture of the first two's CSV
//
// Runs on the simulator, or on the GPU that ZYFA_DEVICE names.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/accuracy/call.hpp"
#include "bench/accuracy/chart.hpp"
#include "bench/accuracy/score.hpp"
#include "zyfa/error.hpp"

namespace {

using namespace zyfa;
using namespace zyfa::accuracy;

struct Arguments {
    std::int64_t seq = 2048, heads = 0;
    std::uint64_t seed = 1;
    std::vector<std::string> names;
};

Arguments parse(int argc, char** argv, std::int64_t seq) {
    Arguments out;
    out.seq = seq;
    for (int i = 2; i < argc; ++i) {
        const auto number = [&](const char* name) {
            return std::strcmp(argv[i], name) == 0 && i + 1 < argc ? std::atoll(argv[++i]) : -1;
        };
        if (const long long n = number("--seq"); n > 0)
            out.seq = n;
        else if (const long long h = number("--heads"); h > 0)
            out.heads = h;
        else if (const long long s = number("--seed"); s >= 0)
            out.seed = static_cast<std::uint64_t>(s);
        else
            out.names.emplace_back(argv[i]);
    }
    return out;
}

void say(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

/// Every variant and key order on one set of inputs.
void measure(Context& context, const std::string& name, const Values& values) {
    const Codes codes = quantised(context, values, {});
    const Exact wanted = exact(codes.problem, codes.tensors());
    const auto print = [&](const char* variant, const std::string& order, const ErrorSummary& e) {
        say(to_csv({name, variant, order, codes.problem.seq_q, codes.problem.heads_q, e.relative_rms,
                    e.max_abs, e.snr_db, e.lse_max_abs}));
    };
    for (const Probability probability : {Probability::exact, Probability::lean})
        for (const char* order : {"from_first", "from_diagonal"})
            print(probability == Probability::lean ? "lean" : "exact", order,
                  error_of(run(context, codes, probability, order), wanted));
    print("plain emulation", "-", emulation(codes, wanted, Unscaled::plain));
    print("lean without block scales", "-", emulation(codes, wanted, Unscaled::lean));
}

void distributions(Context& context, const Arguments& a) {
    std::vector<Distribution> chosen;
    for (const std::string& name : a.names)
        chosen.push_back(distribution_named(name));
    if (chosen.empty())
        chosen.assign(all_distributions().begin(), all_distributions().end());
    say(csv_head());
    for (const Distribution d : chosen)
        measure(context, to_string(d), drawn(d, std::max<std::int64_t>(1, a.heads), a.seq, a.seed));
}

std::string stem(const std::string& file) {
    return std::filesystem::path(file).stem().string();
}

void captured_layers(Context& context, const Arguments& a) {
    say(csv_head());
    for (const std::string& file : a.names)
        measure(context, stem(file), captured(file, a.seq, a.heads));
}

/// Error that quantising the inputs adds: fp64 on the codes against fp64 on the BF16 values.
void input_error(Context& context, const std::string& name, const Values& values) {
    const Exact wanted = exact(values.problem, values.tensors());
    double plain = 0;
    for (const Transform t : {Transform{}, {true, false}, {false, true}, {true, true}}) {
        const Codes codes = quantised(context, values, t);
        const double error = relative_rms(exact(codes.problem, codes.tensors()), wanted);
        if (!t.rotate && !t.smooth)
            plain = error;
        char text[200];
        std::snprintf(text, sizeof text, "%s,%lld,%lld,%s,%.5f,%.3f\n", name.c_str(),
                      static_cast<long long>(values.problem.seq_q),
                      static_cast<long long>(values.problem.heads_q),
                      t.rotate   ? t.smooth ? "rotation + K smoothing" : "rotation"
                      : t.smooth ? "K smoothing"
                                 : "none",
                      error, plain / error);
        say(text);
    }
}

void rotation(Context& context, const Arguments& a) {
    say("inputs,seq,heads,transform,input_error,times_smaller\n");
    if (a.names.empty())
        input_error(context, "outliers", with_outliers(a.seq, a.seed));
    for (const std::string& file : a.names)
        input_error(context, stem(file), captured(file, a.seq, a.heads));
}

void plot(int argc, char** argv) {
    if (argc < 4)
        throw Error(ErrorCode::invalid_argument, "plot", "plot takes a CSV file and an SVG file");
    std::ifstream in(argv[2]);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    std::ofstream out(argv[3]);
    out << chart(from_csv(text), argc > 4 ? argv[4] : "Error of one FP8 attention call");
    if (!out.flush())
        throw Error(ErrorCode::io_error, argv[3], std::string(argv[3]) + " cannot be written");
}

int usage() {
    std::fputs("usage: zyfa_accuracy distributions|captured|rotation|plot ... (see the head of its source)\n",
               stderr);
    return 2;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2)
        return usage();
    const std::string command = argv[1];
    try {
        if (command == "plot")
            return plot(argc, argv), 0;
        ContextOptions options = ContextOptions::from_environment();
        if (options.device == "auto")
            options.device = "sim";
        options.mode = Mode::off;
        options.cache_dir = ":memory:";
        Context context(options);
        if (command == "distributions")
            distributions(context, parse(argc, argv, 2048));
        else if (command == "captured")
            captured_layers(context, parse(argc, argv, 2048));
        else if (command == "rotation")
            rotation(context, parse(argc, argv, 1024));
        else
            return usage();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "zyfa_accuracy: %s\n", error.what());
        return 1;
    }
    return 0;
}
