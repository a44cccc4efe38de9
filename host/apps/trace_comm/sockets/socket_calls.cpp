// SPDX-License-Identifier: Apache-2.0
//
// The calls of the C library that send over sockets or end descriptors, in front of its own.
//
// The record is written when the process ends: by exit(), or by _exit() as Python's processes of
// multiprocessing end. A child of fork() counts anew only what it sends itself.
#include "apps/trace_comm/sockets/socket_calls.h"

#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "apps/trace_comm/sockets/socket_flows.h"
#include "trace/communication/process_recorder.h"

namespace tandem::apps {
namespace {

thread_local bool is_inside = false;  // a call of ours that sends or closes by itself

// Keeps errno, which callers read after their call.
template <typename Work>
void unseen(const Work& work) {
  static const bool is_traced = trace::traces_kind("gloo");
  if (!is_traced || is_inside) return;
  const int error = errno;
  is_inside = true;
  work();
  is_inside = false;
  errno = error;
}

ssize_t noted(int descriptor, ssize_t sent) {
  if (sent > 0) unseen([&] { socket_flows().sent(descriptor, static_cast<std::size_t>(sent)); });
  return sent;
}

void forget(int first, int last) {
  unseen([&] { socket_flows().closed(first, last); });
}

__attribute__((constructor)) void watch_process() {
  if (!trace::traces_kind("gloo")) return;
  std::atexit(write_socket_flows);
  pthread_atfork([] { socket_flows().before_fork(); }, [] { socket_flows().after_fork(false); },
                 [] { socket_flows().after_fork(true); });
}

}  // namespace

void write_socket_flows() {
  unseen([] { socket_flows().write(); });
}

}  // namespace tandem::apps

using tandem::apps::forget;
using tandem::apps::next_call;
using tandem::apps::noted;

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  static const auto own = next_call<ssize_t (*)(int, const void*, size_t)>("write");
  return noted(descriptor, own(descriptor, bytes, count));
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto own = next_call<ssize_t (*)(int, const iovec*, int)>("writev");
  return noted(descriptor, own(descriptor, parts, count));
}

ssize_t send(int descriptor, const void* bytes, size_t count, int flags) {
  static const auto own = next_call<ssize_t (*)(int, const void*, size_t, int)>("send");
  return noted(descriptor, own(descriptor, bytes, count, flags));
}

ssize_t sendto(int descriptor, const void* bytes, size_t count, int flags, const sockaddr* to,
               socklen_t to_bytes) {
  static const auto own =
      next_call<ssize_t (*)(int, const void*, size_t, int, const sockaddr*, socklen_t)>("sendto");
  return noted(descriptor, own(descriptor, bytes, count, flags, to, to_bytes));
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  static const auto own = next_call<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
  return noted(descriptor, own(descriptor, message, flags));
}

int sendmmsg(int descriptor, mmsghdr* messages, unsigned count, int flags) {
  static const auto own = next_call<int (*)(int, mmsghdr*, unsigned, int)>("sendmmsg");
  const int sent = own(descriptor, messages, count, flags);
  for (int i = 0; i < sent; ++i) noted(descriptor, messages[i].msg_len);
  return sent;
}

ssize_t sendfile(int to, int from, off_t* offset, size_t count) {
  static const auto own = next_call<ssize_t (*)(int, int, off_t*, size_t)>("sendfile");
  return noted(to, own(to, from, offset, count));
}

ssize_t sendfile64(int to, int from, off64_t* offset, size_t count) {
  static const auto own = next_call<ssize_t (*)(int, int, off64_t*, size_t)>("sendfile64");
  return noted(to, own(to, from, offset, count));
}

ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t count,
               unsigned flags) {
  static const auto own =
      next_call<ssize_t (*)(int, off64_t*, int, off64_t*, size_t, unsigned)>("splice");
  return noted(to, own(from, from_offset, to, to_offset, count, flags));
}

int close(int descriptor) {
  static const auto own = next_call<int (*)(int)>("close");
  forget(descriptor, descriptor);
  return own(descriptor);
}

int close_range(unsigned first, unsigned last, int flags) {
  static const auto own = next_call<int (*)(unsigned, unsigned, int)>("close_range");
  constexpr unsigned kMost = INT_MAX;
  forget(static_cast<int>(std::min(first, kMost)), static_cast<int>(std::min(last, kMost)));
  return own(first, last, flags);
}

void closefrom(int first) {
  static const auto own = next_call<void (*)(int)>("closefrom");
  forget(first, INT_MAX);
  own(first);
}

int fclose(FILE* file) {
  static const auto own = next_call<int (*)(FILE*)>("fclose");
  const int descriptor = fileno(file);
  if (descriptor >= 0) forget(descriptor, descriptor);  // before another thread gets its number
  return own(file);
}

int dup2(int from, int to) {
  static const auto own = next_call<int (*)(int, int)>("dup2");
  if (from != to) forget(to, to);
  return own(from, to);
}

int dup3(int from, int to, int flags) {
  static const auto own = next_call<int (*)(int, int, int)>("dup3");
  forget(to, to);
  return own(from, to, flags);
}

void _exit(int code) {
  static const auto own = next_call<void (*)(int)>("_exit");
  tandem::apps::write_socket_flows();
  own(code);
  __builtin_unreachable();
}

// For our own transport over gloo, whose messages are the flows.
void tandem_sockets_are_compared() { tandem::apps::socket_flows().set_compared(); }

}  // extern "C"
