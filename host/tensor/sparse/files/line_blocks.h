// SPDX-License-Identifier: Apache-2.0
//
// LineBlocks: a text file, plain or gzip, as blocks of whole lines.
//
// A file may be larger than memory, because only one block is held at a time. Threads: one. Errors:
// those of text_input.h, and Error("tensor", ...) with the path for a line of more than 1 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/raw_vector.h"
#include "tensor/sparse/files/text_input.h"

namespace tandem::sparse {

class LineBlocks {
 public:
  explicit LineBlocks(const std::string& path, std::size_t block_bytes = std::size_t{16} << 20);

  // Returns the next line without its end ("\n" or "\r\n"). False at the end of the file.
  bool next_line(std::string_view& line);

  // Returns the line that next_line() will return, without consuming it.
  bool peek_line(std::string_view& line);

  // Returns and consumes all lines that are held, at least one. Valid until the next call. False at
  // the end of the file.
  bool next_block(std::string_view& lines);

  // The number of the last line returned, or of the first line of the last block; from 1.
  std::uint64_t line_number() const { return line_number_; }

  // Throws Error("tensor", "PATH, line N: text").
  [[noreturn]] void fail(std::uint64_t line_number, const std::string& text) const;
  [[noreturn]] void fail(const std::string& text) const;  // without a line

 private:
  bool fill();  // false: no lines are left
  void read_more();

  std::string path_;
  TextInput input_;
  RawVector<char> buffer_;
  std::size_t begin_ = 0, lines_end_ = 0,
              end_ = 0;  // lines [begin, lines_end), a part of one after
  bool is_at_end_ = false;
  std::uint64_t line_number_ = 0, next_number_ = 1;
};

}  // namespace tandem::sparse
