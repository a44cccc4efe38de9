// SPDX-License-Identifier: Apache-2.0
//
// Scores of a text on a PipelineTrainer (declared in pipeline_trainer.h).
//
// All ranks go through the same batches; the last stage's rank has the losses, the others zeros. A
// rank goes on with the next batch as soon as it has sent this one on, but not far: a slow stage
// would have to hold all batches before it, and the fast ones would wait for it past their timeout.
#include <algorithm>
#include <stdexcept>

#include "collectives/collective.h"
#include "collectives/group_state.h"
#include "training/pipeline/pipeline_trainer.h"

namespace tandem::training {
namespace {

constexpr int kBatchesAhead = 16;  // between two points where all ranks meet

}  // namespace

class PipelineTrainer::ForwardOnly final : public Computation {
 public:
  explicit ForwardOnly(PipelineTrainer& trainer) : trainer_(trainer) {}

  double backward(const TokenBatch&, float, GradientListener*) override {
    throw std::logic_error("scores have no backward pass");
  }

  void losses(const TokenBatch& batch, float* losses) override {
    std::fill_n(losses, batch.rows * batch.columns, 0.0f);
    if (trainer_.group_ == nullptr) return pass(nullptr, 0, batch, losses);
    collectives::Group::State& state = trainer_.group_->state();
    const std::uint64_t ticket = state.take_ticket();
    state.run("score", ticket, Deadline::after(timeout()), [&](collectives::Call&) {
      pass(&state.transport(), static_cast<std::uint32_t>(ticket), batch, losses);
    });
    if (++batches_ % kBatchesAhead == 0) collectives::barrier(*trainer_.group_, {timeout()});
  }

 private:
  std::chrono::milliseconds timeout() const { return trainer_.options_.reduce.timeout; }

  void pass(transport::Transport* transport, std::uint32_t call, const TokenBatch& batch,
            float* losses) {
    const StagePlan& plan = trainer_.plan_;
    StageMessages messages(transport, call, plan.shape, timeout());
    for (int stage = 0; stage < plan.shape.stages(); ++stage) {
      if (stage % plan.shape.ranks != trainer_.rank()) continue;
      transport::Payload before;
      if (stage > 0) before = messages.receive({StageMessage::kActivation, stage - 1, 0});
      transport::ByteBuffer x(before.bytes().begin(), before.bytes().end());
      for (int layer = plan.begin(stage); layer < plan.end(stage); ++layer) {
        one_layer(layer, batch, x, losses);
      }
      if (stage + 1 < plan.shape.stages()) {
        messages.send({StageMessage::kActivation, stage, 0}, std::move(x));
      }
    }
    messages.finish();
  }

  void one_layer(int layer, const TokenBatch& batch, transport::ByteBuffer& x, float* losses) {
    LayerComputation& passes = trainer_.layers_.at(layer)->passes();
    const auto* from = reinterpret_cast<const float*>(x.data());
    if (layer + 1 == trainer_.plan_.num_layers) return passes.losses(batch, from, losses);
    transport::ByteBuffer y;
    y.resize(static_cast<std::size_t>(batch.rows) * static_cast<std::size_t>(batch.columns) *
             static_cast<std::size_t>(trainer_.parts_.width) * sizeof(float));
    passes.forward({0, false, false, trainer_.current_depth(), trainer_.current_skew()}, batch,
                   x.empty() ? nullptr : from, reinterpret_cast<float*>(y.data()));
    x = std::move(y);
  }

  PipelineTrainer& trainer_;
  int batches_ = 0;
};

void PipelineTrainer::evaluate_now() {
  if (!parts_.score) return;
  ForwardOnly forward(*this);
  const Likelihood own = parts_.score(forward);
  std::vector<double> sums = {own.nll};
  if (group_ != nullptr) {
    collectives::ReduceOptions sum;
    sum.timeout = options_.reduce.timeout;
    collectives::allreduce(*group_, collectives::DenseView::of(sums), sum);
  }
  if (own.tokens == 0) return;
  EvaluationFigures figures;
  figures.step = step_;
  figures.mean_nll = sums[0] / static_cast<double>(own.tokens);
  figures.tokens = own.tokens;
  for (TrainingLog* log : logs_) log->evaluation(figures);
}

}  // namespace tandem::training
