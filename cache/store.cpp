// SPDX-License-Identifier: Apache-2.0
// The layers of one process.
//
// FORMAT. A user layer is a folder of its user's, mode 0700, that holds
//   zyfa-cache-v1.sqlite   the store: a SQLite 3 file, application_id "zyfa", user_version 1 or later
//   zyfa-cache-v1.lock     an empty file whose bytes are locked: byte 0 while the store is made or mended,
//   the
//                          byte that a key's digest names while somebody works on that key
//   zyfa-cache-v1.damaged.sqlite   the last store that had to be replaced, if any
//   signers                whose packs are trusted, one a line (trust.hpp)
// The "1" is the major version of all of it. Another major version uses other names and leaves these alone; a
// minor change adds columns and raises user_version, and older code goes on reading what it knows.
//
// Tables (schema.cpp): `binaries` by binary key, `winners` by winner key, each winner naming its binary's
// key; `measurements` by winner key and schedule; `rulings` and `former_winners`, since user_version 2
// (rulings.cpp); `quarantine`, what was found damaged; `totals`, a row count that is only a hint. A code
// object is stored as a zstd frame. Every row but those of the last two carries
// the BLAKE2b-256 digest of its record's canonical bytes (records.cpp): the key and every column except
// `used`, the code object uncompressed. SQLite's own integrity check does not see a flipped bit in a value;
// this digest does, and it is checked each time a row is read. `used` is the hour of the last use, written at
// most once an hour.
//
// CRASH RULE. An entry is finished when publish() has returned: binary, winner and measurements were
// committed in one transaction, with the journal synced (synchronous=EXTRA). A process that dies before that
// leaves nothing; one that dies after it leaves everything. The file's journal is a WAL on a local disk and a
// rollback journal on a network file system, where processes cannot share WAL's memory.
//
// DAMAGE. A row whose digest does not hold is moved to `quarantine`, counted, and answered as a miss: the
// next layer is asked, and whoever builds the entry anew publishes over it. A file whose pages or schema are
// broken is replaced by a new one with every row that can still be read and whose digest holds. SQLITE_BUSY
// is never taken for damage.
//
// TRUST. The user layer must belong to the effective user and must not be writable by others, or it is not
// used at all. A read-only layer must belong to root or the effective user likewise; a pack must carry the
// signature of a signer in the user's list. A layer that fails this answers nothing, and statistics() says
// why.
#include "cache/store.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>

#include "cache/files.hpp"
#include "cache/pack_layer.hpp"
#include "cache/records.hpp"
#include "cache/schema.hpp"
#include "cache/sqlite_layer.hpp"
#include "cache/transfer.hpp"
#include "zyfa/error.hpp"

namespace zyfa::cache {

namespace {

constexpr const char* in_memory = ":memory:";

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? ": " : ", ") + name;
    return text.empty() ? "; there are none" : text;
}

void require_consistent(const std::string& key_text, bool consistent) {
    if (!consistent)
        throw Error(ErrorCode::invalid_argument, "key", "is not the digest of \"" + key_text + "\"");
}

/// Of all rulings, those that are on the winner's key count.
bool may_win(const WinnerRecord& winner, const std::vector<RulingRecord>& rulings) {
    for (const RulingRecord& ruling : rulings) {
        const bool same = ruling.schedule == winner.schedule;
        if (ruling.kind == RulingRecord::Kind::ban
                ? same && (ruling.key == winner.key || ruling.key == every_key())
                : !same && ruling.key == winner.key)
            return false;
    }
    return true;
}

} // namespace

struct Cache::Impl {
    explicit Impl(const Options& given) : options(given), process(::getpid()) {
        if (options.user_dir.empty() || options.user_dir == in_memory)
            open_memory("");
        else
            open_user();
        for (const std::string& path : options.read_only)
            add_read_only(path, path);
        if (!options.winners_layer.empty() && !is_read_only_layer(options.winners_layer))
            throw Error(ErrorCode::invalid_argument, "winners_layer",
                        "winners_layer is \"" + options.winners_layer +
                            "\"; accepted: one of the read-only layers" + listed(options.read_only));
    }

    bool is_read_only_layer(const std::string& name) const {
        return std::find(options.read_only.begin(), options.read_only.end(), name) != options.read_only.end();
    }

    // Construction

