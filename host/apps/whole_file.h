// SPDX-License-Identifier: Apache-2.0
//
// WholeFile: writes a file that appears at its path complete and on disk, or not at all.
//
// The file is written without a name if the file system supports that, otherwise under a random new
// name in the same folder, and then renamed. So a link at a guessed name is never followed, and a
// killed process leaves no partial file. Threads: one. Ownership: owns the descriptor. Errors:
// Error(module, ...) with the path and the system's reason, such as a full disk.
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
  // A path that opens the file before it has its final name.
  std::string open_path() const;

  void keep();  // replaces the file at the path

  [[noreturn]] void fail(int error) const;

 private:
  void open();
  bool make_named();
  std::string random_name() const;

  std::string module_, path_, partial_;  // partial_: the current name of the file; empty: none
  int file_ = -1;
};

// Returns the path with links at its end resolved. Throws Error(module, ...) if it is not a regular
// file (a device, FIFO, folder or socket), or a link to nothing. A path that does not exist is
// returned unchanged.
std::string regular_target(const std::string& module, const std::string& path);

}  // namespace tandem::apps
