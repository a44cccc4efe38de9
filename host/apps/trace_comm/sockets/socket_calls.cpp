// SPDX-License-Identifier: Apache-2.0
//
// The calls of the C library by which gloo and its stores send, in front of the library's own.
//
// The record is written when the process ends: by exit(), or by _exit() as Python's processes of
// multiprocessing end. A child of fork() counts anew only what it sends itself.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "apps/trace_comm/sockets/socket_flows.h"
#include "trace/communication/process_recorder.h"

namespace {

using tandem::apps::socket_flows;

template <typename Call>
Call own_call(const char* name) {
  return reinterpret_cast<Call>(dlsym(RTLD_NEXT, name));
}

thread_local bool is_inside = false;  // a call of ours that sends or closes by itself

// Keeps errno, which callers read after their call.
template <typename Work>
void unseen(const Work& work) {
  static const bool is_traced = tandem::trace::traces_kind("gloo");
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

void write_flows() {
  unseen([] { socket_flows().write(); });
}

__attribute__((constructor)) void watch_process() {
  if (!tandem::trace::traces_kind("gloo")) return;
  std::atexit(write_flows);
  pthread_atfork([] { socket_flows().before_fork(); }, [] { socket_flows().after_fork(false); },
                 [] { socket_flows().after_fork(true); });
}

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t count) {
  static const auto own = own_call<ssize_t (*)(int, const void*, size_t)>("write");
  return noted(descriptor, own(descriptor, bytes, count));
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  static const auto own = own_call<ssize_t (*)(int, const iovec*, int)>("writev");
  return noted(descriptor, own(descriptor, parts, count));
}

ssize_t send(int descriptor, const void* bytes, size_t count, int flags) {
  static const auto own = own_call<ssize_t (*)(int, const void*, size_t, int)>("send");
  return noted(descriptor, own(descriptor, bytes, count, flags));
}

ssize_t sendmsg(int descriptor, const msghdr* message, int flags) {
  static const auto own = own_call<ssize_t (*)(int, const msghdr*, int)>("sendmsg");
  return noted(descriptor, own(descriptor, message, flags));
}

int close(int descriptor) {
  static const auto own = own_call<int (*)(int)>("close");
  unseen([&] { socket_flows().closed(descriptor); });
  return own(descriptor);
}

void _exit(int code) {
  static const auto own = own_call<void (*)(int)>("_exit");
  write_flows();
  own(code);
  __builtin_unreachable();
}

// For our own transport over gloo, whose messages are the flows.
void tandem_sockets_are_compared() { socket_flows().set_compared(); }

}  // extern "C"
