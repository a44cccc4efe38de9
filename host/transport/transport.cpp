// SPDX-License-Identifier: Apache-2.0
//
// Shared by all transports: argument checks, point-to-point calls, and the counting of traffic.
#include "transport/transport.h"

#include <atomic>
#include <utility>

#include "transport/message_observer.h"

namespace tandem::transport {
namespace {

std::atomic<MessageObserver*> message_observer{nullptr};
thread_local const char* message_operation = "message";
thread_local const char* message_phase = "message";
thread_local int starts_under_way = 0;

// A transport over another one starts that one's step within its own.
class StartUnderWay {
 public:
  StartUnderWay() { ++starts_under_way; }
  ~StartUnderWay() { --starts_under_way; }
  StartUnderWay(const StartUnderWay&) = delete;
  StartUnderWay& operator=(const StartUnderWay&) = delete;

  bool is_outermost() const { return starts_under_way == 1; }
};

}  // namespace

void set_message_observer(MessageObserver* observer) { message_observer = observer; }

MessageOperation::MessageOperation(const char* operation) : before_(message_operation) {
  message_operation = operation;
}
MessageOperation::~MessageOperation() { message_operation = before_; }

MessagePhase::MessagePhase(const char* phase) : before_(message_phase) { message_phase = phase; }
MessagePhase::~MessagePhase() { message_phase = before_; }

Transport::Transport(int rank, int world) : rank_(rank), world_(world), traffic_(world) {
  if (world < 1 || rank < 0 || rank >= world) {
    throw Error("transport", "rank " + std::to_string(rank) + " of " + std::to_string(world) +
                                 " ranks is not a rank; ranks count from 0");
  }
}

std::unique_ptr<Exchange> Transport::start(std::vector<Outgoing> sends,
                                           std::vector<Source> sources) {
  for (const Outgoing& send : sends) {
    TANDEM_CHECK(send.peer >= 0 && send.peer < world_ && send.peer != rank_);
  }
  for (const Source& source : sources) {
    TANDEM_CHECK(source.peer >= 0 && source.peer < world_ && source.peer != rank_);
  }
  std::vector<std::pair<int, std::uint64_t>> sizes;
  sizes.reserve(sends.size());
  for (const Outgoing& send : sends) sizes.emplace_back(send.peer, send.payload.size());
  const StartUnderWay start;
  auto exchange = do_start(std::move(sends), std::move(sources));
  traffic_.count_step();
  for (const auto& [peer, bytes] : sizes) traffic_.count_sent(peer, bytes);
  MessageObserver* const observer = message_observer.load(std::memory_order_acquire);
  if (observer != nullptr && start.is_outermost()) {
    for (const auto& [peer, bytes] : sizes) {
      observer->sent(
          {kind(), whole_rank(rank_), whole_rank(peer), bytes, message_operation, message_phase});
    }
  }
  return exchange;
}

void Transport::send(int peer, Tag tag, Payload payload, Deadline deadline) {
  std::vector<Outgoing> sends;
  sends.push_back({peer, std::move(payload), tag});
  start(std::move(sends), {})->finish(deadline);
}

Payload Transport::receive(int peer, Tag tag, Deadline deadline) {
  const auto exchange = start({}, {{peer, tag}});
  try {
    Payload payload = std::move(exchange->next(deadline)->payload);
    exchange->finish(deadline);
    return payload;
  } catch (const TransportError& error) {
    close(peer, plain_text(error));
    throw;
  }
}

std::optional<Incoming> Exchange::next(Deadline deadline) {
  auto message = do_next(deadline);
  if (message) traffic_.count_received(message->peer, message->payload.size());
  return message;
}

}  // namespace tandem::transport
