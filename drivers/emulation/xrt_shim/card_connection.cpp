// SPDX-License-Identifier: Apache-2.0
//
// posix_spawn with a socket as descriptor 3. A shared card binds its name itself, so that no
// process but the card ever holds its listening socket; whoever finds nobody there starts one and
// connects again, as does whoever comes while a card ends.
#include "emulation/xrt_shim/card_connection.h"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "emulation/protocol/card_address.h"
#include "emulation/protocol/pidfd.h"

extern char** environ;

namespace tandem::emulation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCardSocket = 3;
// Generous: a loaded machine is slow, but a card that never answers must not hold its application.
constexpr std::chrono::milliseconds kStartTimeout{10'000};
constexpr std::chrono::milliseconds kJoinTimeout{30'000};
constexpr std::chrono::milliseconds kRetryPause{2};

// Starts `executable` with `socket` as its descriptor 3; returns an errno value.
int spawn(const std::string& executable, std::vector<std::string> arguments, int socket,
          pid_t& process_id) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, kCardSocket);
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
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const int code =
      posix_spawn(&process_id, executable.c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

// The process started with `arguments`, at the other end of `socket`.
pid_t start_process(const std::string& executable, const std::vector<std::string>& arguments,
                    int& socket) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("cannot make the control socket of an emulated card");
  }
  pid_t process_id = -1;
  const int code = spawn(executable, arguments, ends[1], process_id);
  close(ends[1]);
  socket = ends[0];
  if (code == 0) return process_id;
  close(ends[0]);
  throw std::runtime_error("cannot start the emulated card '" + executable +
                           "': " + std::strerror(code) +
                           "; source setup.sh of the emulation's XRT tree, or set "
                           "TANDEM_CARD_EXECUTABLE to the tandem-card program");
}

// What the card says to `opening`. False when it is gone.
bool open_connection(int socket, const std::string& opening, Message& answer) {
  if (!send_message(socket, opening)) return false;
  if (!wait_for_message(socket, kStartTimeout)) {
    throw std::runtime_error("the emulated card's process gives no answer; end it (tandem-card)");
  }
  if (!receive_message(socket, answer)) return false;
  const std::string refused = "error ";
  if (answer.text.compare(0, refused.size(), refused) == 0) {
    throw std::runtime_error(answer.text.substr(refused.size()));
  }
  return answer.descriptors.size() == kNumAreas;
}

// Starts a shared card and waits until its name is bound, by it or by somebody else's.
void start_shared_card(const std::string& executable, const std::string& name) {
  int socket = -1;
  const pid_t starter = start_process(executable, {"tandem-card", "--shared", name}, socket);
  Message answer;
  const bool answered = wait_for_message(socket, kStartTimeout) && receive_message(socket, answer);
  close(socket);
  while (waitpid(starter, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (answered && (answer.text == "ready" || answer.text == "taken")) return;
  throw std::runtime_error("the shared emulated card does not start" +
                           (answered ? ": " + answer.text : std::string()));
}

// A connection to the card at `name`; -1 when there is none.
int connect_to(const std::string& name) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::runtime_error("cannot make a socket for an emulated card");
  const timeval limit{std::chrono::duration_cast<std::chrono::seconds>(kStartTimeout).count(), 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  const CardAddress address(name);
  const bool connected = connect(socket, address.get(), address.size()) == 0;
  const int code = connected ? 0 : errno;
  if (connected && peer_is_this_user(socket)) return socket;
  close(socket);
  if (code == ECONNREFUSED || code == EINTR) return -1;
  throw std::runtime_error(
      "cannot join the shared emulated card '" + name + "': " +
      (connected ? std::string("another user holds this name; choose another TANDEM_CARD_SCOPE")
                 : std::strerror(code)));
}

pid_t process_behind(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

}  // namespace

CardConnection start_private_card(const std::string& executable, const std::string& opening) {
  CardConnection connection;
  connection.is_child = true;
  const pid_t child = start_process(executable, {"tandem-card"}, connection.socket);
  connection.process = pidfd_open(child, 0);
  try {
    if (open_connection(connection.socket, opening, connection.opened)) return connection;
    throw std::runtime_error("the emulated card's process has ended");
  } catch (...) {
    end_card(connection, true);
    throw;
  }
}

CardConnection join_shared_card(const std::string& executable, const std::string& name,
                                const std::string& opening) {
  const auto deadline = Clock::now() + kJoinTimeout;
  while (Clock::now() < deadline) {
    CardConnection connection;
    connection.socket = connect_to(name);
    if (connection.socket < 0) {
      start_shared_card(executable, name);
      continue;
    }
    try {
      if (open_connection(connection.socket, opening, connection.opened)) {
        const pid_t card = process_behind(connection.socket);
        if (card > 0) connection.process = pidfd_open(card, 0);
        return connection;
      }
    } catch (...) {
      end_card(connection, false);
      throw;
    }
    end_card(connection, false);
    std::this_thread::sleep_for(kRetryPause);
  }
  throw std::runtime_error("the shared emulated card '" + name + "' ends as soon as it is joined");
}

void end_card(const CardConnection& connection, bool kill) {
  if (kill && connection.process >= 0) pidfd_send_signal(connection.process, SIGKILL, nullptr, 0);
  siginfo_t ended{};
  while (connection.is_child && connection.process >= 0 &&
         waitid(P_PIDFD, static_cast<id_t>(connection.process), &ended, WEXITED) < 0 &&
         errno == EINTR) {
  }
  if (connection.process >= 0) close(connection.process);
  close(connection.socket);
}

}  // namespace tandem::emulation