    LayerEvents events() {
        LayerEvents result;
        if (options.log)
            result.log = options.log;
        result.damaged = [this] { ++damaged; };
        result.pruned = [this](std::uint64_t entries) { pruned += entries; };
        return result;
    }

    void open_user() {
        user = std::make_unique<SqliteLayer>(SqliteLayer::Kind::user, "user", options.user_dir, events(),
                                             options.on_network);
        const std::string reason = user->open();
        if (reason.empty())
            return;
        user.reset();
        if (options.log)
            options.log("the cache is in memory: " + reason);
        open_memory("in memory: " + reason);
        // What is there already can still be read, for example under a home that is mounted read-only.
        if (exists(options.user_dir + "/" + store_file_name)) {
            add_read_only("user", options.user_dir);
            unwritable_user = dynamic_cast<SqliteLayer*>(read_only.back().get());
        }
    }

    void open_memory(const std::string& note) {
        memory_note = note;
        auto layer = std::make_unique<SqliteLayer>(SqliteLayer::Kind::memory, "memory", in_memory, events());
        layer->open();
        memory = std::move(layer);
    }

    std::string signers_file() const {
        if (!options.signers_file.empty() || options.user_dir.empty() || options.user_dir == in_memory)
            return options.signers_file;
        return options.user_dir + "/signers";
    }

    void add_read_only(const std::string& name, const std::string& path) {
        if (path.ends_with(pack_suffix)) {
            read_only.push_back(std::make_unique<PackLayer>(name, path, signers_file(), events()));
            return;
        }
        read_only.push_back(
            std::make_unique<SqliteLayer>(SqliteLayer::Kind::read_only, name,
                                          is_folder(path) ? path + "/" + store_file_name : path, events()));
    }

    // Access

    /// Whether a winner counts that lies here.
    bool has_winners(const Layer& layer) const {
        return options.winners_layer.empty() || layer.name() == options.winners_layer;
    }

    /// The memory layer that takes what the user layer could not.
    SqliteLayer& overflow(const std::string& note) {
        const std::lock_guard lock(opening);
        if (!memory)
            open_memory(note);
        return *memory;
    }

    /// In the order in which they are asked.
    std::vector<Layer*> layers() {
        std::vector<Layer*> result;
        if (user)
            result.push_back(user.get());
        {
            const std::lock_guard lock(opening);
            if (memory)
                result.push_back(memory.get());
        }
        for (const auto& layer : read_only)
            result.push_back(layer.get());
        return result;
    }

    bool publish(const WinnerRecord* winner, const BinaryRecord* binary,
                 const std::vector<MeasurementRecord>& measurements) {
        if (!user) {
            const bool wins = overflow("").publish(winner, binary, measurements, options.limits);
            ++published;
            return wins;
        }
        try {
            const bool wins = user->publish(winner, binary, measurements, options.limits);
            ++published;
            return wins;
        } catch (const Error& error) {
            ++unpublished;
            overflow(std::string("for what could not be stored: ") + error.what())
                .publish(winner, binary, measurements, options.limits);
            throw;
        }
    }

    /// Where rulings are: in the user layer, even where it can only be read.
    SqliteLayer& ruled() { return user ? *user : unwritable_user ? *unwritable_user : overflow(""); }

    /// Rulings are kept for good or not at all, unless the cache was asked to be in memory.
    SqliteLayer& ruled_for_good() {
        if (!user && !options.user_dir.empty() && options.user_dir != in_memory)
            throw Error(ErrorCode::io_error, "cache",
                        "the user layer " + options.user_dir + " cannot be written: " + memory_note);
        return ruled();
    }

    /// The child of a fork leaves its parent's connections alone.
    void abandon() noexcept {
        if (user)
            user->abandon();
        for (const auto& layer : read_only)
            if (auto* store = dynamic_cast<SqliteLayer*>(layer.get()))
                store->abandon();
    }

    const Options options;
    const pid_t process;
    std::mutex opening; ///< guards `memory`
    std::unique_ptr<SqliteLayer> user, memory;
    std::string memory_note;
    std::vector<std::unique_ptr<Layer>> read_only;
    SqliteLayer* unwritable_user = nullptr; ///< one of `read_only`
    std::atomic<std::uint64_t> hits{0}, misses{0}, damaged{0}, published{0}, unpublished{0}, waited{0},
        timed_out{0}, pruned{0};
};

