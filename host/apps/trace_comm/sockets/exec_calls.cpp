// SPDX-License-Identifier: Apache-2.0
//
// The calls by which a process becomes another program: what it has sent is written before.
//
// The new program inherits the connections, and counts what it sends itself. The C library's calls
// reach the kernel without each other, so each has its own entry here. Where a call fails, the
// process goes on and writes a further record.
#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <vector>

#include "apps/trace_comm/sockets/socket_calls.h"

namespace {

using tandem::apps::next_call;
using tandem::apps::write_socket_flows;

// The words of execl(), the first included, and the end.
std::vector<char*> listed_words(const char* first, va_list rest) {
  std::vector<char*> words{const_cast<char*>(first)};
  while (words.back() != nullptr) words.push_back(va_arg(rest, char*));
  return words;
}

}  // namespace

extern "C" {

int execve(const char* path, char* const words[], char* const environment[]) {
  static const auto own = next_call<int (*)(const char*, char* const*, char* const*)>("execve");
  write_socket_flows();
  return own(path, words, environment);
}

int execv(const char* path, char* const words[]) { return execve(path, words, environ); }

int execvpe(const char* file, char* const words[], char* const environment[]) {
  static const auto own = next_call<int (*)(const char*, char* const*, char* const*)>("execvpe");
  write_socket_flows();
  return own(file, words, environment);
}

int execvp(const char* file, char* const words[]) { return execvpe(file, words, environ); }

int fexecve(int descriptor, char* const words[], char* const environment[]) {
  static const auto own = next_call<int (*)(int, char* const*, char* const*)>("fexecve");
  write_socket_flows();
  return own(descriptor, words, environment);
}

int execl(const char* path, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const std::vector<char*> words = listed_words(first, rest);
  va_end(rest);
  return execve(path, words.data(), environ);
}

int execlp(const char* file, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const std::vector<char*> words = listed_words(first, rest);
  va_end(rest);
  return execvpe(file, words.data(), environ);
}

int execle(const char* path, const char* first, ...) {
  va_list rest;
  va_start(rest, first);
  const std::vector<char*> words = listed_words(first, rest);
  char* const* const environment = va_arg(rest, char* const*);
  va_end(rest);
  return execve(path, words.data(), environment);
}

}  // extern "C"
