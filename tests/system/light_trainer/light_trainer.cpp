// SPDX-License-Identifier: Apache-2.0
//
// libtandem_trainer.so without libtorch: for tests of what is round the passes of `tandem train`.
//
// libtorch costs most of a second of processor time per process, and these tests start dozens. The
// next token depends on the last one alone: its logits are the dot products of the token's row of
// "token_embd.weight" [vocabulary, width] with all rows of the output. A click's log odds are
// linear in numbers and bags. Other parameters have gradients of zeros. Deterministic. Threads:
// one.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "training/trainer/computation.h"
#include "training/trainer/layer_computation.h"
#include "training/trainer/lstm_computation.h"
#include "training/trainer/recommender_computation.h"

namespace tandem::test {
namespace {

using namespace training;

// The rows whose dot products with a token's row are logits: "output.weight", or the embedding.
class LightOutput {
 public:
  explicit LightOutput(const ParameterMemory& rows)
      : rows_(rows), odds_(static_cast<std::size_t>(rows.shape[0])) {}

  std::int64_t width() const { return rows_.shape[1]; }

  // The loss of `target` after a token with the row x.
  float loss(const float* x, std::int32_t target) {
    for (std::size_t next = 0; next < odds_.size(); ++next) {
      const float* row = rows_.values + static_cast<std::int64_t>(next) * width();
      odds_[next] = 0;
      for (std::int64_t i = 0; i < width(); ++i) odds_[next] += x[i] * row[i];
    }
    const float most = *std::max_element(odds_.begin(), odds_.end());
    float sum = 0;
    for (float& value : odds_) sum += value = std::exp(value - most);
    for (float& value : odds_) value /= sum;
    return -std::log(odds_[static_cast<std::size_t>(target)]);
  }

  // After loss(): adds to the gradient of the rows; dx: that of x, overwritten.
  void backward(const float* x, std::int32_t target, float scale, float* dx) {
    odds_[static_cast<std::size_t>(target)] -= 1;
    std::fill_n(dx, width(), 0.0f);
    for (std::size_t next = 0; next < odds_.size(); ++next) {
      const std::int64_t at = static_cast<std::int64_t>(next) * width();
      for (std::int64_t i = 0; i < width(); ++i) {
        dx[i] += scale * odds_[next] * rows_.values[at + i];
        rows_.gradient[at + i] += scale * odds_[next] * x[i];
      }
    }
  }

 private:
  ParameterMemory rows_;
  std::vector<float> odds_;
};

const ParameterMemory* find(const ParameterMemory* parameters, std::size_t count,
                            std::string_view name) {
  const auto* const end = parameters + count;
  const auto* const found =
      std::find_if(parameters, end, [&](const ParameterMemory& each) { return each.name == name; });
  return found == end ? nullptr : found;
}

ParameterMemory embedding_of(const ParameterMemory* parameters, std::size_t count) {
  const auto* const rows = find(parameters, count, "token_embd.weight");
  if (rows == nullptr) throw std::runtime_error("the model has no token_embd.weight");
  return *rows;
}

ParameterMemory output_of(const ParameterMemory* parameters, std::size_t count) {
  const auto* const rows = find(parameters, count, "output.weight");
  return rows == nullptr ? embedding_of(parameters, count) : *rows;
}

class LightComputation final : public Computation {
 public:
  LightComputation(const ParameterMemory* parameters, std::size_t count)
      : count_(count),
        rows_(embedding_of(parameters, count)),
        output_(output_of(parameters, count)),
        dx_(static_cast<std::size_t>(output_.width())) {}

  double backward(const TokenBatch& batch, float scale, GradientListener* listener) override {
    double sum = 0;
    for (int at = 0; at < batch.rows * batch.columns; ++at) {
      if (batch.targets[at] == kNotScored) continue;
      const std::int64_t row = batch.tokens[at] * output_.width();
      sum += output_.loss(rows_.values + row, batch.targets[at]);
      output_.backward(rows_.values + row, batch.targets[at], scale, dx_.data());
      for (std::size_t i = 0; i < dx_.size(); ++i) rows_.gradient[row + i] += dx_[i];
    }
    for (std::size_t at = count_; listener != nullptr && at > 0; --at) listener->ready(at - 1);
    return sum;
  }

  void losses(const TokenBatch& batch, float* losses) override {
    for (int at = 0; at < batch.rows * batch.columns; ++at) {
      const float* x = rows_.values + batch.tokens[at] * output_.width();
      const bool scored = batch.targets[at] != kNotScored;
      losses[at] = scored ? output_.loss(x, batch.targets[at]) : 0;
    }
  }

 private:
  std::size_t count_;
  ParameterMemory rows_;
  LightOutput output_;
  std::vector<float> dx_;
};

// Blocks pass on what they get. An untied model has the bits of LightComputation.
class LightLayer final : public LayerComputation {
 public:
  LightLayer(DecoderPart part, std::int64_t width, const ParameterMemory* parameters,
             std::size_t count)
      : part_(part), width_(width) {
    if (part == DecoderPart::kEmbedding) rows_ = embedding_of(parameters, count);
    if (part == DecoderPart::kOutput) output_.emplace(output_of(parameters, count));
  }

  double forward(const LayerPass& pass, const TokenBatch& batch, const float* x,
                 float* y) override {
    const auto tokens = static_cast<std::size_t>(batch.rows * batch.columns);
    Kept kept{{batch.tokens, batch.tokens + tokens}, {batch.targets, batch.targets + tokens}, {}};
    double sum = 0;
    if (part_ == DecoderPart::kEmbedding) {
      for (std::size_t at = 0; at < tokens; ++at) {
        std::copy_n(rows_.values + kept.tokens[at] * width_, width_, y + row(at));
      }
    } else if (part_ == DecoderPart::kBlock) {
      std::copy_n(x, row(tokens), y);
    } else {
      kept.x.assign(x, x + row(tokens));
      for (std::size_t at = 0; at < tokens; ++at) {
        if (kept.targets[at] != kNotScored) sum += output_->loss(x + row(at), kept.targets[at]);
      }
    }
    if (pass.keep) kept_.insert_or_assign(pass.slot, std::move(kept));
    return sum;
  }

