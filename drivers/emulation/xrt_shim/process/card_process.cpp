// SPDX-License-Identifier: Apache-2.0
//
// The end of the process shows as a hang-up of the socket. The process is named by its descriptor,
// never by its id, which may belong to another process by then.
#include "emulation/xrt_shim/process/card_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "emulation/protocol/fork_count.h"
#include "emulation/protocol/pidfd.h"
#include "emulation/xrt_shim/process/orphan_process.h"

namespace tandem::emulation {

namespace {

constexpr std::chrono::milliseconds kRetryPause{1};
constexpr size_t kMaxRequestBytes = kMaxMessageBytes - 32;  // room for its number

// The message becomes the answer: "error" and a reason, or what was asked for.
void take_text(Message& message, CardAnswer& answer) {
  const std::string refused = "error ";
  const bool is_refused = message.text.compare(0, refused.size(), refused) == 0;
  answer.problem = is_refused ? message.text.substr(refused.size()) : "";
  answer.text = is_refused ? "" : message.text;
  answer.descriptors = std::move(message.descriptors);
}

}  // namespace

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
  wake_event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_event_ < 0)
    throw std::runtime_error(
        "too many files are open for an emulated card; raise the limit (ulimit -n)");
  try {
    connection_ = connect();
    watcher_ = std::make_unique<std::thread>([this] { watch(); });
  } catch (...) {
    end_card(connection_);
    close(wake_event_);
    throw;
  }
}

bool CardProcess::owned_here() const { return fork_count() == owner_; }

CardProcess::~CardProcess() {
  if (!owned_here()) {
    static_cast<void>(watcher_.release());  // the child's threads may reuse its id
    close_inherited(connection_);
    close(wake_event_);
    return;
  }
  stopping_.store(true);
  wake_watcher();
  watcher_->join();
  end_card(connection_);
  close(wake_event_);
}

void CardProcess::wake_watcher() {
  const uint64_t one = 1;
  while (write(wake_event_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

void CardProcess::watch() {
  for (;;) {
    const short sending = has_unsent() ? POLLOUT : 0;
    pollfd events[2] = {{connection_.socket, sending, 0}, {wake_event_, POLLIN, 0}};
    if (poll(events, 2, -1) < 0) continue;
    if (stopping_.load() || leaving_.load()) return;
    if ((events[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) break;
    uint64_t count = 0;
    if (events[1].revents != 0 && read(wake_event_, &count, sizeof(count)) < 0) continue;
    if (events[0].revents != 0) send_unsent();
  }
  on_death_();
  if (!connection_.is_own || connection_.process < 0) return;
  // The socket may close before the process ends; the process must end too.
  pidfd_send_signal(connection_.process, SIGKILL, nullptr, 0);
  wait_for_end(connection_.process);
}

bool CardProcess::has_unsent() {
  std::lock_guard lock(send_mutex_);
  return !unsent_.empty();
}

SendResult CardProcess::send_unsent() {
  std::lock_guard lock(send_mutex_);
  while (!unsent_.empty()) {
    const SendResult result = try_send(connection_.socket, unsent_.front());
    if (result == SendResult::kGone) unsent_.clear();
    if (result != SendResult::kSent) return result;
    unsent_.pop_front();
  }
  return SendResult::kSent;
}

// Requests keep the order in which they were posted.
SendResult CardProcess::send(const std::string& text, const std::vector<int>& descriptors) {
  const SendResult earlier = send_unsent();
  return earlier == SendResult::kSent ? try_send(connection_.socket, text, descriptors) : earlier;
}

SendResult CardProcess::send_before(Clock::time_point deadline, const std::string& text,
                                    const std::vector<int>& descriptors) {
  for (;;) {
    const SendResult result = send(text, descriptors);
    if (result != SendResult::kFull) return result;
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (rest.count() <= 0 || !wait_for_room(connection_.socket, rest)) return result;
    std::this_thread::sleep_for(kRetryPause);  // the shortage may be of something else than room
  }
}

// Answers to earlier requests, whose callers gave up, are dropped. kFull: no answer in time.
SendResult CardProcess::receive_before(Clock::time_point deadline, uint64_t number,
                                       Message& answer) {
  for (;;) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (!wait_for_message(connection_.socket, rest)) return SendResult::kFull;
    if (!receive_message(connection_.socket, answer)) return SendResult::kGone;
    char* behind = nullptr;
    const bool is_own = std::strtoull(answer.text.c_str(), &behind, 10) == number;
    if (is_own && *behind == ' ') {
      answer.text.erase(0, static_cast<size_t>(behind - answer.text.c_str()) + 1);
      return SendResult::kSent;
    }
    close_descriptors(answer.descriptors);
  }
}

bool CardProcess::post(const std::string& request) {
  if (!owned_here()) return false;
  {
    std::lock_guard lock(send_mutex_);
    unsent_.push_back("0 " + request);
  }
  const SendResult result = send_unsent();
  if (result == SendResult::kFull) wake_watcher();
  return result != SendResult::kGone;
}

bool CardProcess::take_turn(Clock::time_point deadline) {
  std::unique_lock lock(turn_mutex_);
  if (!turn_ended_.wait_until(lock, deadline, [this] { return !is_calling_; })) return false;
  is_calling_ = true;
  return true;
}

void CardProcess::end_turn() {
  {
    std::lock_guard lock(turn_mutex_);
    is_calling_ = false;
  }
  turn_ended_.notify_one();
}

CardAnswer CardProcess::leave() {
  leaving_.store(true);
  return call("leave", {}, kLeaveTimeout);
}

void CardProcess::end() {
  if (connection_.process >= 0) pidfd_send_signal(connection_.process, SIGKILL, nullptr, 0);
}

CardAnswer CardProcess::call(const std::string& request, const std::vector<int>& descriptors,
                             std::chrono::milliseconds timeout) {
  CardAnswer answer;
  if (!owned_here()) {
    answer.problem = "the card was opened before this process was forked; open it again";
    return answer;
  }
  if (request.size() > kMaxRequestBytes) {
    answer.problem = "this asks " + std::to_string(request.size()) +
                     " bytes of the emulated card, which takes " +
                     std::to_string(kMaxRequestBytes) +
                     ": use fewer compute units and links, or shorter names";
    return answer;
  }
  const auto deadline = Clock::now() + timeout;
  answer.problem = "the emulated card's process gave no answer for " +
                   std::to_string(timeout.count()) +
                   " ms; it is stopped or busy: continue it, or end it (tandem-card)";
  answer.is_missing = true;
  if (!take_turn(deadline)) return answer;
  const struct Turn {
    CardProcess& process;
    ~Turn() { process.end_turn(); }
  } turn{*this};
  const uint64_t number = ++last_number_;
  Message message;
  SendResult result = send_before(deadline, std::to_string(number) + " " + request, descriptors);
  if (result == SendResult::kFull) return answer;
  if (result == SendResult::kSent) result = receive_before(deadline, number, message);
  if (result == SendResult::kFull) {
    post("withdraw " + std::to_string(number));
    return answer;
  }
  answer.is_missing = false;
  answer.problem = "the emulated card's process has ended";
  if (result == SendResult::kGone) return answer;
  take_text(message, answer);
  return answer;
}

}  // namespace tandem::emulation
