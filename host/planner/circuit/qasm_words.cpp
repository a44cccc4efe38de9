// SPDX-License-Identifier: Apache-2.0
//
// One pass over the text.
#include "planner/circuit/qasm_words.h"

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace tandem::planner {
namespace {

bool is_qasm_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class QasmScanner {
 public:
  explicit QasmScanner(std::string_view text) : text_(text) {}

  std::vector<QasmWord> run() {
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) take_word();
    add(QasmKind::kEnd, 0);
    return std::move(words_);
  }

 private:
  char at(std::size_t offset) const {
    return at_ + offset < text_.size() ? text_[at_ + offset] : '\0';
  }

  void add(QasmKind kind, std::size_t count) {
    words_.push_back({kind, std::string(text_.substr(at_, count)), line_});
    at_ += count;
  }

  void skip_blanks() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '/' && at(1) == '/') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        if (at_ == text_.size()) return;
      }
      if (text_[at_] == '\n') ++line_;
      if (std::string_view(" \t\r\n").find(text_[at_]) == std::string_view::npos) return;
    }
  }

  std::size_t number_length() const {
    std::size_t count = 0;
    while (is_qasm_digit(at(count)) || at(count) == '.') ++count;
    if (at(count) != 'e' && at(count) != 'E') return count;
    const std::size_t sign = at(count + 1) == '+' || at(count + 1) == '-' ? 1 : 0;
    std::size_t end = count + 1 + sign;
    if (!is_qasm_digit(at(end))) return count;
    while (is_qasm_digit(at(end))) ++end;
    return end;
  }

  void take_word() {
    const char first = text_[at_];
    if (begins_name(first)) {
      std::size_t count = 1;
      while (begins_name(at(count)) || is_qasm_digit(at(count))) ++count;
      return add(QasmKind::kName, count);
    }
    if (is_qasm_digit(first) || (first == '.' && is_qasm_digit(at(1)))) {
      return add(QasmKind::kNumber, number_length());
    }
    if (first == '"') return take_text();
    if ((first == '-' && at(1) == '>') || (first == '=' && at(1) == '=')) {
      return add(QasmKind::kMark, 2);
    }
    if (std::string_view(";,()[]{}+-*/^").find(first) != std::string_view::npos) {
      return add(QasmKind::kMark, 1);
    }
    refuse_qasm(line_, std::string("the character '") + first + "' begins no word");
  }

  void take_text() {
    const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
    if (end == std::string_view::npos || text_[end] == '\n') {
      refuse_qasm(line_, "a quoted text has no end");
    }
    words_.push_back({QasmKind::kText, std::string(text_.substr(at_ + 1, end - at_ - 1)), line_});
    at_ = end + 1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  std::vector<QasmWord> words_;
};

}  // namespace

void refuse_qasm(std::int64_t line, const std::string& what) {
  throw Error("qasm", "line " + std::to_string(line) + ": " + what);
}

std::vector<QasmWord> qasm_words(std::string_view text) { return QasmScanner(text).run(); }

}  // namespace tandem::planner
