// SPDX-License-Identifier: Apache-2.0
//
// The errors of the whole system.
//
// Error: the caller can act on it (an argument, a file, the network). The message starts with
// "[module]" and says what to do.
// DeviceError: a device failed. The header of the object that throws it states the object's state.
// TANDEM_CHECK: a broken invariant. It prints both operands and aborts. Never used for input.
// Threads: any.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace tandem {

class Error : public std::runtime_error {
 public:
  // `module` without brackets: Error("gguf", "...") reads "[gguf] ...".
  Error(const std::string& module, const std::string& message)
      : std::runtime_error("[" + module + "] " + message) {}
};

class DeviceError : public Error {
 public:
  using Error::Error;
};

namespace detail {
[[noreturn]] void check_failed(const char* file, int line, const char* expression,
                               const std::string& operands);

template <typename A, typename B>
std::string both_operands(const A& a, const B& b) {
  std::ostringstream out;
  out << a << " vs " << b;
  return out.str();
}
}  // namespace detail

}  // namespace tandem

#define TANDEM_CHECK(condition)                                                      \
  do {                                                                               \
    if (!(condition)) {                                                              \
      ::tandem::detail::check_failed(__FILE__, __LINE__, #condition, std::string()); \
    }                                                                                \
  } while (0)

#define TANDEM_CHECK_OP(a, op, b)                                           \
  do {                                                                      \
    const auto& tandem_check_a = (a);                                       \
    const auto& tandem_check_b = (b);                                       \
    if (!(tandem_check_a op tandem_check_b)) {                              \
      ::tandem::detail::check_failed(                                       \
          __FILE__, __LINE__, #a " " #op " " #b,                            \
          ::tandem::detail::both_operands(tandem_check_a, tandem_check_b)); \
    }                                                                       \
  } while (0)
