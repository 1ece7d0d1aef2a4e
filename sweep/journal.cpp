// SPDX-License-Identifier: Apache-2.0
// Writing and reading a worker's files.
//
// FORMAT
//   workers/ID.journal  one JSON object per line, appended and synced; a line counts when its newline is
//   there:
//     {"event": "start", "id", "site", "node", "gpu", "job", "restarts", "process", "device", "versions",
//     "unix_time"}
//     {"event": "claim", "task", "stage", "unix_time"}
//     {"event": "done", "task", "stage", "seconds", "unix_time", "schedule", "median_ms", "fallback",
//      "fallback_ms", "verdict", ..., "data": [offset, bytes, digest], "binaries": {key: [offset, bytes,
//      digest]}}
//     {"event": "failed", "task", "stage", "reason", "seconds", "unix_time"}
//     {"event": "end", "reason", "unix_time"}
//   workers/ID.data     frames that lines refer to, each one zstd frame: a result as JSON, or a binary record
//     as the cache encodes it (cache/records.cpp). The digest is that of the frame.
//   workers/ID.beat     replaced a few times per lease; its age tells whether the worker lives, its text what
//     it is at.
// CRASH RULE: data are synced before the line that refers to them. A killed worker leaves at most a line
// without a newline, and data that nobody refers to; both are ignored. A worker that starts anew has new
// files.
#include "sweep/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cache/compression.hpp"
#include "cache/records.hpp"
#include "sweep/json_fields.hpp"