Cache::Cache(const Options& options) : options_(options), impl_(new Impl(options)) {}

Cache::~Cache() {
    Impl* const own = impl_.load();
    if (own->process != ::getpid())
        own->abandon();
    delete own;
}

Cache::Impl& Cache::impl() const {
    Impl* current = impl_.load(std::memory_order_acquire);
    if (current->process == ::getpid())
        return *current;
    // After fork: connections of this process's own. The old ones, and the mutexes that a thread of the
    // parent may have held, are left where they are.
    auto fresh = std::make_unique<Impl>(options_);
    if (impl_.compare_exchange_strong(current, fresh.get()))
        return *fresh.release();
    return *current;
}

std::optional<Found> Cache::find(const Digest& winner_key) {
    Impl& self = impl();
    const std::vector<RulingRecord> rulings = self.ruled().rulings(&winner_key);
    const std::vector<Layer*> layers = self.layers();
    for (Layer* layer : layers) {
        std::optional<WinnerRecord> winner;
        if (self.has_winners(*layer))
            winner = layer->winner(winner_key);
        if (!winner || !may_win(*winner, rulings))
            continue;
        std::optional<BinaryRecord> binary = layer->binary(winner->binary);
        for (auto other = layers.begin(); !binary && other != layers.end(); ++other)
            if (*other != layer)
                binary = (*other)->binary(winner->binary);
        if (!binary)
            continue;
        ++self.hits;
        return Found{std::move(*winner), std::move(*binary), layer->name()};
    }
    ++self.misses;
    return std::nullopt;
}

std::optional<WinnerRecord> Cache::find_winner(const Digest& winner_key) {
    Impl& self = impl();
    const std::vector<RulingRecord> rulings = self.ruled().rulings(&winner_key);
    for (Layer* layer : self.layers())
        if (self.has_winners(*layer))
            if (std::optional<WinnerRecord> winner = layer->winner(winner_key);
                winner && may_win(*winner, rulings))
                return winner;
    return std::nullopt;
}

std::optional<BinaryRecord> Cache::find_binary(const Digest& binary_key) {
    for (Layer* layer : impl().layers())
        if (std::optional<BinaryRecord> binary = layer->binary(binary_key))
            return binary;
    return std::nullopt;
}

std::vector<MeasurementRecord> Cache::measurements(const Digest& winner_key) {
    std::vector<MeasurementRecord> result;
    std::set<std::string> schedules;
    for (Layer* layer : impl().layers())
        for (MeasurementRecord& record : layer->measurements(winner_key))
            if (schedules.insert(record.schedule).second)
                result.push_back(std::move(record));
    return result;
}

bool Cache::publish(const WinnerRecord& winner, const BinaryRecord& binary,
                    const std::vector<MeasurementRecord>& measurements) {
    require_consistent(winner.key_text, is_consistent(winner));
    require_consistent(binary.key_text, is_consistent(binary));
    if (winner.binary != binary.key)
        throw Error(ErrorCode::invalid_argument, "winner.binary",
                    "is not the binary that is published with it");
    return impl().publish(&winner, &binary, measurements);
}

void Cache::publish_binary(const BinaryRecord& binary) {
    require_consistent(binary.key_text, is_consistent(binary));
    impl().publish(nullptr, &binary, {});
}

void Cache::publish_measurements(const std::vector<MeasurementRecord>& measurements) {
    impl().publish(nullptr, nullptr, measurements);
}

std::vector<WinnerRecord> Cache::winners() {
    std::vector<WinnerRecord> result;
    std::set<Digest> keys;
    const std::vector<RulingRecord> rulings = this->rulings();
    for (Layer* layer : impl().layers())
        layer->visit({.winner =
                          [&](const WinnerRecord& winner) {
                              if (may_win(winner, rulings) && keys.insert(winner.key).second)
                                  result.push_back(winner);
                          },
                      .binary = {},
                      .measurement = {}});
    return result;
}

std::vector<RulingRecord> Cache::rulings(const Digest& winner_key) {
    return impl().ruled().rulings(&winner_key);
}

std::vector<RulingRecord> Cache::rulings() {
    return impl().ruled().rulings(nullptr);
}

