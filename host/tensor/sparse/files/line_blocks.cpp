// SPDX-License-Identifier: Apache-2.0
//
// The incomplete line at the end of a block moves to the front of the next block.
#include "tensor/sparse/files/line_blocks.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kLongestLineBytes = std::size_t{1} << 20;

}  // namespace

LineBlocks::LineBlocks(const std::string& path, std::size_t block_bytes)
    : path_(path), input_(path), buffer_(block_bytes) {}

void LineBlocks::fail(std::uint64_t line_number, const std::string& text) const {
  throw Error("tensor", path_ + ", line " + std::to_string(line_number) + ": " + text);
}

void LineBlocks::fail(const std::string& text) const { throw Error("tensor", path_ + ": " + text); }

void LineBlocks::read_more() {
  while (end_ < buffer_.size() && !is_at_end_) {
    const std::size_t count = input_.read(buffer_.data() + end_, buffer_.size() - end_);
    end_ += count;
    is_at_end_ = count == 0;
  }
}

bool LineBlocks::fill() {
  if (begin_ < lines_end_) return true;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = lines_end_ = 0;
  for (;;) {
    if (!is_at_end_) read_more();
    const auto newline =
        std::find(std::make_reverse_iterator(buffer_.begin() + static_cast<std::ptrdiff_t>(end_)),
                  buffer_.rend(), '\n');
    lines_end_ = is_at_end_ ? end_ : static_cast<std::size_t>(buffer_.rend() - newline);
    if (lines_end_ > 0 || is_at_end_) return lines_end_ > 0;
    if (buffer_.size() > kLongestLineBytes) {
      fail(next_number_, "the line has more than 1 MiB; this is not the text of a tensor");
    }
    buffer_.resize(buffer_.size() * 2);
  }
}

bool LineBlocks::next_line(std::string_view& line) {
  if (!fill()) return false;
  const std::string_view rest(buffer_.data() + begin_, lines_end_ - begin_);
  line = rest.substr(0, rest.find('\n'));
  begin_ += std::min(line.size() + 1, rest.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  line_number_ = next_number_++;
  return true;
}

bool LineBlocks::peek_line(std::string_view& line) {
  if (!fill()) return false;
  const std::size_t begin = begin_;
  next_line(line);
  begin_ = begin;
  line_number_ = --next_number_ - 1;
  return true;
}

bool LineBlocks::next_block(std::string_view& lines) {
  if (!fill()) return false;
  lines = {buffer_.data() + begin_, lines_end_ - begin_};
  begin_ = lines_end_;
  line_number_ = next_number_;
  next_number_ += static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  return true;
}

}  // namespace tandem::sparse
