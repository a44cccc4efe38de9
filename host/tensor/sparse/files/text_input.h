// SPDX-License-Identifier: Apache-2.0
//
// TextInput: the bytes of a file, plain or gzip, as the content tells.
//
// A gzip file is one or more streams, which may be followed by zeros, as padding; anything else
// behind a stream is an error, because it may be text that was meant to be read. Threads: one.
// Errors: Error("tensor", ...) with the path, for a file that cannot be read and for a gzip stream
// that is damaged, cut off, or followed by something else.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "common/raw_vector.h"

struct z_stream_s;  // zlib's

namespace tandem::sparse {

class TextInput {
 public:
  explicit TextInput(std::string path);
  ~TextInput();
  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  // Reads at most `size` bytes, at least one; 0 at the end of the file.
  std::size_t read(char* to, std::size_t size);

 private:
  bool hold(std::size_t bytes);  // false: the file has fewer
  std::size_t read_file(void* to, std::size_t size);
  bool begins_gzip();
  std::size_t inflate_some(char* to, std::size_t size);
  bool has_next_stream();
  [[noreturn]] void fail(const std::string& text) const;

  std::string path_;
  int file_ = -1;
  bool is_gzip_ = false, is_between_ = false;  // between: before a stream or behind the last one
  RawVector<unsigned char> held_;
  std::unique_ptr<z_stream_s> stream_;  // next_in, avail_in: what is held of the file
};

}  // namespace tandem::sparse
