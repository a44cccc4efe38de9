// SPDX-License-Identifier: Apache-2.0
//
// StageMessages: what the stages of a pipeline tell each other in one step.
//
// A boundary b lies between stages b and b + 1. Activations cross it forward, their gradients
// backward; the gradient of a tied output matrix goes from the last stage to the first. Every
// message is known by kind, boundary and micro-batch. Stages of one rank hand over in memory.
// expect() asks for a message ahead, so that it can come while the rank computes. Ownership:
// borrows the transport. It must be finished, or the transport is aborted. Threads: one. Errors:
// TransportError at the latest after `timeout` without the message.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <vector>

#include "training/pipeline/pass_order.h"
#include "transport/transport.h"

namespace tandem::training {

enum class StageMessage : std::uint8_t { kActivation, kGradient, kTied };

struct MessageName {
  StageMessage kind = StageMessage::kActivation;
  int boundary = 0;
  int micro_batch = 0;
};

class StageMessages {
 public:
  // transport: null for one rank. call: a number of this step, equal on all ranks, that no call of
  // the group has.
  StageMessages(transport::Transport* transport, std::uint32_t call, const PipelineShape& shape,
                std::chrono::milliseconds timeout);
  ~StageMessages();
  StageMessages(const StageMessages&) = delete;
  StageMessages& operator=(const StageMessages&) = delete;

  // Error where a step has more messages than tags.
  static void check(const PipelineShape& shape);

  void send(const MessageName& name, transport::ByteBuffer&& bytes);
  void expect(const MessageName& name);
  transport::Payload receive(const MessageName& name);
  // Waits until everything is sent.
  void finish();

 private:
  int rank_of(int stage) const { return stage % shape_.ranks; }
  int sender(const MessageName& name) const;
  int receiver(const MessageName& name) const;
  transport::Tag tag(const MessageName& name) const;

  transport::Transport* transport_;
  const std::uint32_t call_;
  const PipelineShape shape_;
  const std::chrono::milliseconds timeout_;
  std::vector<std::unique_ptr<transport::Exchange>> sends_;
  std::map<transport::Tag, std::unique_ptr<transport::Exchange>> expected_;
  std::map<transport::Tag, transport::Payload> own_;  // from a stage of this rank to another
  bool finished_ = false;
};

}  // namespace tandem::training
