// SPDX-License-Identifier: Apache-2.0
// A disk that loses power: a file system under SQLite (sqlite.org/vfs.html) that fails for good at its n-th
// operation, and then says what a disk might hold. What was written and not synced is there, is not there, or
// is there in part, sector by sector, in any combination. Or it refuses some operations (no space, no quota,
// a sector that cannot be written) and goes on.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace zyfa::cache::test {

class DyingDisk {
  public:
    /// Becomes SQLite's file system until destroyed. The operations counted are writes, truncations, syncs
    /// and deletions; number `last` fails, and everything after it.
    explicit DyingDisk(std::uint64_t last) : DyingDisk(last, 0, SQLITE_OK) {}

    /// Operation number `first` fails with `error`, and the `count - 1` after it; then the disk is as good as
    /// before. What fails is not done.
    static DyingDisk refusing(std::uint64_t first, std::uint64_t count, int error) {
        return DyingDisk(first, count, error);
    }

    ~DyingDisk() {
        sqlite3_vfs_unregister(&vfs_);
        sqlite3_vfs_register(below_, 1);
        current() = nullptr;
    }
    DyingDisk(const DyingDisk&) = delete;
    DyingDisk& operator=(const DyingDisk&) = delete;

    std::uint64_t operations() const { return operations_; }
    bool is_dead() const { return count_ == 0 && operations_ >= last_; }

    /// One of the things that may be on the disk now: content by path, without files that SQLite shares in
    /// memory.
    std::map<std::string, std::vector<char>> survivors(std::mt19937& engine) const {
        std::map<std::string, std::vector<char>> result;
        for (const auto& [path, file] : files_) {
            std::vector<char> content = file.durable;
            bool there = file.is_durable || engine() % 2;
            for (const Change& change : file.pending) {
                if (change.kind == Change::deletion) {
                    if (engine() % 2)
                        there = false;
                    continue;
                }
                apply_in_part(content, change, engine);
            }
            if (there && !path.ends_with("-shm"))
                result[path] = std::move(content);
        }
        return result;
    }

  private:
    DyingDisk(std::uint64_t last, std::uint64_t count, int error)
        : last_(last), count_(count), error_(error) {
        current() = this;
        below_ = sqlite3_vfs_find(nullptr);
        vfs_ = *below_;
        vfs_.zName = "zyfa-dying-disk";
        vfs_.szOsFile = static_cast<int>(sizeof(File)) + below_->szOsFile;
        vfs_.xOpen = open;
        vfs_.xDelete = remove;
        sqlite3_vfs_register(&vfs_, 1);
    }

    static constexpr std::size_t sector = 512;

    struct Change {
        enum Kind { write, truncation, deletion } kind;
        std::uint64_t offset; ///< or the new size
        std::vector<char> data;
    };
    struct Tracked {
        std::vector<char> durable;
        bool is_durable = false; ///< its name is
        std::vector<Change> pending;
        bool is_deleted() const { return !pending.empty() && pending.back().kind == Change::deletion; }
    };
    struct File {
        sqlite3_file base;
        Tracked* tracked;
        sqlite3_file* below() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    };

    static DyingDisk*& current() {
        static DyingDisk* disk = nullptr;
        return disk;
    }
    static File* as_file(sqlite3_file* file) { return reinterpret_cast<File*>(file); }

    static void apply(std::vector<char>& content, const Change& change) {
        if (change.kind == Change::truncation) {
            content.resize(std::min<std::size_t>(content.size(), change.offset));
            return;
        }
        content.resize(std::max<std::size_t>(content.size(), change.offset + change.data.size()));
        std::copy(change.data.begin(), change.data.end(),
                  content.begin() + static_cast<std::ptrdiff_t>(change.offset));
    }

    static void apply_in_part(std::vector<char>& content, const Change& change, std::mt19937& engine) {
        const auto fate = engine() % 3;
        if (fate == 0)
            return;
        if (fate == 1 || change.kind == Change::truncation) {
            apply(content, change);
            return;
        }
        for (std::size_t at = 0; at < change.data.size(); at += sector)
            if (engine() % 2) {
                const std::size_t end = std::min(change.data.size(), at + sector);
                apply(content, {Change::write,
                                change.offset + at,
                                {change.data.begin() + static_cast<std::ptrdiff_t>(at),
                                 change.data.begin() + static_cast<std::ptrdiff_t>(end)}});
            }
    }

    /// Counts an operation; false: the power is gone, or the operation is refused.
    bool lives() {
        if (!is_dead())
            ++operations_;
        return !is_dead() && !refuses();
    }
    bool refuses() const { return count_ > 0 && operations_ >= last_ && operations_ < last_ + count_; }
    /// What a failed operation answers: `usual` without power.
    int failure(int usual) const { return count_ > 0 ? error_ : usual; }

