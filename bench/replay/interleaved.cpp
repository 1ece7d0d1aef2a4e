// SPDX-License-Identifier: Apache-2.0
// Reads recorded ABBA runs.
#include "bench/replay/interleaved.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "zyfa/error.hpp"

namespace zyfa::replay {

std::vector<InterleavedRun> read_interleaved_csv(const std::filesystem::path& file) {
    std::ifstream stream(file);
    if (!stream)
        throw Error(ErrorCode::io_error, "file", file.string() + " cannot be opened");
    struct Block {
        double sum = 0, start_ms = 0;
        std::size_t launches = 0;
    };
    std::map<std::tuple<std::string, std::string, int>, std::map<int, Block>> runs;
    std::string line;
    std::getline(stream, line);
    while (std::getline(stream, line)) {
        std::array<std::string, 8> cell;
        std::istringstream cells(line);
        for (std::string& text : cell)
            if (!std::getline(cells, text, ','))
                throw Error(ErrorCode::io_error, "file",
                            file.string() + ": \"" + line + "\" has too few columns");
        if (cell[2].starts_with("alone"))
            continue;
        Block& block = runs[{cell[1], cell[2], std::atoi(cell[0].c_str())}][std::atoi(cell[3].c_str())];
        if (block.launches++ == 0)
            block.start_ms = std::atof(cell[6].c_str());
        block.sum += std::atof(cell[7].c_str());
    }
    std::vector<InterleavedRun> result;
    for (const auto& [key, blocks] : runs) {
        InterleavedRun& run = result.emplace_back();
        std::tie(run.pair, run.block, run.repetition) = key;
        for (const auto& [number, block] : blocks)
            if (blocks.at(number - number % 4).start_ms >= 2000 || (run.block == "3.0" || run.block == "1.0"))
                run.block_ms.push_back(block.sum / static_cast<double>(block.launches));
    }
    return result;
}

std::vector<double> log_ratios(const InterleavedRun& run) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i + 4 <= run.block_ms.size(); i += 4)
        ratios.push_back(0.5 * std::log(run.block_ms[i] * run.block_ms[i + 3] /
                                        (run.block_ms[i + 1] * run.block_ms[i + 2])));
    return ratios;
}

} // namespace zyfa::replay
