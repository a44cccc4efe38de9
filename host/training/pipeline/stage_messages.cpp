// SPDX-License-Identifier: Apache-2.0
//
// Tags are those of a call of the collectives: its number, and the message's number in it.
#include "training/pipeline/stage_messages.h"

#include <utility>

#include "common/error.h"

namespace tandem::training {
namespace {

constexpr int kKinds = 3, kTagsOfCall = 1 << 12;

}  // namespace

StageMessages::StageMessages(transport::Transport* transport, std::uint32_t call,
                             const PipelineShape& shape, std::chrono::milliseconds timeout)
    : transport_(transport), call_(call), shape_(shape), timeout_(timeout) {}

StageMessages::~StageMessages() {
  if (!finished_ && transport_ != nullptr) transport_->abort("a step of the pipeline has failed");
}

void StageMessages::check(const PipelineShape& shape) {
  const int most = kTagsOfCall / kKinds / shape.chunks;
  if (shape.micro_batches <= most) return;
  throw Error("train", "--accumulate " + std::to_string(shape.micro_batches) +
                           ": a pipeline takes at most " + std::to_string(most) +
                           " micro-batches in a step; take a larger --batch");
}

int StageMessages::sender(const MessageName& name) const {
  if (name.kind == StageMessage::kTied) return rank_of(shape_.stages() - 1);
  return rank_of(name.kind == StageMessage::kActivation ? name.boundary : name.boundary + 1);
}

int StageMessages::receiver(const MessageName& name) const {
  if (name.kind == StageMessage::kTied) return 0;
  return rank_of(name.kind == StageMessage::kActivation ? name.boundary + 1 : name.boundary);
}

transport::Tag StageMessages::tag(const MessageName& name) const {
  const int chunk = name.boundary / shape_.ranks;
  const int number =
      (name.micro_batch * shape_.chunks + chunk) * kKinds + static_cast<int>(name.kind);
  return ((call_ & 0xfffu) << 12) | static_cast<std::uint32_t>(number);
}

void StageMessages::send(const MessageName& name, transport::ByteBuffer&& bytes) {
  transport::Payload payload(std::move(bytes));
  if (sender(name) == receiver(name)) {
    // One rank alone has boundaries that all are its own: their number tells them apart.
    own_.insert_or_assign(tag(name), std::move(payload));
    return;
  }
  std::vector<transport::Outgoing> outgoing;
  outgoing.push_back({receiver(name), std::move(payload), tag(name)});
  sends_.push_back(transport_->start(std::move(outgoing), {}));
}

void StageMessages::expect(const MessageName& name) {
  if (sender(name) == receiver(name) || expected_.contains(tag(name))) return;
  expected_.emplace(tag(name), transport_->start({}, {{sender(name), tag(name)}}));
}

transport::Payload StageMessages::receive(const MessageName& name) {
  if (sender(name) == receiver(name)) {
    auto found = own_.extract(tag(name));
    TANDEM_CHECK(!found.empty());
    return std::move(found.mapped());
  }
  expect(name);
  auto exchange = std::move(expected_.extract(tag(name)).mapped());
  const Deadline deadline = Deadline::after(timeout_);
  auto message = exchange->next(deadline);
  TANDEM_CHECK(message.has_value());
  exchange->finish(deadline);
  return std::move(message->payload);
}

void StageMessages::finish() {
  TANDEM_CHECK(expected_.empty());
  for (const auto& exchange : sends_) exchange->finish(Deadline::after(timeout_));
  finished_ = true;
}

}  // namespace tandem::training
