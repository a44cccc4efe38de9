// SPDX-License-Identifier: Apache-2.0
//
// The exit codes of the programs, and the function that turns an exception into a message and a
// code.
//
// 0 success, 1 unexpected error, 2 bad input (arguments, files), 3 a device or a peer failed.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

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

// Returns the result of `body`. For an exception, returns its exit code and passes the message to
// `report`.
template <typename Body>
int exit_code_of(const Body& body, void (*report)(const std::string& text) = print_error) {
  try {
    return body();
  } catch (const ExitStatus& status) {
    return status.code;
  } catch (const DeviceError& error) {
    report(error.what());
    return kDeviceFailed;
  } catch (const Error& error) {
    report(error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    report(std::string("unexpected: ") + error.what());
    return kUnexpected;
  }
}

}  // namespace tandem::apps