void Cache::rule(const RulingRecord& ruling) {
    require_consistent(ruling.key_text, is_consistent(ruling));
    if (ruling.kind == RulingRecord::Kind::pin && ruling.key == every_key())
        throw Error(ErrorCode::invalid_argument, "key", "key is every key; accepted for a pin: one key");
    impl().ruled_for_good().rule(ruling);
}

bool Cache::repeal(const Digest& key, const std::string& schedule) {
    return impl().ruled_for_good().repeal(key, schedule);
}

std::vector<FormerWinner> Cache::former_winners(const Digest& winner_key) {
    return impl().ruled().former_winners(winner_key);
}

WinnerRecord Cache::roll_back(const Digest& winner_key, const std::string& schedule) {
    return impl().ruled_for_good().roll_back(winner_key, schedule);
}

std::vector<Statistics> Cache::statistics() {
    Impl& self = impl();
    std::vector<Statistics> result;
    for (Layer* layer : self.layers()) {
        result.push_back(layer->statistics());
        if (layer == self.memory.get())
            result.back().note = self.memory_note;
    }
    return result;
}

Counters Cache::counters() const {
    const Impl& self = impl();
    return {self.hits,        self.misses, self.damaged,   self.published,
            self.unpublished, self.waited, self.timed_out, self.pruned};
}

std::uint64_t Cache::damaged() const noexcept {
    return impl_.load()->damaged;
}

PruneReport Cache::prune(const Limits& limits) {
    Impl& self = impl();
    return self.user ? self.user->prune(limits) : self.overflow("").prune(limits);
}

Content Cache::collect(const Selection& selection) {
    Content result;
    std::set<Digest> winners, binaries;
    std::set<std::pair<Digest, std::string>> measurements;
    for (Layer* layer : impl().layers()) {
        Content content = cache::collect(*layer, selection);
        for (WinnerRecord& record : content.winners)
            if (winners.insert(record.key).second)
                result.winners.push_back(std::move(record));
        for (MeasurementRecord& record : content.measurements)
            if (measurements.emplace(record.key, record.schedule).second)
                result.measurements.push_back(std::move(record));
        if (selection.unused_binaries)
            for (BinaryRecord& record : content.binaries)
                if (binaries.insert(record.key).second)
                    result.binaries.push_back(std::move(record));
    }
    for (const WinnerRecord& winner : result.winners) // wherever they lie
        if (binaries.insert(winner.binary).second)
            if (auto binary = find_binary(winner.binary))
                result.binaries.push_back(std::move(*binary));
    return result;
}

TransferReport Cache::take(const Content& content, const Acceptance& acceptance) {
    Impl& self = impl();
    return self.user ? self.user->take(content, acceptance) : self.overflow("").take(content, acceptance);
}

std::vector<VerifyReport> Cache::verify() {
    std::vector<VerifyReport> result;
    for (Layer* layer : impl().layers())
        result.push_back(layer->verify());
    return result;
}

struct Cache::KeyLock::State {
    ByteLock lock;
    bool held = true;
};

Cache::KeyLock::KeyLock() : state_(std::make_unique<State>()) {}
Cache::KeyLock::~KeyLock() = default;
Cache::KeyLock::KeyLock(KeyLock&&) noexcept = default;

bool Cache::KeyLock::held() const noexcept {
    return state_ && state_->held;
}

bool Cache::KeyLock::waited() const noexcept {
    return state_ && state_->lock.waited();
}

Cache::KeyLock Cache::lock(const Digest& key, double timeout_s) {
    Impl& self = impl();
    KeyLock result;
    if (!self.user)
        return result;
    std::uint64_t byte = 0;
    for (int i = 0; i < 8; ++i)
        byte = byte << 8 | key.bytes[static_cast<std::size_t>(i)];
    byte |= 2; // byte 0 guards the making of the file, and the lock's lowest bit is masked
    result.state_->lock = ByteLock::acquire(options_.user_dir + "/" + lock_file_name, byte,
                                            std::chrono::duration<double>(timeout_s));
    result.state_->held = result.state_->lock.outcome() != ByteLock::Outcome::timed_out;
    self.waited += result.state_->lock.waited();
    self.timed_out += result.state_->lock.outcome() == ByteLock::Outcome::timed_out;
    return result;
}

} // namespace zyfa::cache
