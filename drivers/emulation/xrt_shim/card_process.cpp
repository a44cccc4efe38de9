// SPDX-License-Identifier: Apache-2.0
//
// posix_spawn with the control socket as descriptor 3; the end of the process shows as a hang-up of
// the socket.
#include "emulation/xrt_shim/card_process.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "emulation/protocol/control_channel.h"

extern char** environ;

namespace tandem::emulation {
namespace {

constexpr int kControlSocket = 3;

// Starts `executable` with `socket` as its descriptor 3; returns an errno value.
int spawn(const std::string& executable, int socket, pid_t& process_id) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, kControlSocket);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string name = "tandem-card";
  char* arguments[] = {name.data(), nullptr};
  const int code =
      posix_spawn(&process_id, executable.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

}  // namespace

CardProcess::CardProcess(const std::string& executable, std::function<void()> on_death)
    : on_death_(std::move(on_death)), owner_(getpid()) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("cannot make the control socket of an emulated card");
  }
  socket_ = ends[0];
  stop_event_ = eventfd(0, EFD_CLOEXEC);
  std::promise<int> started;
  watcher_ = std::thread([&, card_socket = ends[1]] { run(executable, card_socket, started); });
  const int code = started.get_future().get();
  if (code != 0) {
    watcher_.join();
    close(socket_);
    close(stop_event_);
    throw std::runtime_error("cannot start the emulated card '" + executable +
                             "': " + std::strerror(code) +
                             "; source setup.sh of the emulation's XRT tree, or set "
                             "TANDEM_CARD_EXECUTABLE to the tandem-card program");
  }
}

bool CardProcess::owned_here() const { return getpid() == owner_; }

CardProcess::~CardProcess() {
  if (!owned_here()) {
    watcher_.detach();
    return;
  }
  const uint64_t one = 1;
  if (write(stop_event_, &one, sizeof(one)) < 0) kill_process();
  watcher_.join();
  close(socket_);
  close(stop_event_);
}

void CardProcess::run(const std::string& executable, int card_socket, std::promise<int>& started) {
  const int code = spawn(executable, card_socket, process_id_);
  close(card_socket);
  started.set_value(code);  // `executable` and `started` are gone from here on
  if (code == 0) watch();
}

void CardProcess::watch() {
  pollfd events[2] = {{socket_, 0, 0}, {stop_event_, POLLIN, 0}};
  while (poll(events, 2, -1) < 0 && errno == EINTR) {
  }
  if (events[1].revents == 0) on_death_();
  reap();
}

void CardProcess::reap() {
  kill_process();
  // Waits without taking the process away, so that its id stays its own until it is forgotten.
  siginfo_t ended{};
  const auto id = static_cast<id_t>(process_id_);
  while (waitid(P_PID, id, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  std::lock_guard lock(process_mutex_);
  while (waitpid(process_id_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_id_ = -1;
}

void CardProcess::kill_process() {
  std::lock_guard lock(process_mutex_);
  if (process_id_ > 0) kill(process_id_, SIGKILL);
}

std::string CardProcess::call(const std::string& request, const std::vector<int>& descriptors,
                              std::chrono::milliseconds timeout) {
  std::lock_guard lock(call_mutex_);
  const std::string gone = "the emulated card's process has ended";
  if (!send_message(socket_, request, descriptors)) return gone;
  if (!wait_for_message(socket_, timeout)) {
    kill_process();
    return "the emulated card's process gave no answer for " + std::to_string(timeout.count()) +
           " ms and was ended; close the device and open it again";
  }
  Message answer;
  if (!receive_message(socket_, answer)) return gone;
  const std::string prefix = "error ";
  if (answer.text == "ok") return "";
  return answer.text.compare(0, prefix.size(), prefix) == 0 ? answer.text.substr(prefix.size())
                                                            : "unexpected answer " + answer.text;
}

}  // namespace tandem::emulation
