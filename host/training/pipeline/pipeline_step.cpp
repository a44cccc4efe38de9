// SPDX-License-Identifier: Apache-2.0
//
// Before a pass the rank asks for what the next one needs. So a message travels while it computes.
#include "training/pipeline/pipeline_step.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

namespace tandem::training {
namespace {

using transport::ByteBuffer;
using transport::Payload;

class Stopwatch {
 public:
  Stopwatch(double& seconds, LayerClock clock)
      : seconds_(seconds), clock_(clock), begin_(seconds_now(clock)) {}
  ~Stopwatch() { seconds_ += seconds_now(clock_) - begin_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  const LayerClock clock_;
  const double begin_;
};

// Values of a message, which may be absent.
const float* floats(std::span<const std::byte> bytes) {
  return bytes.empty() ? nullptr : reinterpret_cast<const float*>(bytes.data());
}
float* floats(ByteBuffer& bytes) {
  return bytes.empty() ? nullptr : reinterpret_cast<float*>(bytes.data());
}

class StepRun {
 public:
  StepRun(const StepInput& input, RankLayers& layers, StageMessages& messages)
      : input_(input), layers_(layers), messages_(messages), shape_(input.plan.shape) {
    const bool has_last = layers_.contains(input.plan.num_layers - 1);
    if (has_last) outcome_.losses.resize(static_cast<std::size_t>(shape_.micro_batches));
  }

  StepOutcome run() {
    const std::vector<Pass> passes = pass_order(shape_, input_.rank);
    for (std::size_t at = 0; at < passes.size(); ++at) {
      Payload message;
      if (const auto name = needs(passes[at])) message = receive(*name);
      if (at + 1 < passes.size()) expect(passes[at + 1]);
      make(passes[at], message.bytes());
      if (input_.after_pass) input_.after_pass();
    }
    if (input_.first_trained > 0) add_shared_alone();
    return std::move(outcome_);
  }

 private:
  int stage_of(const Pass& pass) const { return pass.chunk * shape_.ranks + input_.rank; }
  bool is_last(int stage) const { return stage + 1 == shape_.stages(); }
  bool is_frozen(int stage) const { return input_.plan.end(stage) <= input_.first_trained; }

  Stopwatch time_of(double& seconds) {
    outcome_.readings += 2;
    return Stopwatch(seconds, input_.clock);
  }

  // The message that a pass begins with.
  std::optional<MessageName> needs(const Pass& pass) const {
    const int stage = stage_of(pass);
    if (pass.kind == PassKind::kForward && stage > 0) {
      return MessageName{StageMessage::kActivation, stage - 1, pass.micro_batch};
    }
    if (pass.kind == PassKind::kBackward && !is_last(stage) && !is_frozen(stage)) {
      return MessageName{StageMessage::kGradient, stage, pass.micro_batch};
    }
    return {};
  }

  void expect(const Pass& pass) {
    if (const auto name = needs(pass)) messages_.expect(*name);
  }

  Payload receive(const MessageName& name) {
    const Stopwatch watch(outcome_.waited_seconds, LayerClock::kWall);
    return messages_.receive(name);
  }

  void make(const Pass& pass, std::span<const std::byte> message) {
    if (pass.kind == PassKind::kForward) return forward(pass, message);
    if (pass.kind == PassKind::kBackward) return backward(pass, message);
    const int stage = stage_of(pass);
    for (int layer = input_.plan.end(stage) - 1; layer >= input_.plan.begin(stage); --layer) {
      const Stopwatch watch = time_of(outcome_.seconds[layer].weights);
      layers_.at(layer)->passes().weights(pass.micro_batch);
    }
  }

  ByteBuffer activation(const TokenBatch& batch) const {
    ByteBuffer bytes;
    bytes.resize(static_cast<std::size_t>(batch.rows) * static_cast<std::size_t>(batch.columns) *
                 static_cast<std::size_t>(input_.width) * sizeof(float));
    return bytes;
  }

  void forward(const Pass& pass, std::span<const std::byte> message) {
    const int stage = stage_of(pass);
    const TokenBatch batch = input_.batch(pass.micro_batch);
    ByteBuffer x, y;
    for (int layer = input_.plan.begin(stage); layer < input_.plan.end(stage); ++layer) {
      const LayerPass one{pass.micro_batch, layer >= input_.first_trained,
                          layer > input_.first_trained, input_.depth, input_.skew};
      if (layer + 1 < input_.plan.num_layers) y = activation(batch);
      const float* from = layer == input_.plan.begin(stage) ? floats(message) : floats(x);
      const Stopwatch watch = time_of(outcome_.seconds[layer].forward);
      const double loss = layers_.at(layer)->passes().forward(one, batch, from, floats(y));
      if (layer + 1 == input_.plan.num_layers) {
        outcome_.losses[static_cast<std::size_t>(pass.micro_batch)] = loss;
      }
      std::swap(x, y);
    }
    rows_ = batch.rows;
    columns_ = batch.columns;
    if (!is_last(stage)) {
      messages_.send({StageMessage::kActivation, stage, pass.micro_batch}, std::move(x));
    }
  }

