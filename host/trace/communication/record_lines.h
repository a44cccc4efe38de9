// SPDX-License-Identifier: Apache-2.0
//
// RecordLines: reads a record of a process line by line. Errors name the wrong line.
//
// Errors: Error("communication", ...) with the file and the line. Threads: one.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/communication/line_errors.h"
#include "trace/communication/traffic.h"

namespace tandem::trace {

class RecordLines : public LineErrors {
 public:
  // `text` outlives this object: words are parts of it.
  RecordLines(std::string_view text, std::string name) : LineErrors(std::move(name)), text_(text) {}

  bool next() {
    words_.clear();
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    take_words(text_.substr(at_, end - at_));
    at_ = end + 1;
    ++number_;
    return true;
  }

  const std::vector<std::string_view>& words() const { return words_; }
  bool begins(std::string_view word) const { return !words_.empty() && words_.front() == word; }

  void expect(std::size_t count) const {
    if (words_.size() != count) {
      fail("has " + std::to_string(words_.size()) + " words instead of " + std::to_string(count));
    }
  }

  template <typename Number>
  Number number(std::size_t at, const char* what) const {
    return number_in<Number>(words_[at], what);
  }

 private:
  void take_words(std::string_view line) {
    constexpr std::string_view kBlank = " \t\r";
    for (std::size_t at = 0; (at = line.find_first_not_of(kBlank, at)) != line.npos;) {
      const std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
      words_.push_back(line.substr(at, end - at));
      at = end;
    }
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string_view> words_;
};

// Parses "rank 0 of 4 on node-1", adds the rank to `traffic` and returns it.
int read_rank(const RecordLines& lines, Traffic& traffic);

}  // namespace tandem::trace
