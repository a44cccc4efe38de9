// SPDX-License-Identifier: Apache-2.0
//
// StageMessages: the messages between the stages of a pipeline in one step.
//
// A boundary b lies between stages b and b + 1. Activations cross it forward, their gradients
// backward; the gradient of a tied output matrix goes from the last stage to the first. Kind,
// boundary and micro-batch identify a message. Stages of one rank exchange them in memory. expect()
// requests a message early, so that it can arrive while the rank computes. Ownership: borrows the
// transport. Without finish() the destructor aborts the transport. Threads: one. Errors:
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
  // transport: null for one rank. call: a number of this step, equal on all ranks and different
  // from the number of every other call of the group.
  StageMessages(transport::Transport* transport, std::uint32_t call, const PipelineShape& shape,
                std::chrono::milliseconds timeout);
  ~StageMessages();
  StageMessages(const StageMessages&) = delete;
  StageMessages& operator=(const StageMessages&) = delete;

  // Throws Error if a step has more messages than there are tags.
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
