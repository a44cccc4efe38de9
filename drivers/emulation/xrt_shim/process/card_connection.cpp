// SPDX-License-Identifier: Apache-2.0
//
// A shared card binds its name itself, so only the card ever holds its listening socket. A process
// that finds no card at the name starts one and connects again; so does one that comes while a card
// ends.
#include "emulation/xrt_shim/process/card_connection.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "emulation/protocol/card_address.h"
#include "emulation/protocol/pidfd.h"
#include "emulation/xrt_shim/process/fork_pause.h"
#include "emulation/xrt_shim/process/orphan_process.h"

namespace tandem::emulation {
namespace {

using Clock = std::chrono::steady_clock;

// Long, since a loaded machine is slow; bounded, since a card without an answer must not block its
// application.
constexpr std::chrono::milliseconds kStartTimeout{10'000};
constexpr std::chrono::milliseconds kJoinTimeout{30'000};
constexpr std::chrono::milliseconds kConnectPause{2};

// The process started with `arguments` gets the other end of `socket`, and `inherited` as its next
// descriptor. No other thread forks meanwhile.
int start_process(const std::string& executable, const std::vector<std::string>& arguments,
                  const std::vector<int>& inherited, int& socket) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::runtime_error("cannot make the control socket of an emulated card");
  }
  std::vector<int> descriptors{ends[1]};
  descriptors.insert(descriptors.end(), inherited.begin(), inherited.end());
  int process = -1;
  const int code = start_orphan(executable, arguments, descriptors, process);
  close(ends[1]);
  if (code == 0) {
    socket = ends[0];
    return process;
  }
  close(ends[0]);
  throw std::runtime_error("cannot start the emulated card '" + executable +
                           "': " + std::strerror(code) +
                           "; source setup.sh of the emulation's XRT tree, or set "
                           "TANDEM_CARD_EXECUTABLE to the tandem-card program");
}

// Starts a private card's process; `connection` then owns its two descriptors.
void start_own_process(const std::string& executable, CardConnection& connection) {
  int lifeline[2];
  ForkPause pause;
  if (pipe2(lifeline, O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make the pipe that ends an emulated card");
  }
  connection.lifeline = lifeline[1];
  pause.keep_from_children(lifeline[1]);
  try {
    connection.process =
        start_process(executable, {"tandem-card", "--application", std::to_string(getpid())},
                      {lifeline[0]}, connection.socket);
  } catch (...) {
    close(lifeline[0]);
    throw;
  }
  pause.keep_from_children(connection.socket);
  close(lifeline[0]);
}

// The card's answer to `opening`. False when the card has ended.
bool open_connection(int socket, const std::string& opening, Message& answer) {
  if (!send_message(socket, opening)) return false;
  if (!wait_for_message(socket, kStartTimeout)) {
    throw std::runtime_error("the emulated card's process (tandem-card) does not answer; end it");
  }
  if (!receive_message(socket, answer)) return false;
  const std::string refused = "error ";
  if (answer.text.compare(0, refused.size(), refused) == 0) {
    throw std::runtime_error(answer.text.substr(refused.size()));
  }
  return answer.descriptors.size() == kNumAreas;
}

// Starts a shared card and waits until its name is bound, by this card or by another process' one.
void start_shared_card(const std::string& executable, const std::string& name) {
  int socket = -1;
  const int process = start_process(executable, {"tandem-card", "--shared", name}, {}, socket);
  Message answer;
  const bool answered = wait_for_message(socket, kStartTimeout) && receive_message(socket, answer);
  close(socket);
  reap_at_end(process);
  if (answered && (answer.text == "ready" || answer.text == "taken")) return;
  throw std::runtime_error("the shared emulated card does not start" +
                           (answered ? ": " + answer.text : std::string()));
}

// A connection to the card at `name`; -1 when there is none.
int connect_to(const std::string& name) {
  int socket = -1;
  {
    ForkPause pause;
    socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (socket >= 0) pause.keep_from_children(socket);
  }
  if (socket < 0) throw std::runtime_error("cannot make a socket for an emulated card");
  const timeval limit{std::chrono::duration_cast<std::chrono::seconds>(kStartTimeout).count(), 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  const CardAddress address(name);
  const bool connected = connect(socket, address.get(), address.size()) == 0;
  const int code = connected ? 0 : errno;
  if (connected && peer_is_this_user(socket)) return socket;
  ForkPause().close_listed(socket);
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
  connection.is_own = true;
  try {
    start_own_process(executable, connection);
    if (open_connection(connection.socket, opening, connection.opened)) return connection;
    throw std::runtime_error("the emulated card's process has ended");
  } catch (...) {
    end_card(connection);
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
      end_card(connection);
      throw;
    }
    end_card(connection);
    std::this_thread::sleep_for(kConnectPause);
  }
  throw std::runtime_error("the shared emulated card '" + name +
                           "' ended each time that this application joined it");
}

void end_card(const CardConnection& connection) {
  if (connection.is_own && connection.process >= 0) {
    pidfd_send_signal(connection.process, SIGKILL, nullptr, 0);
    wait_for_end(connection.process);
  }
  if (connection.process >= 0) close(connection.process);
  ForkPause pause;
  for (int descriptor : {connection.socket, connection.lifeline}) {
    if (descriptor >= 0) pause.close_listed(descriptor);
  }
}

// The other descriptors were closed at the fork, and their numbers may be in use again.
void close_inherited(const CardConnection& connection) {
  if (connection.process >= 0) close(connection.process);
}

}  // namespace tandem::emulation
