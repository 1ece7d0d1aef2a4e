// SPDX-License-Identifier: Apache-2.0
// SQLite behind three small classes: a connection, a statement that is reset when it goes, and a transaction
// that is undone unless it is committed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/digest.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace zyfa::cache {

/// What SQLite answered. `code` is the primary result code.
class SqlError : public std::runtime_error {
  public:
    SqlError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
    int code() const noexcept { return code_; }
    /// The file's content is at fault (a broken page), not the disk, a lock or a permission.
    bool damaged() const noexcept;
    /// Statements that are known to be good were refused: the schema's text may be at fault.
    bool suspicious() const noexcept;
    bool busy() const noexcept;
    /// The connection may not write, or not even open the file.
    bool forbidden() const noexcept;

  private:
    int code_;
};

class Database;

/// Borrowed from a connection's table of prepared statements; reset and its bindings cleared on destruction.
class Statement {
  public:
    ~Statement();
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    /// Binds the next parameter, from the first on. Text, blobs and digests must outlive the statement.
    Statement& bind(std::int64_t value);
    Statement& bind(std::string_view value);
    Statement& bind(std::span<const std::byte> value);
    Statement& bind(const Digest& value); ///< as a blob

    bool step(); ///< true: a row is there
    void run();  ///< steps to the end

    std::int64_t integer(int column) const;
    std::string text(int column) const;
    std::vector<std::byte> blob(int column) const;
    Digest digest(int column) const; ///< all zero where the column does not hold one

  private:
    friend class Database;
    Statement(Database& database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
    Database& database_;
    sqlite3_stmt* statement_;
    int bound_ = 0;
};

class Database {
  public:
    enum class Access {
        create,     ///< read and write, made where it is not there
        read_write, ///< must exist
        read_only,  ///< with SQLite's locks
        immutable,  ///< read only, and nobody writes: no locks, no look at a journal
        memory,
    };
    /// Waits up to `busy_ms` for locks. Throws SqlError.
    Database(const std::string& path, Access access, int busy_ms);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Forgets the handle without closing it: a child of fork must not touch its parent's connection, not
    /// even to close it (sqlite.org/howtocorrupt.html, section 2.6).
    void abandon() noexcept;

    void execute(const char* sql);
    Statement statement(const char* sql);  ///< `sql` is a literal: its address is the statement's identity
    std::int64_t integer(const char* sql); ///< first column of the first row, 0 if there is none
    std::string text(const char* sql);
    void set_busy_timeout(int milliseconds);
    [[noreturn]] void fail(const char* doing);

  private:
    sqlite3* handle_ = nullptr;
    std::map<const char*, sqlite3_stmt*> statements_;
};

/// BEGIN IMMEDIATE: the write lock is taken at once, where waiting for it is safe.
class Transaction {
  public:
    explicit Transaction(Database& database);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

  private:
    Database& database_;
    bool open_ = true;
};

} // namespace zyfa::cache
