// SPDX-License-Identifier: Apache-2.0
#include "cache/database.hpp"

#include <sqlite3.h>

#include <cstring>

namespace zyfa::cache {

namespace {

/// SQLite's URI form of a path (sqlite.org/uri.html): '?', '#' and '%' are escaped.
std::string uri_of(const std::string& path, const char* query) {
    std::string uri = "file:";
    for (const char c : path) {
        if (c == '?')
            uri += "%3f";
        else if (c == '#')
            uri += "%23";
        else if (c == '%')
            uri += "%25";
        else
            uri += c;
    }
    return uri + query;
}

int open_flags(Database::Access access) {
    constexpr int common =
        SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI; // the owner of a connection serialises its use
    switch (access) {
    case Database::Access::create:
        return common | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    case Database::Access::read_write:
        return common | SQLITE_OPEN_READWRITE;
    case Database::Access::memory:
        return common | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY;
    case Database::Access::read_only:
    case Database::Access::immutable:
        return common | SQLITE_OPEN_READONLY;
    }
    return common;
}

} // namespace

bool SqlError::damaged() const noexcept {
    return code_ == SQLITE_CORRUPT || code_ == SQLITE_NOTADB || code_ == SQLITE_FORMAT;
}

bool SqlError::suspicious() const noexcept {
    return code_ == SQLITE_ERROR || code_ == SQLITE_CONSTRAINT || code_ == SQLITE_MISMATCH ||
           code_ == SQLITE_SCHEMA;
}

bool SqlError::busy() const noexcept {
    return code_ == SQLITE_BUSY || code_ == SQLITE_LOCKED || code_ == SQLITE_PROTOCOL;
}

bool SqlError::forbidden() const noexcept {
    return code_ == SQLITE_READONLY || code_ == SQLITE_CANTOPEN || code_ == SQLITE_PERM ||
           code_ == SQLITE_AUTH;
}

Statement::~Statement() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
}

Statement& Statement::bind(std::int64_t value) {
    if (sqlite3_bind_int64(statement_, ++bound_, value) != SQLITE_OK)
        database_.fail("binding a number");
    return *this;
}

Statement& Statement::bind(std::string_view value) {
    if (sqlite3_bind_text64(statement_, ++bound_, value.data() ? value.data() : "", value.size(),
                            SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK)
        database_.fail("binding text");
    return *this;
}

Statement& Statement::bind(const Digest& value) {
    return bind(std::as_bytes(std::span(value.bytes)));
}

Statement& Statement::bind(std::span<const std::byte> value) {
    const void* data = value.empty() ? static_cast<const void*>("") : value.data();
    if (sqlite3_bind_blob64(statement_, ++bound_, data, value.size(), SQLITE_STATIC) != SQLITE_OK)
        database_.fail("binding a blob");
    return *this;
}

bool Statement::step() {
    const int result = sqlite3_step(statement_);
    if (result == SQLITE_ROW)
        return true;
    if (result != SQLITE_DONE)
        database_.fail(sqlite3_sql(statement_));
    return false;
}

void Statement::run() {
    while (step()) {
    }
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(statement_, column);
}

std::string Statement::text(int column) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    const int bytes = sqlite3_column_bytes(statement_, column);
    return data ? std::string(data, static_cast<std::size_t>(bytes)) : std::string();
}

std::vector<std::byte> Statement::blob(int column) const {
    const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
    const int bytes = sqlite3_column_bytes(statement_, column);
    return data ? std::vector<std::byte>(data, data + bytes) : std::vector<std::byte>();
}

Digest Statement::digest(int column) const {
    const std::vector<std::byte> bytes = blob(column);
    Digest value;
    if (bytes.size() == value.bytes.size())
        std::memcpy(value.bytes.data(), bytes.data(), bytes.size());
    return value;
}

Database::Database(const std::string& path, Access access, int busy_ms) {
    const std::string name = access == Access::memory      ? ":memory:"
                             : access == Access::immutable ? uri_of(path, "?immutable=1")
                                                           : uri_of(path, "");
    const int result = sqlite3_open_v2(name.c_str(), &handle_, open_flags(access), nullptr);
    if (result != SQLITE_OK) {
        const std::string message = handle_ ? sqlite3_errmsg(handle_) : "out of memory";
        sqlite3_close(handle_);
        throw SqlError(result & 0xff, "opening " + path + ": " + message);
    }
    try {
        set_busy_timeout(busy_ms);
        // The schema in the file may have been tampered with: it gets no functions and no write access to
        // itself.
        sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
        sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        execute("PRAGMA temp_store=MEMORY");
        execute("PRAGMA cell_size_check=ON");
    } catch (...) {
        sqlite3_close(handle_);
        throw;
    }
}

Database::~Database() {
    for (const auto& [sql, statement] : statements_)
        sqlite3_finalize(statement);
    sqlite3_close(handle_);
}

void Database::abandon() noexcept {
    statements_.clear();
    handle_ = nullptr;
}

void Database::execute(const char* sql) {
    if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        fail(sql);
}

Statement Database::statement(const char* sql) {
    sqlite3_stmt*& prepared = statements_[sql];
    if (!prepared &&
        sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr) != SQLITE_OK)
        fail(sql);
    return Statement(*this, prepared);
}

std::int64_t Database::integer(const char* sql) {
    Statement query = statement(sql);
    return query.step() ? query.integer(0) : 0;
}

std::string Database::text(const char* sql) {
    Statement query = statement(sql);
    return query.step() ? query.text(0) : std::string();
}

void Database::set_busy_timeout(int milliseconds) {
    sqlite3_busy_timeout(handle_, milliseconds);
}

void Database::fail(const char* doing) {
    throw SqlError(sqlite3_errcode(handle_) & 0xff,
                   std::string(sqlite3_errmsg(handle_)) + " (" + doing + ")");
}

Transaction::Transaction(Database& database) : database_(database) {
    database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
    if (!open_)
        return;
    try {
        database_.execute("ROLLBACK");
    } catch (const SqlError&) { // SQLite has rolled back by itself (disk full, I/O error)
    }
}

void Transaction::commit() {
    database_.execute("COMMIT");
    open_ = false;
}

} // namespace zyfa::cache