  void backward(const Pass& pass, std::span<const std::byte> message) {
    const int stage = stage_of(pass);
    if (is_frozen(stage)) return;
    const int begin = input_.plan.begin(stage);
    ByteBuffer dy, dx;
    for (int layer = input_.plan.end(stage) - 1; layer >= std::max(begin, input_.first_trained);
         --layer) {
      dx = layer > input_.first_trained ? activation({nullptr, nullptr, rows_, columns_})
                                        : ByteBuffer();
      const float* from = layer == input_.plan.end(stage) - 1 ? floats(message) : floats(dy);
      const Stopwatch watch = time_of(outcome_.seconds[layer].backward);
      backward_layer(layer, pass.micro_batch, from, floats(dx));
      std::swap(dy, dx);
    }
    if (begin > input_.first_trained) {
      messages_.send({StageMessage::kGradient, stage - 1, pass.micro_batch}, std::move(dy));
    }
  }

  void backward_layer(int layer, int micro, const float* dy, float* dx) {
    TrainedLayer& one = *layers_.at(layer);
    if (layer == 0 && one.spec().tied) return backward_shared(one, micro, dy);
    const bool is_output = layer + 1 == input_.plan.num_layers;
    const bool put_off = shape_.order == PassOrder::kZeroBubble && !is_output;
    one.passes().backward(micro, input_.scale, dy, dx, put_off);
    if (!one.spec().is_tied_output()) return;
    // The whole gradient of this micro-batch goes to the embedding's holder.
    const auto gradient = one.parameters().gradient(one.shared_matrix());
    ByteBuffer bytes;
    bytes.resize(gradient.size_bytes());
    std::memcpy(bytes.data(), gradient.data(), bytes.size());
    std::ranges::fill(gradient, 0.0f);
    messages_.send({StageMessage::kTied, shape_.stages() - 1, micro}, std::move(bytes));
  }

  Payload receive_shared(int micro) {
    return receive({StageMessage::kTied, shape_.stages() - 1, micro});
  }

  // One sum of the output's and the embedding's gradient, then added to those of other
  // micro-batches: the order of a pass through the whole model.
  void backward_shared(TrainedLayer& embedding, int micro, const float* dy) {
    const auto gradient = embedding.parameters().gradient(embedding.shared_matrix());
    const std::vector<float> before(gradient.begin(), gradient.end());
    std::ranges::fill(gradient, 0.0f);
    embedding.passes().backward(micro, input_.scale, dy, nullptr, false);
    const Payload message = receive_shared(micro);
    const float* of_output = floats(message.bytes());
    for (std::size_t at = 0; at < gradient.size(); ++at) {
      gradient[at] = before[at] + (of_output[at] + gradient[at]);
    }
  }

  // A frozen embedding that is the output matrix too still learns as such.
  void add_shared_alone() {
    if (!layers_.contains(0) || !layers_.at(0)->spec().tied) return;
    TrainedLayer& embedding = *layers_.at(0);
    const auto gradient = embedding.parameters().gradient(embedding.shared_matrix());
    for (int micro = 0; micro < shape_.micro_batches; ++micro) {
      const Payload message = receive_shared(micro);
      const float* of_output = floats(message.bytes());
      for (std::size_t at = 0; at < gradient.size(); ++at) gradient[at] += of_output[at];
    }
  }

  const StepInput& input_;
  RankLayers& layers_;
  StageMessages& messages_;
  const PipelineShape shape_;
  int rows_ = 0, columns_ = 0;
  StepOutcome outcome_;
};

}  // namespace

int StagePlan::stage_of(int layer) const {
  const auto after = std::ranges::upper_bound(cuts, layer);
  return static_cast<int>(after - cuts.begin());
}

double seconds_now(LayerClock clock) {
  timespec now{};
  clock_gettime(clock == LayerClock::kWall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds_of_reading(LayerClock clock) {
  constexpr int kReadings = 1000;
  const double begin = seconds_now(LayerClock::kWall);
  for (int reading = 0; reading < kReadings; ++reading) seconds_now(clock);
  return (seconds_now(LayerClock::kWall) - begin) / kReadings;
}

StepOutcome run_step(const StepInput& input, RankLayers& layers, StageMessages& messages) {
  return StepRun(input, layers, messages).run();
}

}  // namespace tandem::training
