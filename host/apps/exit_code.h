// SPDX-License-Identifier: Apache-2.0
//
// The exit codes of the programs, and the one place that turns an exception into message and code.
//
// 0 done, 1 unexpected, 2 bad input (arguments, files), 3 a device or a peer failed.
#pragma once

#include <cstdio>
#include <exception>
#include <string>

#include "common/error.h"

namespace tandem::apps {

constexpr int kUnexpected = 1;
constexpr int kBadInput = 2;
constexpr int kDeviceFailed = 3;

// Thrown by a command that ends with the exit code of a program which it ran, or with one of its
// own; there is nothing left to report.
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
