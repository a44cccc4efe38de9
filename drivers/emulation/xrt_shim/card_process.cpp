// SPDX-License-Identifier: Apache-2.0
//
// The end of the process shows as a hang-up of the socket. The process id is never used, only its
// descriptor: an id may be another's by then.
#include "emulation/xrt_shim/card_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <sstream>

#include "emulation/protocol/fork_count.h"
#include "emulation/protocol/pidfd.h"

namespace tandem::emulation {

uint64_t CardAnswer::number(size_t index) const {
  std::istringstream words(text);
  std::string first;
  uint64_t value = 0;
  words >> first;
  for (size_t word = 0; word <= index; ++word) {
    if (!(words >> value)) return 0;
  }
  return value;
}

CardProcess::CardProcess(const std::function<CardConnection()>& connect,
                         std::function<void()> on_death)
    : on_death_(std::move(on_death)), owner_(fork_count()) {
  stop_event_ = eventfd(0, EFD_CLOEXEC);
  std::promise<void> reached;
  auto result = reached.get_future();
  watcher_ = std::thread([&] { run(connect, reached); });
  try {
    result.get();
  } catch (...) {
    watcher_.join();
    close(stop_event_);
    throw;
  }
}

bool CardProcess::owned_here() const { return fork_count() == owner_; }

CardProcess::~CardProcess() {
  if (!owned_here()) {
    watcher_.detach();
    close(connection_.socket);
    return;
  }
  const uint64_t one = 1;
  while (write(stop_event_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  watcher_.join();
  end_card(connection_, connection_.is_child);
  close(stop_event_);
}

void CardProcess::run(const std::function<CardConnection()>& connect, std::promise<void>& reached) {
  try {
    connection_ = connect();
  } catch (...) {
    reached.set_exception(std::current_exception());
    return;
  }
  reached.set_value();  // `connect` and `reached` are gone from here on
  watch();
}

void CardProcess::watch() {
  pollfd events[2] = {{connection_.socket, 0, 0}, {stop_event_, POLLIN, 0}};
  while (poll(events, 2, -1) < 0 && errno == EINTR) {
  }
  if (events[1].revents != 0 || leaving_.load()) return;
  on_death_();
  if (!connection_.is_child || connection_.process < 0) return;
  // Its socket may be closed before the process ends; the child is not to stay.
  pidfd_send_signal(connection_.process, SIGKILL, nullptr, 0);
  siginfo_t ended{};
  const auto process = static_cast<id_t>(connection_.process);
  while (waitid(P_PIDFD, process, &ended, WEXITED) < 0 && errno == EINTR) {
  }
}

CardAnswer CardProcess::leave() {
  leaving_.store(true);
  return call("leave");
}

CardAnswer CardProcess::call(const std::string& request, const std::vector<int>& descriptors,
                             std::chrono::milliseconds timeout) {
  CardAnswer answer;
  if (!owned_here()) {
    answer.problem = "the card was opened before this process was forked; open it again";
    return answer;
  }
  std::lock_guard lock(call_mutex_);
  answer.problem = "the emulated card's process has ended";
  const int socket = connection_.socket;
  if (!send_message(socket, request, descriptors)) return answer;
  if (!wait_for_message(socket, timeout)) {
    if (connection_.process >= 0) pidfd_send_signal(connection_.process, SIGKILL, nullptr, 0);
    answer.problem = "the emulated card's process gave no answer for " +
                     std::to_string(timeout.count()) +
                     " ms and was ended; close the device and open it again";
    return answer;
  }
  Message message;
  if (!receive_message(socket, message)) return answer;
  const std::string refused = "error ";
  const bool is_refused = message.text.compare(0, refused.size(), refused) == 0;
  answer.problem = is_refused ? message.text.substr(refused.size()) : "";
  answer.text = is_refused ? "" : message.text;
  answer.descriptors = std::move(message.descriptors);
  return answer;
}

}  // namespace tandem::emulation
