// SPDX-License-Identifier: Apache-2.0
//
// RecordLines: a record of a process, a line at a time; a line that does not fit is named.
//
// Errors: Error("communication", ...) with the file and the line. Threads: one.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/number.h"
#include "trace/communication/traffic.h"

namespace tandem::trace {

class RecordLines {
 public:
  RecordLines(const std::string& text, std::string name) : text_(text), name_(std::move(name)) {}

  bool next() {
    words_.clear();
    std::string line;
    if (!std::getline(text_, line)) return false;
    ++number_;
    std::istringstream stream(line);
    for (std::string word; stream >> word;) words_.push_back(word);
    return true;
  }

  const std::vector<std::string>& words() const { return words_; }
  bool begins(const char* word) const { return !words_.empty() && words_.front() == word; }

  void expect(std::size_t count) const {
    if (words_.size() != count) {
      fail("has " + std::to_string(words_.size()) + " words instead of " + std::to_string(count));
    }
  }

  template <typename Number>
  Number number(std::size_t at, const char* what) const {
    const auto value = number_of<Number>(words_[at]);
    if (!value) fail("'" + words_[at] + "' is no " + what);
    return *value;
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Error("communication", name_ + " line " + std::to_string(number_) + ": " + problem);
  }

 private:
  std::istringstream text_;
  const std::string name_;
  std::vector<std::string> words_;
  int number_ = 0;
};

// "rank 0 of 4 on node-1": adds it to `traffic` and returns it.
int read_rank(const RecordLines& lines, Traffic& traffic);

}  // namespace tandem::trace
