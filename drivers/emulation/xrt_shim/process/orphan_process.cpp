// SPDX-License-Identifier: Apache-2.0
//
// clone() without an end signal makes a child that wait() does not see. The program that this child
// starts with posix_spawn() becomes an orphan when the child ends. The calling thread is suspended
// meanwhile (CLONE_VFORK) with all signals blocked, because both run in the same memory.
#include "emulation/xrt_shim/process/orphan_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>

#include "emulation/protocol/pidfd.h"

extern char** environ;

// clone() by glibc's other name. The thread sanitizer wraps clone() and takes the child for a fork:
// in the memory that both share it would then ignore every lock of the parent too.
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* argument, ...);

namespace tandem::emulation {
namespace {

constexpr int kFirstDescriptor = 3;
constexpr size_t kStackBytes = 64 << 10;

struct Start {
  const char* executable = nullptr;
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  std::vector<char*> arguments;
  int code = 0;
  int process = -1;
};

// Runs in the intermediate process. The orphan cannot be reaped before its descriptor is open: this
// process does not wait for it, and no other may.
int start(void* argument) {
  Start& start = *static_cast<Start*>(argument);
  pid_t id = -1;
  start.code = posix_spawn(&id, start.executable, &start.actions, &start.attributes,
                           start.arguments.data(), environ);
  if (start.code == 0) start.process = pidfd_open(id, 0);
  return 0;
}

void set_attributes(posix_spawnattr_t& attributes) {
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

// A separate stack, since the calling thread's may be small.
int run_parent(Start& order) {
  void* const stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (stack == MAP_FAILED) return ENOMEM;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int id = __clone(start, static_cast<std::byte*>(stack) + kStackBytes,
                         CLONE_VM | CLONE_VFORK | CLONE_FILES, &order);
  const int code = id < 0 ? errno : 0;
  while (id > 0 && waitpid(id, nullptr, __WCLONE) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(stack, kStackBytes);
  return code != 0 ? code : order.code;
}

}  // namespace

int start_orphan(const std::string& executable, std::vector<std::string> arguments,
                 const std::vector<int>& descriptors, int& process) {
  Start order;
  order.executable = executable.c_str();
  for (std::string& argument : arguments) order.arguments.push_back(argument.data());
  order.arguments.push_back(nullptr);
  set_attributes(order.attributes);
  posix_spawn_file_actions_init(&order.actions);
  // Copies with numbers above those the program gets, so none is overwritten before it is copied.
  std::vector<int> copies;
  const int above = kFirstDescriptor + static_cast<int>(descriptors.size());
  for (int descriptor : descriptors) {
    copies.push_back(fcntl(descriptor, F_DUPFD_CLOEXEC, above));
    const int given = kFirstDescriptor + static_cast<int>(copies.size()) - 1;
    if (copies.back() < 0) order.code = errno;
    if (copies.back() >= 0) posix_spawn_file_actions_adddup2(&order.actions, copies.back(), given);
  }
  const int code = order.code != 0 ? order.code : run_parent(order);
  for (int copy : copies) {
    if (copy >= 0) close(copy);
  }
  posix_spawn_file_actions_destroy(&order.actions);
  posix_spawnattr_destroy(&order.attributes);
  process = order.process;
  return code;
}

bool is_parent_of_orphans() {
  int subreaper = 0;
  prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
  return getpid() == 1 || subreaper != 0;
}

void wait_for_end(int process) {
  pollfd event{process, POLLIN, 0};
  while (poll(&event, 1, -1) < 0 && errno == EINTR) {
  }
  siginfo_t ended{};
  waitid(P_PIDFD, static_cast<id_t>(process), &ended, WEXITED | WNOHANG);
}

void reap_at_end(int process) {
  if (process < 0) return;
  if (!is_parent_of_orphans()) {
    close(process);
    return;
  }
  const auto reap = [process] {
    wait_for_end(process);
    close(process);
  };
  try {
    std::thread(reap).detach();
  } catch (const std::system_error&) {  // without a thread the application reaps it
    close(process);
  }
}

}  // namespace tandem::emulation
