// SPDX-License-Identifier: Apache-2.0
//
// Reads the variables; the server itself checks what the descriptors are.
#include "apps/serve/inherited_sockets.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string>

#include "common/error.h"

namespace tandem::apps {
namespace {

constexpr int kFirst = 3;
constexpr int kMost = 64;

int number(const std::string& text) {
  int value = -1;
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end ? value : -1;
}

std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  const std::string result = value == nullptr ? "" : value;
  ::unsetenv(name);
  return result;
}

}  // namespace

std::vector<int> inherited_sockets() {
  const std::string pid = take_variable("LISTEN_PID");
  const std::string count = take_variable("LISTEN_FDS");
  take_variable("LISTEN_FDNAMES");
  if (pid.empty() || number(pid) != ::getpid()) return {};  // meant for another process
  const int num_sockets = number(count);
  if (num_sockets < 0 || num_sockets > kMost) {
    throw Error("serve", "LISTEN_FDS is '" + count + "'; it must be a number from 0 to " +
                             std::to_string(kMost));
  }
  std::vector<int> result;
  for (int i = 0; i < num_sockets; ++i) result.push_back(kFirst + i);
  return result;
}

}  // namespace tandem::apps