namespace zyfa::sweep {

namespace {

std::string file_of(const std::string& worker, const char* suffix) {
    return "workers/" + worker + suffix;
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    throw Error(ErrorCode::io_error, path, path + ": " + what);
}

void write_all(int file, const void* data, std::size_t bytes, const std::string& path) {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t count = ::write(file, next, bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            fail(path, std::string("cannot write: ") + std::strerror(errno));
        next += count;
        bytes -= static_cast<std::size_t>(count);
    }
}

void sync(int file, const std::string& path) {
    if (::fdatasync(file) != 0)
        fail(path, std::string("cannot sync: ") + std::strerror(errno));
}

Json frame_json(const FrameRef& frame) {
    return Json::array({frame.offset, frame.bytes, frame.digest});
}

FrameRef frame_from(const Json& json) {
    return {json.at(0).get<std::uint64_t>(), json.at(1).get<std::uint64_t>(), json.at(2).get<std::string>()};
}

std::vector<std::byte> read_frame(const Folder& folder, const std::string& worker, const FrameRef& frame) {
    const std::string path = folder.path(file_of(worker, ".data"));
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        fail(path, std::string("cannot read: ") + std::strerror(errno));
    std::vector<std::byte> bytes;
    std::size_t have = 0;
    if (frame.bytes <= cache::max_content_bytes) {
        bytes.resize(frame.bytes);
        while (have < bytes.size()) {
            const ssize_t count = ::pread(file, bytes.data() + have, bytes.size() - have,
                                          static_cast<off_t>(frame.offset + have));
            if (count <= 0)
                break;
            have += static_cast<std::size_t>(count);
        }
    }
    ::close(file);
    if (have != frame.bytes || digest(std::span<const std::byte>(bytes)).hex() != frame.digest)
        fail(path, "the frame at byte " + std::to_string(frame.offset) + " is damaged");
    auto content = cache::decompress(bytes);
    if (!content)
        fail(path, "the frame at byte " + std::to_string(frame.offset) + " cannot be decompressed");
    return std::move(*content);
}

Stage stage_named(const Json& json) {
    return json == "confirm" ? Stage::confirm : Stage::search;
}

Json device_json(const DeviceIdentity& device) {
    return {{"target", device.target},
            {"compute_units", device.compute_units},
            {"xcds", device.xcds},
            {"partition", device.partition},
            {"simulated", device.simulated}};
}

WorkerInfo worker_from(const Json& json) {
    WorkerInfo worker;
    json.at("id").get_to(worker.id);
    json.at("site").get_to(worker.site);
    json.at("node").get_to(worker.node);
    json.at("gpu").get_to(worker.gpu);
    json.at("job").get_to(worker.job);
    json.at("restarts").get_to(worker.restarts);
    json.at("process").get_to(worker.process);
    json.at("unix_time").get_to(worker.started);
    const Json& device = json.at("device");
    device.at("target").get_to(worker.lane.device.target);
    device.at("compute_units").get_to(worker.lane.device.compute_units);
    device.at("xcds").get_to(worker.lane.device.xcds);
    device.at("partition").get_to(worker.lane.device.partition);
    device.at("simulated").get_to(worker.lane.device.simulated);
    const Json& versions = json.at("versions");
    versions.at("zyfa").get_to(worker.lane.versions.zyfa);
    versions.at("hip").get_to(worker.lane.versions.hip);
    versions.at("driver").get_to(worker.lane.versions.driver);
    versions.at("firmware").get_to(worker.lane.versions.firmware);
    versions.at("toolchain").get_to(worker.lane.versions.toolchain);
    return worker;
}

DoneLine done_from(const Json& json) {
    DoneLine done;
    json.at("task").get_to(done.task);
    done.stage = stage_named(json.at("stage"));
    json.at("seconds").get_to(done.seconds);
    json.at("schedule").get_to(done.schedule);
    json.at("median_ms").get_to(done.median_ms);
    json.at("fallback").get_to(done.fallback);
    json.at("fallback_ms").get_to(done.fallback_ms);
    json.at("verdict").get_to(done.verdict);
    json.at("policy").get_to(done.policy);
    json.at("simulated").get_to(done.simulated);
    json.at("assembled").get_to(done.assembled);
    json.at("gated").get_to(done.gated);
    json.at("timed").get_to(done.timed);
    done.result = frame_from(json.at("data"));
    for (const auto& [key, frame] : json.at("binaries").items())
        done.binaries.emplace_back(key, frame_from(frame));
    return done;
}

} // namespace

const char* to_string(Stage stage) noexcept {
    return stage == Stage::search ? "search" : "confirm";
}

Journal::Journal(const Folder& folder, const WorkerInfo& worker) : folder_(folder), id_(worker.id) {
    const auto make = [&](const char* suffix) {
        const std::string path = folder.path(file_of(id_, suffix));
        const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (file < 0)
            fail(path, std::string("cannot be made: ") + std::strerror(errno));
        return file;
    };
    data_ = make(".data");
    beat("starting"); // before the journal: a worker that is seen has a pulse
    journal_ = make(".journal");
    const Versions& versions = worker.lane.versions;
    line(dump({{"event", "start"},
               {"id", worker.id},
               {"site", worker.site},
               {"node", worker.node},
               {"gpu", worker.gpu},
               {"job", worker.job},
               {"restarts", worker.restarts},
               {"process", worker.process},
               {"device", device_json(worker.lane.device)},
               {"versions",
                {{"zyfa", versions.zyfa},
                 {"hip", versions.hip},
                 {"driver", versions.driver},
                 {"firmware", versions.firmware},
                 {"toolchain", versions.toolchain}}},
               {"unix_time", worker.started}}));
}

Journal::~Journal() {
    for (const int file : {journal_, data_})
        if (file >= 0)
            ::close(file);
}

void Journal::line(const std::string& text) {
    const std::string whole = text + "\n"; // one write: no reader sees two halves
    const std::string path = folder_.path(file_of(id_, ".journal"));
    write_all(journal_, whole.data(), whole.size(), path);
    sync(journal_, path);
}

FrameRef Journal::append(std::span<const std::byte> content) {
    const std::vector<std::byte> frame = cache::compress(content);
    const FrameRef ref{data_bytes_, frame.size(), digest(std::span<const std::byte>(frame)).hex()};
    write_all(data_, frame.data(), frame.size(), folder_.path(file_of(id_, ".data")));
    data_bytes_ += frame.size();
    return ref;
}

void Journal::claimed(const std::string& task, Stage stage, double unix_time) {
    line(dump({{"event", "claim"}, {"task", task}, {"stage", to_string(stage)}, {"unix_time", unix_time}}));
}

void Journal::done(const Result& result, double seconds, double unix_time) {
    Json binaries = Json::object();
    for (const cache::BinaryRecord& binary : result.binaries) {
        auto known = binaries_.find(binary.key);
        if (known == binaries_.end()) // shared by many problems, written once
            known = binaries_.emplace(binary.key, append(cache::encode(binary))).first;
        binaries[binary.key.hex()] = frame_json(known->second);
    }
    Json content{{"task", result.task},
                 {"stage", to_string(result.stage)},
                 {"winner_key", result.winner_key},
                 {"evidence", Json::parse(result.evidence.to_json())},
                 {"measurements", Json::array()}};
    for (const Measurement& measurement : result.measurements)
        content["measurements"].push_back(Json::parse(to_json(measurement)));
    const std::string text = dump(content);
    const FrameRef data = append(std::as_bytes(std::span(text)));
    sync(data_, folder_.path(file_of(id_, ".data"))); // before the line that refers to it
    const Evidence& evidence = result.evidence;
    line(dump({{"event", "done"},
               {"task", result.task},
               {"stage", to_string(result.stage)},
               {"seconds", seconds},
               {"unix_time", unix_time},
               {"schedule", evidence.winner.schedule.canonical()},
               {"median_ms", evidence.winner.median_ms},
               {"fallback", evidence.fallback.schedule.canonical()},
               {"fallback_ms", evidence.fallback.median_ms},
               {"verdict", evidence.verdict},
               {"policy", evidence.winner.policy},
               {"simulated", evidence.winner.simulated},
               {"assembled", result.assembled},
               {"gated", result.gated},
               {"timed", result.timed},
               {"data", frame_json(data)},
               {"binaries", binaries}}));
}

void Journal::failed(const std::string& task, Stage stage, const std::string& reason, double seconds,
                     double unix_time) {
    line(dump({{"event", "failed"},
               {"task", task},
               {"stage", to_string(stage)},
               {"reason", reason},
               {"seconds", seconds},
               {"unix_time", unix_time}}));
}

void Journal::ended(const std::string& reason, double unix_time) {
    line(dump({{"event", "end"}, {"reason", reason}, {"unix_time", unix_time}}));
}

void Journal::beat(const std::string& activity) const {
    folder_.replace(file_of(id_, ".beat"), activity + "\n");
}

std::optional<Event> parse_event(std::string_view line) {
    try {
        const Json json = Json::parse(line);
        const std::string& kind = json.at("event").get_ref<const std::string&>();
        Event event;
        json.at("unix_time").get_to(event.unix_time);
        if (kind == "start") {
            event.kind = Event::Kind::start;
            event.worker = worker_from(json);
            return event;
        }
        if (kind == "end") {
            event.kind = Event::Kind::end;
            json.at("reason").get_to(event.reason);
            return event;
        }
        event.kind = kind == "claim"    ? Event::Kind::claim
                     : kind == "done"   ? Event::Kind::done
                     : kind == "failed" ? Event::Kind::failed
                                        : Event::Kind::start;
        if (event.kind == Event::Kind::start)
            return std::nullopt;
        json.at("task").get_to(event.task);
        event.stage = stage_named(json.at("stage"));
        if (event.kind == Event::Kind::failed)
            json.at("reason").get_to(event.reason);
        if (event.kind != Event::Kind::claim)
            json.at("seconds").get_to(event.seconds);
        if (event.kind == Event::Kind::done)
            event.done = done_from(json);
        return event;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

Result read_result(const Folder& folder, const std::string& worker, const DoneLine& done) {
    const std::string path = folder.path(file_of(worker, ".data"));
    const std::vector<std::byte> content = read_frame(folder, worker, done.result);
    Result result;
    try {
        const Json json =
            Json::parse(std::string_view(reinterpret_cast<const char*>(content.data()), content.size()));
        json.at("task").get_to(result.task);
        result.stage = stage_named(json.at("stage"));
        json.at("winner_key").get_to(result.winner_key);
        result.evidence = Evidence::from_json(json.at("evidence").dump());
        for (const Json& measurement : json.at("measurements"))
            result.measurements.push_back(measurement_from_json(measurement.dump()));
    } catch (const Json::exception& error) {
        fail(path, std::string("a result is malformed: ") + error.what());
    }
    result.assembled = done.assembled;
    result.gated = done.gated;
    result.timed = done.timed;
    return result;
}

std::optional<cache::BinaryRecord> read_binary(const Folder& folder, const std::string& worker,
                                               const DoneLine& done, const Digest& key) {
    const std::string name = key.hex();
    for (const auto& [binary, frame] : done.binaries) {
        if (binary != name)
            continue;
        auto record = cache::decode_binary(read_frame(folder, worker, frame));
        if (!record || !(record->key == key))
            fail(folder.path(file_of(worker, ".data")), "the binary " + name + " is damaged");
        return record;
    }
    return std::nullopt;
}

} // namespace zyfa::sweep
