// SPDX-License-Identifier: Apache-2.0
//
// QasmCursor: a position in the words of an OpenQASM file, with the parsing functions of a reader.
//
// Expressions: numbers, pi, parameters, + - * / ^, signs, parentheses, sin cos tan exp ln sqrt.
// Ownership: borrows the words. Threads: one. Errors: Error with the line.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "planner/circuit/qasm_words.h"

namespace tandem::planner {

using QasmParameters = std::unordered_map<std::string, double>;

class QasmCursor {
 public:
  explicit QasmCursor(const std::vector<QasmWord>& words, std::size_t at = 0)
      : words_(&words), at_(at) {}

  const QasmWord& word() const { return (*words_)[at_]; }
  std::int64_t line() const { return word().line; }
  std::size_t at() const { return at_; }
  bool is_at(std::string_view mark) const {
    return word().kind == QasmKind::kMark && word().text == mark;
  }
  bool is_end() const { return word().kind == QasmKind::kEnd; }

  void move() {
    if (!is_end()) ++at_;
  }
  bool take(std::string_view mark) {
    const bool is_there = is_at(mark);
    if (is_there) move();
    return is_there;
  }
  void expect(std::string_view mark);
  std::string name(const char* what);
  // A whole number from `least` to `most`.
  std::int64_t whole(const char* what, std::int64_t least, std::int64_t most);
  double expression(const QasmParameters& parameters);
  std::string shown() const;  // the current word, as error messages show it

 private:
  double sum(const QasmParameters& parameters);
  double product(const QasmParameters& parameters);
  double power(const QasmParameters& parameters);
  double atom(const QasmParameters& parameters);
  double named_value(const QasmParameters& parameters);

  const std::vector<QasmWord>* words_;
  std::size_t at_;
  int depth_ = 0;  // nesting depth of expressions
};

}  // namespace tandem::planner
