// SPDX-License-Identifier: Apache-2.0
//
// LineBlocks: a text file, plain or gzip, as blocks of whole lines.
//
// So a file may be larger than memory: only one block is held at a time. The content decides
// whether it is gzip, not the name. Threads: one. Errors: Error("tensor", ...) with the path, for a
// file that cannot be read, a gzip stream that is damaged or cut off, and a line of more than 1
// MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/raw_vector.h"

namespace tandem::sparse {

class LineBlocks {
 public:
  explicit LineBlocks(const std::string& path, std::size_t block_bytes = std::size_t{16} << 20);
  ~LineBlocks();
  LineBlocks(const LineBlocks&) = delete;
  LineBlocks& operator=(const LineBlocks&) = delete;

  // The next line without its end; "\r\n" ends lines too. False at the end of the file.
  bool next_line(std::string_view& line);

  // What next_line() would give, which still gives it.
  bool peek_line(std::string_view& line);

  // The lines that next_line() would give next, as many as are held. Valid until the next call.
  // False at the end of the file. Takes them.
  bool next_block(std::string_view& lines);

  // Of the line that was given last, or of the first one of the block; from 1.
  std::uint64_t line_number() const { return line_number_; }

  // Error("tensor", "PATH, line N: text").
  [[noreturn]] void fail(std::uint64_t line_number, const std::string& text) const;
  [[noreturn]] void fail(const std::string& text) const;  // without a line

 private:
  struct Stream;

  bool fill();  // false: no lines are left
  void read_more();

  std::string path_;
  std::unique_ptr<Stream> stream_;
  RawVector<char> buffer_;
  std::size_t begin_ = 0, lines_end_ = 0,
              end_ = 0;  // lines [begin, lines_end), a part of one after
  bool is_at_end_ = false;
  std::uint64_t line_number_ = 0, next_number_ = 1;
};

}  // namespace tandem::sparse
