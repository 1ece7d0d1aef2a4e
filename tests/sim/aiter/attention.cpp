// SPDX-License-Identifier: Apache-2.0
// AITER's own attention kernels, run from their files by `zyfa simulate` and compared with fp64 attention.
// The files are AMD's (github.com/ROCm/aiter, hsa/gfx950/fmha_v3_fwd at commit e4048607a5) and never part of
// this project: the folder that holds them is given by ZYFA_AITER_KERNELS; without it the test is skipped by
// name (exit code 77). Launch ABI: AITER's csrc/include/mha_fwd.h (fmha_fwd_v3_args, every field in a slot
// of 16 bytes, strides in bytes) and csrc/cpp_itfs/mha_fwd.cu.
//
// usage: zyfa_aiter_attention TOOL DATA_FOLDER KERNEL [S...]     prints one row of a Markdown table per
// launch
//        zyfa_aiter_attention TOOL DATA_FOLDER KERNEL --sanitize [S]    what the sanitizer finds, by rule,
//        with
// two query heads on one (docs/sanitizer.md)
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sodium.h>

namespace {

using Json = nlohmann::ordered_json;

struct Kernel {
    const char *file, *symbol, *sha256;
    bool fp8;
    std::int64_t dim_qk;
    std::uint32_t rows_per_workgroup, block; ///< query rows of a tile; work-items
};

// Tile heights and names: AITER's hsa/gfx950/fmha_v3_fwd/fmha_fwd.csv.
const std::map<std::string, Kernel> kernels{
    {"bf16-d128",
     {.file = "fwd_hd128_bf16_causal.co",
      .symbol = "_ZN5aiter26fmha_fwd_hd128_bf16_causalE",
      .sha256 = "2800ae3552b778f12d535bed799776568de3504eeae8439bcfd2cf45ca4a72c9",
      .fp8 = false,
      .dim_qk = 128,
      .rows_per_workgroup = 256,
      .block = 512}},
    {"bf16-d192",
     {.file = "fwd_hd192_hd128_bf16_causal.co",
      .symbol = "_ZN5aiter32fmha_fwd_hd192_hd128_bf16_causalE",
      .sha256 = "780818dec8b75b7cee2052ac00d14cc0d553e75fb95e8848d19c9de68e7471bf",
      .fp8 = false,
      .dim_qk = 192,
      .rows_per_workgroup = 128,
      .block = 256}},
    {"fp8-d128",
     {.file = "fwd_hd128_fp8_causal.co",
      .symbol = "_ZN5aiter31fmha_fwd_hd128_fp8_causal_gfx950E",
      .sha256 = "ca8f416739558e92a189e733efa77af0a3db00460ed7bed83361b839e39281b3",
      .fp8 = true,
      .dim_qk = 128,
      .rows_per_workgroup = 256,
      .block = 512}}};

constexpr std::int64_t dim_v = 128;

struct Case {
    std::int64_t heads_q, heads_kv, seq;
    bool captured; ///< activations of a real model instead of Gaussian numbers
};

/// The argument block, fmha_fwd_v3_args.
Json kernargs(const Kernel& kernel, const Case& c) {
    const std::int64_t input = kernel.fp8 ? 1 : 2, s = c.seq, dim = kernel.dim_qk;
    Json list = Json::array();
    const auto pointer = [&](int offset, const char* buffer) {
        list.push_back({{"buffer", buffer}, {"offset", offset}});
    };
    const auto number = [&](int offset, std::int64_t value) {
        list.push_back({{"type", "u32"}, {"value", value}, {"offset", offset}});
    };
    const auto strides = [&](std::initializer_list<int> offsets, std::int64_t heads, std::int64_t row_bytes) {
        const std::int64_t values[3] = {row_bytes, row_bytes * s, row_bytes * s * heads}; // row, head, batch
        std::size_t i = 0;
        for (const int offset : offsets) {
            number(offset, values[i++]);
        }
    };
    pointer(0, "o");
    pointer(16, "q");
    pointer(32, "k");
    pointer(48, "v");
    pointer(64, "lse");
    list.push_back({{"type", "f32"}, {"value", 1 / std::sqrt(static_cast<double>(dim))}, {"offset", 80}});
    number(96, s);                                        // query rows
    strides({112, 144, 160}, c.heads_q, dim * input);     // q
    number(128, kernel.rows_per_workgroup * dim * input); // a tile of q
    number(176, c.heads_q / c.heads_kv);                  // GQA ratio
    strides({192, 208, 224}, c.heads_kv, dim * input);    // k
    number(240, c.heads_q % 8 != 0 || s > 16384 ? 3 : 5); // order of tiles over XCDs, as AITER's host sets it
    number(256, 1);                                       // LSE is wanted
    number(272, s);                                       // keys
    number(288, dim);
    number(304, dim_v);
    number(320, c.heads_q);
    strides({336, 352, 368}, c.heads_kv, dim_v * input); // v
    strides({384, 400, 416}, c.heads_q, dim_v * 2);      // o, BF16
    number(464, 4 * s);                                  // LSE of a head
    if (kernel.fp8) {
        pointer(512, "q_descale");
        pointer(528, "k_descale");
        pointer(544, "v_descale");
    }
    return list;
}

Json input_buffer(const Kernel& kernel, const Case& c, const std::string& data, const char* name,
                  std::int64_t heads, std::int64_t dim, int seed) {
    Json buffer;
    if (c.captured) {
        buffer = {{"safetensors", data + "/gqa_excerpt.safetensors"},
                  {"tensor", name},
                  {"cut", {{0, 1}, {0, heads}, {0, c.seq}, {0, dim}}}};
    } else {
        buffer = {{"size", heads * c.seq * dim * (kernel.fp8 ? 1 : 2)},
                  {"generator", {{"kind", "gaussian"}, {"type", "bf16"}, {"seed", seed}}}};
    }
    if (kernel.fp8) {
        buffer["as"] = "e4m3";
        buffer["scale"] = "auto";
    }
    return buffer;
}

Json launch(const Kernel& kernel, const Case& c, const std::string& data) {
    const std::int64_t tiles = (c.seq + kernel.rows_per_workgroup - 1) / kernel.rows_per_workgroup;
    Json buffers{
        {"q", input_buffer(kernel, c, data, "q", c.heads_q, kernel.dim_qk, 1)},
        {"k", input_buffer(kernel, c, data, "k", c.heads_kv, kernel.dim_qk, 2)},
        {"v", input_buffer(kernel, c, data, "v", c.heads_kv, dim_v, 3)},
        {"o", {{"size", c.heads_q * c.seq * dim_v * 2}, {"fill", 255}}}, // NaN: every byte is written
        {"lse", {{"size", c.heads_q * c.seq * 4}, {"fill", 255}}}};
    if (kernel.fp8) {
        for (const char* name : {"q", "k", "v"}) {
            buffers[std::string(name) + "_descale"] = {{"descale_of", name}};
        }
    }
    // The arithmetic of these kernels: P in the inputs' type, row sum of the unrounded p, O in BF16. A plain
    // emulation of it has the errors that stand in docs/simulator.md; the limits are a little above.
    return {{"kernel", kernel.symbol},
            {"grid", {(tiles + 1) / 2, c.heads_q, 1}}, // a workgroup takes a tile from each end
            {"block", {kernel.block}},
            {"kernarg_bytes", 656},
            {"kernargs", kernargs(kernel, c)},
            {"buffers", buffers},
            {"attention",
             {{"dtype", kernel.fp8 ? "e4m3" : "bf16"},
              {"heads_q", c.heads_q},
              {"heads_kv", c.heads_kv},
              {"seq_q", c.seq},
              {"dim_qk", kernel.dim_qk},
              {"lse", "lse"},
              {"relative_rms", kernel.fp8 ? 0.03 : 0.004},
              {"row_relative_rms", kernel.fp8 ? 0.2 : 0.03},
              {"lse_max_abs", kernel.fp8 ? 1e-3 : 1e-5},
              {"probabilities", kernel.fp8 ? "e4m3" : "bf16"}}}};
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string sha256_hex(const std::string& bytes) {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
    crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    std::string hex;
    for (const unsigned char byte : digest) {
        hex += fmt::format("{:02x}", byte);
    }
    return hex;
}

/// Findings by severity and rule.
int sanitize(const Kernel& kernel, const std::string& tool, const std::string& object, std::int64_t seq,
             const std::filesystem::path& work) {
    const Case c{.heads_q = 2, .heads_kv = 1, .seq = seq, .captured = false};
    const std::string file = work / "launch.json", out = work / "out.json";
    std::ofstream(file) << launch(kernel, c, "").dump(1);
    static_cast<void>(std::system(
        fmt::format("'{}' simulate '{}' --launch '{}' --sanitize --json > '{}'", tool, object, file, out)
            .c_str())); // errors are what is looked for
    const Json json = Json::parse(read_file(out), nullptr, false);
    if (json.is_discarded() || !json.contains("sanitizer")) {
        std::printf("no report:\n%s\n", read_file(out).c_str());
        return 1;
    }
    std::map<std::string, int> counts;
    for (const Json& report : json["sanitizer"]["kernels"])
        for (const Json& finding : report["findings"])
            ++counts[finding["severity"].get<std::string>() + ": " + finding["rule"].get<std::string>()];
    fmt::print("{}: {} errors, {} notes\n", kernel.file, json["sanitizer"]["errors"].get<int>(),
               json["sanitizer"]["notes"].get<int>());
    for (const auto& [rule, count] : counts)
        fmt::print("  {} {}\n", count, rule);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 4 || !kernels.contains(argv[3])) {
        std::fprintf(stderr, "usage: %s TOOL DATA_FOLDER bf16-d128|bf16-d192|fp8-d128 [S...]\n", argv[0]);
        return 2;
    }
    const std::string tool = argv[1], data = std::filesystem::absolute(argv[2]);
    const Kernel& kernel = kernels.at(argv[3]);
    const char* folder = std::getenv("ZYFA_AITER_KERNELS");
    if (folder == nullptr || *folder == '\0') {
        std::printf("skipped: ZYFA_AITER_KERNELS does not name a folder with AITER's %s\n", kernel.file);
        return 77;
    }
    const std::string object = std::string(folder) + "/" + kernel.file;
    const std::string found = sha256_hex(read_file(object));
    if (found != kernel.sha256) {
        std::printf("%s has SHA-256 %s; commit e4048607a5 has %s\n", object.c_str(), found.c_str(),
                    kernel.sha256);
        return 1;
    }
    const std::filesystem::path work =
        std::filesystem::temp_directory_path() / fmt::format("zyfa-aiter-{}-{}", argv[3], std::rand());
    std::filesystem::create_directories(work);
    if (argc > 4 && std::string_view(argv[4]) == "--sanitize") {
        const int status = sanitize(kernel, tool, object, argc > 5 ? std::atoll(argv[5]) : 520, work);
        std::filesystem::remove_all(work);
        return status;
    }
    std::vector<std::int64_t> lengths;
    for (int i = 4; i < argc; ++i) {
        lengths.push_back(std::atoll(argv[i]));
    }
    if (lengths.empty()) {
        lengths = {256, 1000, 2048};
    }
    bool passed = true;
    for (const std::int64_t seq : lengths) {
        for (const std::int64_t ratio : {1, 4}) {
            const bool captured = seq <= 1000 && ratio == 4 && kernel.dim_qk == 128;
            const Case c{.heads_q = ratio == 1 ? 2 : 4,
                         .heads_kv = ratio == 1 ? 2 : 1,
                         .seq = seq,
                         .captured = captured};
            const std::string file = work / "launch.json", out = work / "out.json";
            std::ofstream(file) << launch(kernel, c, data).dump(1);
            const std::string command =
                fmt::format("'{}' simulate '{}' --launch '{}' --json > '{}'", tool, object, file, out);
            const int status = std::system(command.c_str());
            const Json json = Json::parse(read_file(out), nullptr, false);
            if (json.is_discarded() || !json.contains("attention")) {
                std::printf("%s, S = %lld, GQA %lld: exit status %d\n%s\n", kernel.file,
                            static_cast<long long>(seq), static_cast<long long>(ratio), status,
                            read_file(out).c_str());
                passed = false;
                continue;
            }
            const Json& result = json["attention"];
            const double emulated = result["emulation"]["relative_rms"].get<double>(),
                         ours = result["emulation"]["kernel_on_these_rows"].get<double>();
            fmt::print("| {} | {} | {} | {} | {:.5f} | {:.4f} | {:.1e} | {:.5f} | {:.5f} | {:.2f} M |{}\n",
                       argv[3], seq, ratio, captured ? "captured" : "Gaussian",
                       result["relative_rms"].get<double>(),
                       result["worst_row"]["relative_rms"].get<double>(), result["lse_max_abs"].get<double>(),
                       ours, emulated, json["instructions"].get<double>() / 1e6,
                       result["passed"].get<bool>() ? "" : " " + result["message"].get<std::string>());
            if (ours > 1.2 * emulated) { // the running maximum may round P a little differently
                fmt::print("  {} times the emulation's error\n", ours / emulated);
                passed = false;
            }
            passed = passed && status == 0 && result["passed"].get<bool>();
        }
    }
    std::filesystem::remove_all(work);
    return passed ? 0 : 1;
}
