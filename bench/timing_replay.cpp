// SPDX-License-Identifier: Apache-2.0
// build/bin/zyfa_timing_replay FOLDER [TRIALS]: the table of docs/tuning.md. Timing protocols on launch times
// that were recorded on a real GPU (FOLDER holds launches.csv and interleaved_launches.csv).
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/core.h>

#include "bench/replay/interleaved.hpp"
#include "bench/replay/trials.hpp"
#include "zyfa/error.hpp"

using namespace zyfa;
using namespace zyfa::replay;

namespace {

std::string share(std::size_t hits, std::size_t trials) {
    return fmt::format("{:.1f}% (<= {:.1f}%)",
                       100.0 * static_cast<double>(hits) / static_cast<double>(trials),
                       100 * tuner::proportion_upper_95(hits, trials));
}

void row(const std::string& what, const std::string& protocol, const TrialCount& count, bool has_right) {
    const std::string right =
        has_right ? fmt::format("{:.1f}% (>= {:.1f}%)",
                                100.0 * static_cast<double>(count.right) / static_cast<double>(count.trials),
                                100 * tuner::proportion_lower_95(count.right, count.trials))
                  : "";
    fmt::print("| {} | {} | {} | {} | {} | {} | {:+.2f}% | {:.0f} s |\n", what, protocol, count.trials, right,
               share(count.wrong, count.trials), share(count.withheld, count.trials),
               100 * std::expm1(count.gain), count.device_s);
    std::fflush(stdout);
}

void header() {
    fmt::print("| candidates | protocol | trials | right winner | wrong winner | withheld | mean estimate | "
               "device time |\n|---|---|---|---|---|---|---|---|\n");
}

void run(const std::filesystem::path& folder, std::size_t trials) {
    const Trials recorded(read_launches_csv(folder / "launches.csv"));
    const std::pair<const char*, TrialProtocol> protocols[]{{"sustained", sustained_trial},
                                                            {"paper-fixed", paper_fixed_trial},
                                                            {"20 ms blocks", short_blocks_trial},
                                                            {"first 20 ms", first_milliseconds_trial}};
    fmt::print("Dealt from one series:\n\n");
    header();
    for (const auto& [name, protocol] : protocols) {
        row("equal", name, recorded.of_one_series(protocol, 0, 0, trials), false);
        for (const double gain : {0.005, 0.01, 0.02, 0.05})
            row(fmt::format("faster by {:g}%", 100 * gain), name,
                recorded.of_one_series(protocol, gain, 0, trials), true);
        row("four equal ones", name, recorded.of_one_series(protocol, 0, 3, trials), false);
        row("one faster by 1%, three equal", name, recorded.of_one_series(protocol, 0.01, 3, trials), true);
    }
    fmt::print("\nAcross repetitions:\n\n");
    header();
    for (const auto& [name, protocol] : protocols) {
        row("equal", name, recorded.across_repetitions(protocol, 0, trials), false);
        for (const double gain : {0.005, 0.01, 0.02, 0.05})
            row(fmt::format("faster by {:g}%", 100 * gain), name,
                recorded.across_repetitions(protocol, gain, trials), true);
    }
    fmt::print("\nNamed pairs:\n\n");
    header();
    for (const auto& [name, protocol] : protocols) {
        row("flash on zeros, repetition 2 against 0", name,
            Trials::of_pair(protocol, {&recorded.run(0, "zeros", "flash"), 1},
                            {&recorded.run(2, "zeros", "flash"), 1}, 1, trials),
            true);
        row("flash x 0.55 against cudnn", name,
            Trials::of_pair(protocol, {&recorded.run(0, "gaussian0.1", "cudnn"), 1},
                            {&recorded.run(0, "gaussian0.1", "flash"), 0.55}, 1, trials),
            true);
    }
    fmt::print("\nRecorded alternation (B over A):\n\n| pair | block | groups | ratio | 95% interval |\n"
               "|---|---|---|---|---|\n");
    for (const InterleavedRun& pair : read_interleaved_csv(folder / "interleaved_launches.csv")) {
        const std::vector<double> ratios = log_ratios(pair);
        const tuner::MeanInterval interval = tuner::mean_interval(ratios, 0.05);
        fmt::print("| {}, repetition {} | {} s | {} | {:.4f} |", pair.pair, pair.repetition, pair.block,
                   ratios.size(), std::exp(-interval.mean));
        if (ratios.size() > 1)
            fmt::print(" {:.4f} to {:.4f} |\n", std::exp(-interval.high), std::exp(-interval.low));
        else
            fmt::print(" |\n");
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        fmt::print(stderr, "usage: {} FOLDER [TRIALS]\n", argv[0]);
        return 2;
    }
    try {
        run(argv[1], argc > 2 ? static_cast<std::size_t>(std::atoi(argv[2])) : 1000);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
    return 0;
}
