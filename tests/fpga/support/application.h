// SPDX-License-Identifier: Apache-2.0
//
// The frame of a corpus program: checks that count failures, and the verdict that
// run_application.py looks for. Threads: checks may come from any.
#pragma once

#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tandem::fpga_test {

struct Arguments {
  std::string xclbin;
  std::vector<std::string> rest;
};

// Counts a failed check and prints the first few.
void report_failure(const char* file, int line, const std::string& text);

//   int main(int argc, char** argv) {
//     return tandem::fpga_test::run_application(argc, argv, [](const Arguments& arguments) {
//       CHECK(1 + 1 == 2);
//     });
//   }
// A failed check is printed and the program continues; an exception ends it. Exit code 0 and "TEST
// PASSED", or 1 and "TEST FAILED".
int run_application(int argc, char** argv, const std::function<void(const Arguments&)>& body);

// Prints numbers as numbers (also those of one byte), all other types by their operator<<.
template <typename T>
void print(std::ostream& out, const T& value) {
  if constexpr (requires { +value; }) {
    out << +value;
  } else {
    out << value;
  }
}

// Integers as numbers: -1 is not the largest unsigned value.
template <typename A, typename B>
bool equal(const A& a, const B& b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    return std::cmp_equal(+a, +b);
  } else {
    return a == b;
  }
}

template <typename A, typename B>
void check_equal(const char* file, int line, const char* expression, const A& actual,
                 const B& expected) {
  if (equal(actual, expected)) return;
  std::ostringstream text;
  text << expression << " is ";
  print(text, actual);
  text << ", not ";
  print(text, expected);
  report_failure(file, line, text.str());
}

// True when `call` throws std::exception, whose text must contain `part`.
bool throws(const std::function<void()>& call, const std::string& part = "");

}  // namespace tandem::fpga_test

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition))                                                                     \
      tandem::fpga_test::report_failure(__FILE__, __LINE__, #condition " does not hold"); \
  } while (false)
#define CHECK_EQ(actual, expected) \
  tandem::fpga_test::check_equal(__FILE__, __LINE__, #actual, actual, expected)
#define CHECK_THROWS(statement)                                                            \
  do {                                                                                     \
    if (!tandem::fpga_test::throws([&] { (void)(statement); }))                            \
      tandem::fpga_test::report_failure(__FILE__, __LINE__, #statement " does not throw"); \
  } while (false)
