// SPDX-License-Identifier: Apache-2.0
//
// WholeFile: a file that appears at its path complete and on the disk, or not at all.
//
// It is written without a name where the file system can do that, else under a random new name in
// the same folder, and then renamed. So a link that waits at a guessed name is never followed, and
// a process that is killed leaves nothing half written. Threads: one. Ownership: owns the
// descriptor. Errors: Error(module, ...) naming the path and the system's reason, such as a full
// disk.
#pragma once

#include <ostream>
#include <string>

namespace tandem::apps {

class WholeFile {
 public:
  WholeFile(std::string module, std::string path);
  ~WholeFile();  // removes the file unless keep() was called
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  int descriptor() const { return file_; }
  void write(const std::string& text);
  // A path that opens the file while it has no name or another one.
  std::string open_path() const;

  void keep();  // replaces the file at the path

  [[noreturn]] void fail(int error) const;

 private:
  void open();
  bool make_named();
  std::string random_name() const;

  std::string module_, path_, partial_;  // partial_: the file's present name; empty: it has none
  int file_ = -1;
};

// The path without the links at its end. Throws Error(module, ...) where it names something that is
// no regular file (a device, a FIFO, a folder, a socket), or a link to nothing. A path that does
// not exist is returned unchanged.
std::string regular_target(const std::string& module, const std::string& path);

}  // namespace tandem::apps
