// SPDX-License-Identifier: Apache-2.0
//
// The exit codes of the programs, and the function that turns an exception into a message and a
// code.
//
// 0 success, 1 unexpected error, 2 bad input (arguments, files) or output that could not be
// written, 3 a device or a peer failed.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>

#include "common/error.h"

namespace tandem::apps {

constexpr int kUnexpected = 1;
constexpr int kBadInput = 2;
constexpr int kDeviceFailed = 3;

// Thrown by a command that ends with this exit code, such as that of a program that it ran. No
// message is printed.
struct ExitStatus {
  int code;
};

inline void print_error(const std::string& text) {
  std::fprintf(stderr, "tandem: %s\n", text.c_str());
}

// What is wrong if standard output did not take everything, such as on a full disk; empty: nothing.
// std::cout writes through stdout.
inline std::string lost_output() {
  errno = EIO;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return std::string("cannot write standard output: ") + std::strerror(errno);
}

inline void end_output() {
  const std::string lost = lost_output();
  if (!lost.empty()) throw Error("output", lost);
}

// Returns the result of `body`, once standard output is written. For an exception, returns its exit
// code and passes the message to `report`.
template <typename Body>
int exit_code_of(const Body& body, void (*report)(const std::string& text) = print_error) {
  try {
    const int code = body();
    if (code == 0) end_output();
    return code;
  } catch (const ExitStatus& status) {
    return status.code;
  } catch (const DeviceError& error) {
    report(error.what());
    return kDeviceFailed;
  } catch (const Error& error) {
    report(error.what());
    return kBadInput;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) {
      report(std::string("unexpected: ") + error.what());
      return kUnexpected;
    }
    report("[output] cannot write standard output: " + error.code().message());
    return kBadInput;
  } catch (const std::exception& error) {
    const std::string lost = lost_output();
    report(lost.empty() ? std::string("unexpected: ") + error.what() : "[output] " + lost);
    return lost.empty() ? kUnexpected : kBadInput;
  }
}

}  // namespace tandem::apps
