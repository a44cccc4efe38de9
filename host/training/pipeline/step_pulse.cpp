// SPDX-License-Identifier: Apache-2.0
//
// The words of a rank have ascending tags, so a peer takes them in order.
#include "training/pipeline/step_pulse.h"

#include <utility>

#include "common/error.h"

namespace tandem::training {
namespace {

constexpr std::byte kWorks{1}, kIsOver{2};
constexpr std::uint32_t kWordsOfCall = 1U << 12;
constexpr int kMostSilence = 3, kWordsInTimeout = 4;

}  // namespace

StepPulse::StepPulse(transport::Transport* transport, std::uint32_t call,
                     std::chrono::milliseconds timeout)
    : transport_(transport), call_(call), timeout_(timeout) {}

StepPulse::~StepPulse() {
  if (!finished_ && transport_ != nullptr) transport_->abort("a step of the pipeline has failed");
}

transport::Tag StepPulse::tag(std::uint32_t number) const {
  return ((call_ & 0xfffu) << 12) | number % kWordsOfCall;
}

void StepPulse::tell(std::byte word) {
  std::vector<transport::Outgoing> outgoing;
  for (int peer = 0; peer < transport_->world(); ++peer) {
    if (peer == transport_->rank()) continue;
    outgoing.push_back(
        {peer, transport::Payload(transport::ByteBuffer(std::size_t{1}, word)), tag(told_)});
  }
  ++told_;
  sends_.push_back(transport_->start(std::move(outgoing), {}));
}

void StepPulse::beat() {
  if (transport_ == nullptr || Clock::now() - last_ < timeout_ / kWordsInTimeout) return;
  last_ = Clock::now();
  tell(kWorks);
}

void StepPulse::finish() {
  if (transport_ == nullptr) return;
  tell(kIsOver);
  for (int peer = 0; peer < transport_->world(); ++peer) {
    if (peer == transport_->rank()) continue;
    std::byte word = kWorks;
    for (std::uint32_t number = 0; word != kIsOver; ++number) {
      const Deadline deadline = Deadline::after(kMostSilence * timeout_);
      const auto message = transport_->receive(peer, tag(number), deadline);
      TANDEM_CHECK_OP(message.size(), ==, std::size_t{1});
      word = message.bytes().front();
    }
  }
  for (const auto& exchange : sends_) exchange->finish(Deadline::after(timeout_));
  finished_ = true;
}

}  // namespace tandem::training
