// SPDX-License-Identifier: Apache-2.0
// JSON lines, each on disk before the next step.
#include "tuner/journal.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "zyfa/error.hpp"

namespace zyfa::tuner {

namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
    throw Error(ErrorCode::io_error, "journal", path + " " + what + ": " + std::strerror(errno));
}

} // namespace

Journal::Journal(std::string path, const std::string& subject, double oldest_s) : path_(std::move(path)) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    load(subject, oldest_s);
    file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file_ < 0)
        fail(path_, "cannot be opened");
    if (done_.empty() && begun_.empty()) {
        if (ftruncate(file_, 0) != 0)
            fail(path_, "cannot be emptied");
        append(nlohmann::json{{"subject", subject}}.dump());
    }
}

Journal::~Journal() {
    if (file_ >= 0)
        close(file_);
}

void Journal::load(const std::string& subject, double oldest_s) {
    struct stat status{};
    if (stat(path_.c_str(), &status) != 0 || std::difftime(std::time(nullptr), status.st_mtime) > oldest_s)
        return;
    std::ifstream stream(path_);
    std::string line;
    std::uintmax_t whole = 0; // bytes of whole lines
    bool first = true;
    while (std::getline(stream, line) && !stream.eof()) { // a line without its end is one in flight
        const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
        if (!json.is_object() || (first && json.value("subject", "") != subject))
            break;
        first = false;
        try {
            if (json.contains("begin"))
                ++begun_[json["begin"].get<std::string>()];
            if (json.contains("end")) {
                Measurement measurement = measurement_from_json(json["end"].dump());
                const std::string name = measurement.schedule.canonical();
                begun_[name] = 0;
                done_[name] = std::move(measurement);
            }
        } catch (const std::exception&) {
            break;
        }
        whole += line.size() + 1;
    }
    stream.close();
    std::error_code ignored;
    if (!first)
        std::filesystem::resize_file(path_, whole, ignored);
}

void Journal::append(const std::string& line) {
    const std::string text = line + "\n";
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t n = write(file_, text.data() + written, text.size() - written);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            fail(path_, "cannot be written");
        written += static_cast<std::size_t>(n);
    }
    if (fdatasync(file_) != 0)
        fail(path_, "cannot be written");
}

std::optional<Measurement> Journal::find(const Schedule& schedule, const std::string& binary_digest) const {
    const auto found = done_.find(schedule.canonical());
    if (found == done_.end() || found->second.binary_digest != binary_digest)
        return std::nullopt;
    return found->second;
}

std::uint32_t Journal::lost(const Schedule& schedule) const {
    const auto found = begun_.find(schedule.canonical());
    return found == begun_.end() ? 0 : found->second;
}

void Journal::begin(const Schedule& schedule) {
    append(nlohmann::json{{"begin", schedule.canonical()}}.dump());
}

void Journal::end(const Measurement& measurement) {
    append("{\"end\":" + to_json(measurement) + "}");
    const std::string name = measurement.schedule.canonical();
    begun_[name] = 0;
    done_[name] = measurement;
}

void Journal::remove() {
    unlink(path_.c_str());
}

} // namespace zyfa::tuner