    static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
        DyingDisk& disk = *current();
        File* own = as_file(file);
        own->base.pMethods = nullptr;
        if (disk.is_dead())
            return SQLITE_CANTOPEN;
        const int result = disk.below_->xOpen(disk.below_, name, own->below(), flags, out_flags);
        if (result == SQLITE_OK) {
            own->tracked = &disk.files_[name ? name : ""];
            if (own->tracked->is_deleted()) // a new file: file systems keep the order of the two names
                *own->tracked = {};
            own->base.pMethods = methods(own->below()->pMethods);
        }
        return result;
    }

    static int remove(sqlite3_vfs*, const char* name, int sync_folder) {
        DyingDisk& disk = *current();
        if (!disk.lives())
            return disk.failure(SQLITE_IOERR_DELETE);
        Tracked& tracked = disk.files_[name];
        if (sync_folder)
            tracked = {};
        else
            tracked.pending.push_back({Change::deletion, 0, {}});
        return disk.below_->xDelete(disk.below_, name, 0);
    }

    static const sqlite3_io_methods* methods(const sqlite3_io_methods* below) {
        static sqlite3_io_methods m;
        m = *below;
        m.iVersion = 2;
        m.xClose = [](sqlite3_file* f) { return as_file(f)->below()->pMethods->xClose(as_file(f)->below()); };
        m.xRead = [](sqlite3_file* f, void* to, int bytes, sqlite3_int64 offset) {
            return current()->is_dead()
                       ? SQLITE_IOERR_READ
                       : as_file(f)->below()->pMethods->xRead(as_file(f)->below(), to, bytes, offset);
        };
        m.xWrite = [](sqlite3_file* f, const void* from, int bytes, sqlite3_int64 offset) {
            const auto* data = static_cast<const char*>(from);
            as_file(f)->tracked->pending.push_back(
                {Change::write, static_cast<std::uint64_t>(offset), {data, data + bytes}});
            if (!current()->lives()) // the last write may have reached the disk, or half of it
                return current()->failure(SQLITE_IOERR_WRITE);
            return as_file(f)->below()->pMethods->xWrite(as_file(f)->below(), from, bytes, offset);
        };
        m.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
            as_file(f)->tracked->pending.push_back(
                {Change::truncation, static_cast<std::uint64_t>(size), {}});
            if (!current()->lives())
                return current()->failure(SQLITE_IOERR_TRUNCATE);
            return as_file(f)->below()->pMethods->xTruncate(as_file(f)->below(), size);
        };
        m.xSync = [](sqlite3_file* f, int) {
            if (!current()->lives())
                return current()->failure(SQLITE_IOERR_FSYNC);
            Tracked& tracked = *as_file(f)->tracked;
            for (const Change& change : tracked.pending)
                apply(tracked.durable, change);
            tracked.pending.clear();
            tracked.is_durable = true;
            return SQLITE_OK;
        };
        m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
            return as_file(f)->below()->pMethods->xFileSize(as_file(f)->below(), size);
        };
        m.xLock = [](sqlite3_file* f, int level) {
            return as_file(f)->below()->pMethods->xLock(as_file(f)->below(), level);
        };
        m.xUnlock = [](sqlite3_file* f, int level) {
            return as_file(f)->below()->pMethods->xUnlock(as_file(f)->below(), level);
        };
        m.xCheckReservedLock = [](sqlite3_file* f, int* result) {
            return as_file(f)->below()->pMethods->xCheckReservedLock(as_file(f)->below(), result);
        };
        m.xFileControl = [](sqlite3_file* f, int operation, void* argument) {
            return as_file(f)->below()->pMethods->xFileControl(as_file(f)->below(), operation, argument);
        };
        m.xSectorSize = [](sqlite3_file* f) {
            return as_file(f)->below()->pMethods->xSectorSize(as_file(f)->below());
        };
        m.xDeviceCharacteristics = [](sqlite3_file* f) {
            return as_file(f)->below()->pMethods->xDeviceCharacteristics(as_file(f)->below());
        };
        m.xShmMap = [](sqlite3_file* f, int region, int bytes, int extend, void volatile** memory) {
            return as_file(f)->below()->pMethods->xShmMap(as_file(f)->below(), region, bytes, extend, memory);
        };
        m.xShmLock = [](sqlite3_file* f, int offset, int n, int flags) {
            return as_file(f)->below()->pMethods->xShmLock(as_file(f)->below(), offset, n, flags);
        };
        m.xShmBarrier = [](sqlite3_file* f) {
            as_file(f)->below()->pMethods->xShmBarrier(as_file(f)->below());
        };
        m.xShmUnmap = [](sqlite3_file* f, int remove_it) {
            return as_file(f)->below()->pMethods->xShmUnmap(as_file(f)->below(), remove_it);
        };
        return &m;
    }

    const std::uint64_t last_, count_;
    const int error_;
    std::uint64_t operations_ = 0;
    sqlite3_vfs* below_;
    sqlite3_vfs vfs_;
    std::map<std::string, Tracked> files_;
};

} // namespace zyfa::cache::test