  void backward(int slot, float scale, const float* dy, float* dx, bool) override {
    const Kept kept = std::move(kept_.at(slot));
    kept_.erase(slot);
    std::vector<float> unused(static_cast<std::size_t>(width_));
    for (std::size_t at = 0; at < kept.tokens.size(); ++at) {
      float* to = dx == nullptr ? unused.data() : dx + row(at);
      if (part_ == DecoderPart::kBlock) {
        std::copy_n(dy + row(at), width_, to);
      } else if (part_ == DecoderPart::kEmbedding) {
        float* gradient = rows_.gradient + kept.tokens[at] * width_;
        for (std::int64_t i = 0; i < width_; ++i) gradient[i] += dy[row(at) + i];
      } else if (kept.targets[at] == kNotScored) {
        std::fill_n(to, width_, 0.0f);
      } else {
        (void)output_->loss(kept.x.data() + row(at), kept.targets[at]);
        output_->backward(kept.x.data() + row(at), kept.targets[at], scale, to);
      }
    }
  }

  void weights(int) override {}

  void losses(const TokenBatch& batch, const float* x, float* losses) override {
    for (int at = 0; at < batch.rows * batch.columns; ++at) {
      const bool scored = batch.targets[at] != kNotScored;
      losses[at] = scored ? output_->loss(x + row(at), batch.targets[at]) : 0;
    }
  }

 private:
  struct Kept {
    std::vector<std::int32_t> tokens, targets;
    std::vector<float> x;  // of the output
  };

  std::int64_t row(std::size_t at) const { return static_cast<std::int64_t>(at) * width_; }

  DecoderPart part_;
  std::int64_t width_;
  ParameterMemory rows_;
  std::optional<LightOutput> output_;
  std::map<int, Kept> kept_;  // by slot
};

// The numbers' factors are the first row of "bottom.0.weight"; those of the bags are fixed.
class LightRecommender final : public RecommenderComputation {
 public:
  LightRecommender(const RecommenderSizes& sizes, const ParameterMemory* parameters,
                   std::size_t count)
      : sizes_(sizes), count_(count) {
    for (std::size_t at = 0; at < count; ++at) {
      if (std::string_view(parameters[at].name) == "bottom.0.weight") factors_ = parameters[at];
    }
    if (factors_.name == nullptr) throw std::runtime_error("the model has no bottom.0.weight");
  }

  double backward(const RecommenderBatch& batch, float scale, float* bag_gradient,
                  GradientListener* listener) override {
    double sum = 0;
    for (int row = 0; row < batch.rows; ++row) {
      const float odds = 1 / (1 + std::exp(-score(batch, row)));
      sum -= std::log(batch.labels[row] > 0 ? odds : 1 - odds);
      const float slope = scale * (odds - batch.labels[row]);
      for (int i = 0; i < sizes_.dense; ++i) {
        factors_.gradient[i] += slope * batch.dense[row * sizes_.dense + i];
      }
      for (int i = 0; i < bag_values(); ++i) bag_gradient[row * bag_values() + i] = slope * of(i);
    }
    for (std::size_t at = count_; listener != nullptr && at > 0; --at) listener->ready(at - 1);
    return sum;
  }

  void scores(const RecommenderBatch& batch, float* scores) override {
    for (int row = 0; row < batch.rows; ++row) scores[row] = score(batch, row);
  }

 private:
  int bag_values() const { return sizes_.tables * sizes_.width; }
  static float of(int bag_value) { return 1.0f + 0.25f * static_cast<float>(bag_value % 4); }

  float score(const RecommenderBatch& batch, int row) const {
    float sum = 0;
    for (int i = 0; i < sizes_.dense; ++i) {
      sum += factors_.values[i] * batch.dense[row * sizes_.dense + i];
    }
    for (int i = 0; i < bag_values(); ++i) sum += of(i) * batch.bags[row * bag_values() + i];
    return sum;
  }

  const RecommenderSizes sizes_;
  std::size_t count_;
  ParameterMemory factors_;
};

}  // namespace
}  // namespace tandem::test

using namespace tandem::training;

int tandem_trainer_version() { return kTandemTrainerVersion; }
const char* tandem_trainer_libtorch() { return "none"; }
Computation* tandem_trainer_make_decoder(const DecoderSizes*, const ComputationOptions*,
                                         const ParameterMemory* parameters,
                                         std::size_t num_parameters) {
  return new tandem::test::LightComputation(parameters, num_parameters);
}
LayerComputation* tandem_trainer_make_layer(const DecoderSizes* sizes, const ComputationOptions*,
                                            DecoderPart part, int /*block*/,
                                            const ParameterMemory* parameters,
                                            std::size_t num_parameters) {
  return new tandem::test::LightLayer(part, sizes->width, parameters, num_parameters);
}
Computation* tandem_trainer_make_lstm(const LstmSizes*, const ComputationOptions*,
                                      const ParameterMemory* parameters,
                                      std::size_t num_parameters) {
  return new tandem::test::LightComputation(parameters, num_parameters);
}
RecommenderComputation* tandem_trainer_make_recommender(const RecommenderSizes* sizes,
                                                        const ComputationOptions*,
                                                        const ParameterMemory* parameters,
                                                        std::size_t num_parameters) {
  return new tandem::test::LightRecommender(*sizes, parameters, num_parameters);
}
