// SPDX-License-Identifier: Apache-2.0
// The folder that all workers of a sweep share, and what it must be able to do. No file locks: many cluster
// file systems are mounted without them.
#pragma once

#include <string>
#include <string_view>

#include "sweep/plan.hpp"

namespace zyfa::sweep {

class Folder {
  public:
    /// Makes the folder and its parts, and checks it. Throws Error{io_error}.
    static Folder create(const std::string& path);
    /// Opens what create() made. Throws Error{io_error} where there is no plan: a folder that is not shared
    /// looks like that on the other nodes.
    static Folder open(const std::string& path);

    const std::string& path() const noexcept { return path_; }
    std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }

    /// Tries what workers rely on: a hard link is made by one of two only, a rename replaces, what was
    /// written is read back under its new name, and file times advance. Throws Error{io_error} that says what
    /// failed.
    void check() const;
    /// "nfs", "lustre", "ext4 (local)", ...
    std::string file_system() const;

    /// A new file with this content, all of it or nothing; false if the name is taken. Of all processes on
    /// all nodes one gets true (a hard link is exclusive on NFS, where O_EXCL once was not).
    bool create_exclusively(std::string_view name, std::string_view content) const;
    /// The file's new content, for readers all at once. Throws Error{io_error}.
    void replace(std::string_view name, std::string_view content) const;

    /// Seconds since 1970 by the clock of the file system's server, so that nodes whose clocks differ agree
    /// on the age of a file; the local clock where nothing can be written.
    double now() const;

    bool has_plan() const;
    Plan read_plan() const;
    /// Fails where another plan is there, unless `update`: tasks that stay the same keep what was measured.
    void write_plan(const Plan& plan, bool update) const;

  private:
    explicit Folder(std::string path) : path_(std::move(path)) {}
    std::string beside(std::string_view name) const;

    std::string path_;
};

/// The content of a file; false if there is none. Opened anew each time: on NFS an open asks the server.
bool read_small_file(const std::string& path, std::string& content);
/// Modification time in seconds since 1970, by the server's clock; a negative number if there is no file.
double modified(const std::string& path);

} // namespace zyfa::sweep
