// SPDX-License-Identifier: Apache-2.0
// The store's file: its name, its tables, and how one is opened, made and mended without racing other
// processes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cache/database.hpp"
#include "cache/files.hpp"

namespace zyfa::cache {

/// The major version is in the name: another major version of zyfa uses another file beside this one.
inline constexpr const char* store_file_name = "zyfa-cache-v1.sqlite";
inline constexpr const char* lock_file_name = "zyfa-cache-v1.lock";
inline constexpr const char* damaged_file_name = "zyfa-cache-v1.damaged.sqlite";

/// Milliseconds that a writer waits for another process.
inline constexpr int busy_ms = 10'000;

/// Creates the tables in an empty database.
void create_tables(Database& database);

/// Opens the store in `folder` for reading and writing, making it where it is not there. WAL on local file
/// systems, a rollback journal on a network. Throws SqlError.
std::unique_ptr<Database> open_user_store(const std::string& folder, bool on_network);

/// Makes a store in a file of its own that nobody else knows yet, with a rollback journal. Throws SqlError.
std::unique_ptr<Database> open_new_store(const std::string& path);

/// Opens a store file for reading: with locks, or as an immutable file where nothing can be locked or
/// written. Throws SqlError.
std::unique_ptr<Database> open_read_only_store(const std::string& path);

std::unique_ptr<Database> open_memory_store();

/// Whether tables, indices and triggers are what create_tables makes. False where they cannot be read.
bool has_intact_schema(Database& database) noexcept;

/// What salvage did.
struct Salvage {
    bool replaced = false; ///< false: another process had replaced the file before
    std::uint64_t winners = 0, binaries = 0, measurements = 0; ///< intact rows that were carried over
};

/// Replaces a structurally damaged store in `folder` by a new one with every row that can still be read and
/// whose digest holds. The old file is kept beside it as `damaged_file_name` until the next time. Does
/// nothing where the file is no longer the one that was found damaged. Throws SqlError where the new file
/// cannot be made.
Salvage salvage_user_store(const std::string& folder, const FileIdentity& damaged);

} // namespace zyfa::cache
