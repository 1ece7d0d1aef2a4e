// SPDX-License-Identifier: Apache-2.0
// The tool as people and scripts meet it: a process with flags, an environment, two streams and an exit code.
#include "tool.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using zyfa::test::Output;
using zyfa::test::run_tool;
using zyfa::test::TemporaryFolder;
using Json = nlohmann::json;

namespace {

const std::string excerpt = ZYFA_DATA_DIR "/gqa_excerpt.safetensors";

Json json_of(const Output& output) {
    INFO(output.out);
    INFO(output.err);
    const Json json = Json::parse(output.out, nullptr, false);
    REQUIRE_FALSE(json.is_discarded());
    return json;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("help and version need nothing") {
    const Output help = run_tool("--help");
    CHECK(help.code == 0);
    for (const char* word :
         {"doctor", "attention", "tune", "check", "asm", "cache", "simulate", "Exit codes", "ZYFA_DEVICE"}) {
        CHECK_MESSAGE(contains(help.out, word), word);
    }
    for (const char* command : {"doctor", "attention", "tune", "check", "asm", "cache", "cache list",
                                "cache show", "cache stat", "simulate", "trace", "microbench"}) {
        const Output output = run_tool(std::string(command) + " --help");
        CHECK_MESSAGE(output.code == 0, command);
        CHECK_MESSAGE(contains(output.out, "Usage"), command);
    }
    CHECK(run_tool("--version").out == "zyfa " ZYFA_VERSION "\n");
}

TEST_CASE("usage errors have exit code 2 and say what is accepted") {
    CHECK(run_tool("").code == 2);
    CHECK(run_tool("atention").code == 2);
    const auto refused = [](const std::string& arguments, const std::string& accepted) {
        const Output output = run_tool(arguments);
        INFO(arguments);
        INFO(output.err);
        CHECK(output.code == 2);
        CHECK(output.out.empty());
        CHECK(contains(output.err, accepted));
    };
    refused("attention --seq 0", "--seq");
    refused("attention --layout sbhd", "bhsd");
    refused("attention --mode fast", "must_hit");
    refused("attention --device gpu", "sim");
    refused("attention --distribution uniform", "gaussian");
    refused("attention --heads-q 3 --heads-kv 2 --device sim", "heads");
    refused("attention --dim-qk 64 --dim-v 64 --device sim", "128");
    refused("attention --input " + excerpt + " --heads 3", "multiples of 4");
    refused("attention --input " + excerpt + " --batch 2", "--batch");
    refused("asm --tau 99", "tau");
    refused("asm --tau many", "number");
    refused("asm --schedule x{a=1}", "bf16_fwd_d128");
    refused("attention --input " ZYFA_DATA_DIR "/README.md", "README.md");
    refused("cache show 0123", "zyfa cache list");
}

TEST_CASE("files that cannot be read have exit code 7, in both forms") {
    const Output output = run_tool("attention --input /nonexistent.safetensors");
    CHECK(output.code == 7);
    CHECK(contains(output.err, "/nonexistent.safetensors"));
    const Output json = run_tool("attention --json --input /nonexistent.safetensors");
    CHECK(json.code == 7);
    const Json error = json_of(json)["error"];
    CHECK(error["code"] == "io_error");
    CHECK(error["argument"] == "/nonexistent.safetensors");
    const TemporaryFolder folder;
    CHECK(run_tool("attention --input " + folder.write("x.safetensors", "not one")).code == 2);
}

TEST_CASE("asm prints a kernel that its own assembler accepts") {
    const Output text = run_tool("asm --seq 512");
    CHECK(text.code == 0);
    CHECK(contains(text.out, ".amdhsa_kernel"));
    CHECK(contains(text.out, "v_mfma_f32_32x32x16_bf16"));
    const TemporaryFolder folder;
    const Output object = run_tool("asm --json --seq 512 --object " + folder.path("k.co"));
    CHECK(object.code == 0);
    const Json json = json_of(object);
    CHECK(json["assembly"] == text.out);
    CHECK(json["kernel"]["target"] == "gfx950");
    CHECK(json["launch"]["block"][0] == json["kernel"]["workgroup_size"]);
    CHECK(zyfa::test::read_text(folder.path("k.co"))
              .starts_with("\x7f"
                           "ELF"));

    // A schedule by its text and by parameter flags is the same schedule.
    const Json by_flag = json_of(run_tool("asm --json --tau 2"));
    const Json by_text =
        json_of(run_tool("asm --json --schedule '" + by_flag["schedule"].get<std::string>() + "'"));
    CHECK(by_flag["schedule"] == by_text["schedule"]);
    CHECK(by_flag["assembly"] == by_text["assembly"]);
    CHECK(by_flag["assembly"] != json["assembly"]);
}

TEST_CASE("doctor says what there is") {
    const TemporaryFolder folder;
    const Output output = run_tool("doctor --json", {{"ZYFA_CACHE_DIR", folder.path("cache")}});
    const Json json = json_of(output);
    CHECK(json["zyfa"] == ZYFA_VERSION);
    CHECK(json["ok"] == (output.code == 0));
    CHECK(json["problems"].empty() == (output.code == 0));
    CHECK_FALSE(json["toolchain"]["chosen"].get<std::string>().empty());
    CHECK(json["cache"][0]["path"].get<std::string>().starts_with(folder.path("cache")));
    CHECK(json["cache"][0]["writable"] == true);
    if (ZYFA_HAS_SIM) {
        REQUIRE(json["simulator"]["devices"].size() >= 1);
        const Json device = json["simulator"]["devices"][0];
        CHECK(device["simulated"] == true);
        CHECK(device["target"].get<std::string>().starts_with("gfx950"));
        CHECK(device["compute_units"] == 256);
    }
    const Output text = run_tool("doctor", {{"ZYFA_CACHE_DIR", folder.path("cache")}});
    CHECK(text.code == output.code);
    for (const char* word : {"HIP", "simulator", "assembler", "cache", "runs on"}) {
        CHECK_MESSAGE(contains(text.out, word), word);
    }
}

TEST_CASE("captured MLA layers, query-key dimension 192 and value dimension 128") {
    for (const char* layer : {"1", "4"}) {
        const Json json =
            json_of(run_tool("attention --json --device sim --mode off --input " ZYFA_DATA_DIR "/mla_layer" +
                             std::string(layer) + "_excerpt.safetensors"));
        INFO(json.dump());
        CHECK(json["schedule"]["template"] == "bf16_fwd_d192");
        CHECK(json["schedule"]["parameters"]["tau"] == 8.0);
        CHECK(json["error"]["relative_rms"] <= 2.6e-3); // the paper's BF16 kernels: 1.7e-3 to 2.3e-3
        CHECK(json["error"]["lse_max_abs"] <= 1e-4);
    }
    const Json checked =
        json_of(run_tool("check --json --device sim --dim-qk 192 --seq 50 --heads-q 2 --heads-kv 1"));
    CHECK(checked["schedules"] > 0);
    CHECK(checked["passed"] == checked["schedules"]);
}

TEST_CASE("doctor --selftest tries what the kernels take for granted") {
    const TemporaryFolder folder;
    const std::map<std::string, std::string> environment{{"ZYFA_DEVICE", "sim"},
                                                         {"ZYFA_CACHE_DIR", folder.path("cache")}};
    const Output output = run_tool("doctor --selftest --device sim --json", environment);
    const Json json = json_of(output);
    CHECK(output.code == 0);
    CHECK(json["selftest"]["passed"] == true);
    CHECK(json["selftest"]["facts"].size() >= 16);
    for (const Json& fact : json["selftest"]["facts"]) {
        CHECK_MESSAGE(fact["held"] == true, fact.dump());
    }
    REQUIRE(!json["selftest"]["templates"].empty());
    for (const Json& entry : json["selftest"]["templates"]) {
        CHECK(entry["refused"] == false);
        CHECK(entry["needs"].size() >= 8); // found in the kernels' own instructions
    }
    CHECK_FALSE(json_of(run_tool("doctor --device sim --json", environment)).contains("selftest"));
}

TEST_CASE("with AMD's HIP library and no GPU: its version, no device, and how to go on") {
    const std::string library = ZYFA_ROCM_LIBRARY_DIR "/libamdhip64.so.7";
    if (!std::filesystem::exists(library) || std::filesystem::exists("/dev/kfd")) {
        MESSAGE("skipped: needs AMD's libamdhip64.so.7 and a machine without a GPU");
        return;
    }
    const TemporaryFolder folder;
    const std::map<std::string, std::string> environment{{"ZYFA_CACHE_DIR", folder.path()},
                                                         {"ZYFA_HIP_LIBRARY", library}};
    const Output doctor = run_tool("doctor --json", environment);
    const Json json = json_of(doctor);
    CHECK(contains(json["hip"]["library"], "libamdhip64.so.7"));
    CHECK(json["hip"]["version"].get<std::string>().starts_with("7."));
    CHECK(contains(json["hip"]["device_status"], "no device"));
    CHECK(json["hip"]["usable"] == false);

    CHECK(run_tool("doctor --device 0", environment).code == 3);
    const Output call = run_tool("attention --seq 64 --device 0", environment);
    CHECK(call.code == 3);
    CHECK(contains(call.err, library));
    CHECK(contains(call.err, "ZYFA_DEVICE=sim"));
}

TEST_CASE("a missing HIP library is an error that names it") {
    const Output output =
        run_tool("attention --seq 64 --device 0",
                 {{"ZYFA_CACHE_DIR", ":memory:"}, {"ZYFA_HIP_LIBRARY", "/nonexistent/libamdhip64.so"}});
    CHECK(output.code == 3);
    CHECK(contains(output.err, "/nonexistent/libamdhip64.so"));
}

#if ZYFA_HAS_SIM

TEST_CASE("a cold process tunes and stores; a second one finds the winner and measures nothing") {
    const TemporaryFolder folder;
    const std::map<std::string, std::string> environment{{"ZYFA_CACHE_DIR", folder.path("cache")}};
    const std::string command = "attention --json --device sim --budget 2 --input " + excerpt + " --seq 300";

    CHECK(run_tool(command + " --mode must_hit", environment).code == 4);

    const Output cold_output = run_tool(command, environment);
    CHECK(cold_output.code == 0);
    const Json cold = json_of(cold_output);
    CHECK(cold["device"]["kind"] == "simulator");
    CHECK(cold["device"]["simulated"] == true);
    CHECK(cold["simulated"] == true);
    CHECK(cold["problem"]["seq_q"] == 300);
    CHECK(cold["problem"]["heads_q"] == 4);
    CHECK(cold["problem"]["heads_kv"] == 1);
    CHECK(cold["cache"]["result"] == "miss");
    CHECK(cold["counters"]["assembled"].get<int>() >= 1);
    CHECK(cold["counters"]["gated"].get<int>() >= 1);
    CHECK(cold["counters"]["timed"].get<int>() >= 1);
    CHECK(cold["stages_ms"]["assemble"].get<double>() > 0);
    CHECK(cold["kernel_ms"].get<double>() > 0);
    CHECK(cold["tflops"].get<double>() ==
          doctest::Approx(4. * 300 * 300 * 256 / cold["kernel_ms"].get<double>() / 1e9));
    CHECK(cold["error"]["rows"] == 1200);
    CHECK(cold["error"]["relative_rms"].get<double>() > 1e-4); // BF16 output alone costs 1.7e-3
    CHECK(cold["error"]["relative_rms"].get<double>() < 2.6e-3);
    CHECK(cold["error"]["lse_max_abs"].get<double>() < 4e-3);
    CHECK(cold["error"]["passed"] == true);
    CHECK(cold["guards"] == "");

    const Output warm_output = run_tool(command, environment);
    CHECK(warm_output.code == 0);
    const Json warm = json_of(warm_output);
    CHECK(warm["cache"]["result"] == "hit");
    CHECK(warm["cache"]["layer"] == "user");
    CHECK(warm["counters"]["assembled"] == 0);
    CHECK(warm["counters"]["gated"] == 0);
    CHECK(warm["counters"]["timed"] == 0);
    CHECK(warm["counters"]["hits"] == 1);
    CHECK(warm["schedule"] == cold["schedule"]);
    CHECK(warm["error"] == cold["error"]);
    CHECK(warm["kernel_ms"] == cold["kernel_ms"]);

    CHECK(run_tool(command + " --mode must_hit", environment).code == 0);
    const Json off = json_of(run_tool(command + " --mode off", environment));
    CHECK(off["cache"]["result"] == "off");
    CHECK(off["counters"]["timed"] == 0);

    // The cache commands show what was stored.
    const Json list = json_of(run_tool("cache list --json", environment));
    REQUIRE(list["winners"].size() == 1);
    CHECK(list["winners"][0]["schedule"] == cold["schedule"]["text"]);
    CHECK(list["winners"][0]["key"] == cold["cache"]["key"]);
    CHECK(list["winners"][0]["data_profile"] == "captured:gqa_excerpt");
    const std::string digest = list["winners"][0]["digest"].get<std::string>();
    const Json show = json_of(run_tool("cache show --json " + digest.substr(0, 10), environment));
    CHECK(show["intact"] == true);
    CHECK(show["kernel"] == cold["schedule"]["kernel"]);
    CHECK(show["evidence"].is_object());
    CHECK(show["measurements"].size() >= 1);
    CHECK(run_tool("cache show " + digest, environment).code == 0);
    const Json stat = json_of(run_tool("cache stat --json", environment));
    CHECK(stat["layers"][0]["winners"] == 1);
    CHECK(stat["layers"][0]["writable"] == true);

    const Output table = run_tool("attention --device sim --input " + excerpt + " --seq 300", environment);
    CHECK(table.code == 0);
    for (const char* word : {"simulated", "hit", "relative RMS", "nothing assembled", "schedule"}) {
        CHECK_MESSAGE(contains(table.out, word), word);
    }
}

TEST_CASE("--device auto without a GPU runs on the simulator and says so on stderr") {
    if (std::filesystem::exists("/dev/kfd")) {
        MESSAGE("skipped: there may be a GPU here");
        return;
    }
    const Output output =
        run_tool("attention --json --seq 33 --heads-q 1 --mode off", {{"ZYFA_CACHE_DIR", ":memory:"}});
    CHECK(output.code == 0);
    CHECK(contains(output.err, "simulator"));
    CHECK(json_of(output)["device"]["simulated"] == true);
}

TEST_CASE("tune shows its candidates, and tunes again when asked") {
    const TemporaryFolder folder;
    const std::map<std::string, std::string> environment{{"ZYFA_CACHE_DIR", folder.path()}};
    const std::string command = "tune --json --device sim --seq 64 --heads-q 2 --budget 2";
    const Json first = json_of(run_tool(command, environment));
    CHECK(first["measurements"].size() >= 2);
    CHECK(first["evidence"]["winner"].is_object());
    const Json again = json_of(run_tool(command + " --fresh", environment));
    CHECK(again["counters"]["timed"].get<int>() >= 1);
    const Json same = json_of(run_tool(command, environment)); // what was measured is not measured again
    CHECK(same["measurements"].size() >= first["measurements"].size());
    const Json kept = json_of(run_tool(command + " --keep", environment));
    CHECK(kept["counters"]["timed"] == 0);
    CHECK(kept["cache"] == "hit");
}

TEST_CASE("winners travel in signed packs, and only trusted ones arrive") {
    const TemporaryFolder folder;
    const std::map<std::string, std::string> here{{"ZYFA_CACHE_DIR", folder.path("here")}};
    const std::map<std::string, std::string> there{{"ZYFA_CACHE_DIR", folder.path("there")}};
    const std::string call = "attention --json --device sim --seq 40 --heads-q 1 --budget 1";
    REQUIRE(run_tool(call, here).code == 0);
    const Json key = json_of(run_tool("cache keys generate --json " + folder.path("key"), here));
    CHECK(run_tool("cache keys generate " + folder.path("key"), here).code == 7); // not overwritten
    const std::string pack = folder.path("x.zyfapack"), bare = folder.path("bare.zyfapack");
    const Json exported =
        json_of(run_tool("cache export --json " + pack + " --sign " + folder.path("key"), here));
    CHECK(exported["winners"] == 1);
    CHECK(exported["signer"] == key["public_key"]);
    CHECK(run_tool("cache export " + bare, here).code == 0);
    CHECK(run_tool("cache export " + folder.path("x.pack"), here).code == 2); // nobody would take it for one
    CHECK(json_of(run_tool("cache export --json " + bare + " --match bf16", here))["winners"] == 1);
    const Output nothing =
        run_tool("cache export " + folder.path("y.zyfapack") + " --match bf16 --match fp8", here);
    CHECK(nothing.code == 2);
    CHECK(contains(nothing.err, "no winner is selected"));

    CHECK(contains(run_tool("cache import " + pack, there).err, "trusted"));
    CHECK(run_tool("cache import " + bare, there).code == 2);
    CHECK(json_of(run_tool("cache keys --json", there))["signers"].empty());
    CHECK(json_of(run_tool("cache list --json", there))["winners"].empty());
    CHECK(run_tool("cache keys trust " + key["public_key"].get<std::string>() + " builder", there).code == 0);
    CHECK(json_of(run_tool("cache signers --json", there))["signers"][0]["standing"] == "trusted");
    CHECK(json_of(run_tool("cache import --json " + pack, there))["sources"][0]["added"] == 1);
    CHECK(json_of(run_tool("cache import --json " + pack, there))["sources"][0]["same"] == 1);
    CHECK(json_of(run_tool(call + " --mode must_hit", there))["counters"]["assembled"] == 0);

    CHECK(run_tool("cache diff " + folder.path("here") + " " + folder.path("there"), there).code == 0);
    CHECK(run_tool("cache verify", there).code == 0);
    CHECK(json_of(run_tool("cache prune --json --entries 0", there))["winners"] == 1);
    CHECK(run_tool("cache diff " + folder.path("here") + " " + folder.path("there"), there).code == 1);
    CHECK(run_tool("cache keys revoke " + key["public_key"].get<std::string>() + " lost", there).code == 0);
    CHECK(run_tool("cache import " + pack, there).code == 2);
    CHECK(run_tool("cache merge " + folder.path("here"), there).code == 0);
    CHECK(json_of(run_tool("cache list --json", there))["winners"].size() == 1);
}

TEST_CASE("verify sees a flipped bit, and the call that meets it rebuilds") {
    const TemporaryFolder folder;
    const std::map<std::string, std::string> environment{{"ZYFA_CACHE_DIR", folder.path()}};
    const std::string call = "attention --json --device sim --seq 40 --heads-q 1 --budget 1";
    const Json cold = json_of(run_tool(call, environment));
    std::string file;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        if (entry.path().extension() == ".sqlite") {
            file = entry.path().string();
        }
    }
    REQUIRE_FALSE(file.empty());
    std::string bytes = zyfa::test::read_text(file);
    const std::string profile = "gaussian";
    std::size_t at = bytes.find(profile), changed = 0;
    while (at != std::string::npos) { // wherever the text stands
        bytes[at] = 'G';
        ++changed;
        at = bytes.find(profile, at);
    }
    REQUIRE(changed >= 1);
    folder.write(std::filesystem::path(file).filename().string(), bytes);
    const Output verify = run_tool("cache verify --json", environment);
    CHECK(verify.code == 1);
    CHECK(json_of(verify)["layers"][0]["damaged"].get<int>() >= 1);
    const Json again = json_of(run_tool(call, environment));
    CHECK(again["cache"]["result"] == "miss");
    CHECK(again["schedule"] == cold["schedule"]);
    CHECK(json_of(run_tool(call, environment))["cache"]["result"] == "hit");
}

TEST_CASE("a kernel of zyfa runs through asm --launch and simulate") {
    const TemporaryFolder folder;
    REQUIRE(run_tool("asm --seq 96 --heads-q 2 --object " + folder.path("k.co") + " --launch " +
                     folder.path("launch.json"))
                .code == 0);
    const Output output =
        run_tool("simulate --json " + folder.path("k.co") + " --launch " + folder.path("launch.json"));
    CHECK(output.code == 0);
    const Json json = json_of(output);
    CHECK(json["result"] == "ok");
    CHECK(json["simulated"] == true);
    CHECK(json["kernel_ms"].get<double>() > 0);
    CHECK(json["attention"]["passed"] == true);
    CHECK(json["attention"]["relative_rms"].get<double>() > 0.0005); // O rounded to BF16: about 0.0017
    CHECK(json["attention"]["lse_max_abs"].get<double>() < 1e-4);
    REQUIRE(json["outputs"].size() == 2);
    CHECK(json["outputs"][0]["bytes"] == 2 * 96 * 128 * 2);
    for (const Json& value : json["outputs"][0]["values"]) {
        CHECK(value.is_number()); // a row left at the fill would be NaN, which JSON shows as null
    }
    CHECK(std::filesystem::file_size(folder.path("o.bin")) == 2 * 96 * 128 * 2);

    // One workgroup on the cycle model, and its trace.
    const std::string simulate =
        "simulate --json " + folder.path("k.co") + " --launch " + folder.path("launch.json");
    const Json timed =
        json_of(run_tool(simulate + " --timing --instructions --trace " + folder.path("trace.json")));
    REQUIRE(timed["timing"]["instructions"].size() > 100);
    for (const Json& instruction : timed["timing"]["instructions"]) {
        std::uint64_t waited = 0;
        for (const Json& cycles : instruction["stalls"]) {
            waited += cycles.get<std::uint64_t>();
        }
        CHECK(waited == instruction["stalled"].get<std::uint64_t>());
    }
    CHECK(timed["timing"]["matrix_busy"]["whole_loop"].get<double>() > 0);
    CHECK(timed["timing"]["matrix_busy"]["whole_loop"].get<double>() < 1);
    CHECK(timed["timing"]["pipes"]["matrix"].get<std::uint64_t>() > 0);
    CHECK(timed["timing"]["waves"].size() == 8);
    CHECK(timed["timing"]["waves"][0]["instructions"].get<std::uint64_t>() > 100);
    CHECK(timed["timing"]["between_barriers"].size() > 4);
    CHECK_FALSE(json["timing"].contains("pipes"));
    const Json trace = Json::parse(zyfa::test::read_text(folder.path("trace.json")), nullptr, false);
    CHECK(trace["traceEvents"].size() > 100);
    std::set<std::string> tracks;
    for (const Json& event : trace["traceEvents"]) {
        if (event["ph"] == "M") {
            tracks.insert(event["args"]["name"].get<std::string>());
        }
    }
    for (const char* track : {"wave 7", "matrix pipe", "vector pipe", "LDS port", "barriers"}) {
        CHECK(tracks.count(track) == 1);
    }
    CHECK(run_tool(simulate + " --sim-option speed=2").code == 2);

    // Against another softmax scale the same output is wrong attention.
    Json scaled = Json::parse(zyfa::test::read_text(folder.path("launch.json")));
    scaled["attention"]["softmax_scale"] = 0.5;
    folder.write("scaled.json", scaled.dump());
    const Output wrong =
        run_tool("simulate " + folder.path("k.co") + " --launch " + folder.path("scaled.json"));
    CHECK(wrong.code == 1);
    CHECK(contains(wrong.out, "DIFFERS from fp64"));

    // The result compared with itself is equal, with a changed byte it is not.
    Json launch = Json::parse(zyfa::test::read_text(folder.path("launch.json")));
    launch["outputs"] = {{{"buffer", "o"}, {"equals", "o.bin"}, {"type", "bf16"}}};
    folder.write("again.json", launch.dump());
    CHECK(run_tool("simulate " + folder.path("k.co") + " --launch " + folder.path("again.json")).code == 0);
    std::string bytes = zyfa::test::read_text(folder.path("o.bin"));
    bytes[101] = static_cast<char>(bytes[101] ^ 0x20);
    folder.write("o.bin", bytes);
    const Output differs =
        run_tool("simulate " + folder.path("k.co") + " --launch " + folder.path("again.json"));
    CHECK(differs.code == 1);
    CHECK(contains(differs.out, "[50]"));
    CHECK(run_tool("simulate /nonexistent.co --launch " + folder.path("again.json")).code == 7);
    launch["kernel"] = "other";
    folder.write("other.json", launch.dump());
    CHECK(run_tool("simulate " + folder.path("k.co") + " --launch " + folder.path("other.json")).code == 6);

    // The same as files to look at, and the whole grid by its addresses.
    CHECK(run_tool("trace " + folder.path("k.co") + " --launch " + folder.path("launch.json") + " --out " +
                   folder.path("t.json") + " --svg " + folder.path("t.svg") + " --listing " +
                   folder.path("t.txt"))
              .code == 0);
    for (const auto& [file, holds] :
         {std::pair{"t.json", "v_mfma"}, {"t.svg", "matrix pipe"}, {"t.txt", "s_barrier"}}) {
        std::ifstream stream(folder.path(file));
        const std::string content(std::istreambuf_iterator<char>(stream), {});
        CHECK_MESSAGE(contains(content, holds), file);
    }
    const Json grid = json_of(run_tool(simulate + " --grid"));
    CHECK(grid["grid"]["lines"].get<double>() > 0);
    CHECK(grid["grid"]["l2_hit_share"].get<double>() < 1);
}

#endif

TEST_CASE("microbenchmarks run through the HIP library") {
    const Json cost = json_of(run_tool("microbench --json --only v_exp_f32"));
    CHECK(cost["simulated"] == true);
    std::map<std::string, double> value;
    for (const Json& test : cost["cases"]) {
        value[test["name"].get<std::string>()] = test["value"].get<double>();
    }
    CHECK(value.at("v_exp_f32") == doctest::Approx(8).epsilon(0.03)); // paper Section III-A
    CHECK(value.at("v_exp_f32 beside fp8 32x32") > 1.13 * 0.95);
    CHECK(value.at("v_exp_f32 beside bf16 32x32") < 1.28 * 1.05);
    CHECK(run_tool("microbench --only nothing-is-called-so").code == 2);

    // Zeros change no bit; what is drawn does.
    const TemporaryFolder folder;
    folder.write("zeros.bin", std::string(16384, '\0'));
    const std::string loop = "microbench --json --only 'clock: FP8 MFMA 16x16'";
    const Json drawn = json_of(run_tool(loop));
    const Json zeros = json_of(run_tool(loop + " --operands " + folder.path("zeros.bin")));
    CHECK(zeros["cases"][0]["value"].get<double>() > drawn["cases"][0]["value"].get<double>());
    folder.write("short.bin", "1234");
    CHECK(run_tool(loop + " --operands " + folder.path("short.bin")).code == 2);
}
