// SPDX-License-Identifier: Apache-2.0
//
// LineErrors: the common base of readers that parse text line by line. An error names the file and
// the line.
//
// A reader derives from it and counts its lines in number_. Threads: one.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "common/error.h"
#include "common/number.h"

namespace tandem::trace {

class LineErrors {
 public:
  // Throws Error("communication", ...).
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error("communication", name_ + " line " + std::to_string(number_) + ": " + problem);
  }

 protected:
  explicit LineErrors(std::string name) : name_(std::move(name)) {}

  // `what`: the value that is expected, for the error: "number of bytes".
  template <typename Number>
  Number number_in(std::string_view text, const char* what) const {
    const auto value = number_of<Number>(text);
    if (!value) fail("'" + std::string(text) + "' is not a " + what);
    return *value;
  }

  [[noreturn]] void fail_width(std::size_t fields, std::size_t columns) const {
    fail("there are " + std::to_string(fields) + " fields for " + std::to_string(columns) +
         " columns");
  }

  int number_ = 0;  // of the line, from 1

 private:
  const std::string name_;
};

}  // namespace tandem::trace
