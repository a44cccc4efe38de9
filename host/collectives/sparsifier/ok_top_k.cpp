// SPDX-License-Identifier: Apache-2.0
//
// Ok-Topk's thresholds. The local one is the k-th largest own magnitude, the global one the k-th
// largest sum. Both are computed every threshold_steps steps and kept in between.
//
// Sends: own entries above the local threshold, through the scheme (ok_topk is the published one).
// The mean keeps what reaches the global threshold. Clears local-and-global: selected here and
// kept; the rest stays in the residual. Cost: one read; the exact top-k in every threshold_steps-th
// step. Source: Li and Hoefler, Near-optimal sparse allreduce, PPoPP 2022.
#include <algorithm>
#include <functional>

#include "collectives/sparsifier/algorithms.h"
#include "collectives/sparsifier/exchange.h"

namespace tandem::collectives {
namespace {

class OkTopKThresholds final : public SparsifierAlgorithm {
 public:
  using SparsifierAlgorithm::SparsifierAlgorithm;

  ClearingRule clearing_rule() const override { return ClearingRule::kLocalAndGlobal; }

  void reduce(StepContext& context) override {
    const std::uint64_t k = target(context.step);
    const bool renew = context.step % options_.threshold_steps == 0;
    const Indices own = timed_selection(context, [&] { return select(k, renew); });
    reduce_own(context, store_, own, options_.reduce);
    SparseTensor& mean = context.result.mean;
    if (renew || global_ == 0) global_ = nth_of(mean.values_as<float>(), k);
    keep_large(mean);
    const auto kept = mean.indices_as<std::uint32_t>();
    Indices sent;
    RawVector<float> remainder;
    auto next = kept.begin();
    for (std::size_t i = 0; i < own.size(); ++i) {
      next = std::lower_bound(next, kept.end(), own[i]);
      if (next == kept.end() || *next != own[i]) continue;
      sent.push_back(own[i]);
      if (!context.remainder.empty()) remainder.push_back(context.remainder[i]);
    }
    keep_remainder(store_, sent, remainder);
  }

  void save(SparsifierState& state) const override {
    state.numbers["thresholds"] = {local_, global_};
  }

  void load(const SparsifierState& state) override {
    const std::vector<double>& thresholds = numbers_of(state, "thresholds", 2);
    local_ = static_cast<float>(thresholds[0]);
    global_ = static_cast<float>(thresholds[1]);
  }

 private:
  // Without a threshold, as after zero gradients, the exact top-k.
  Indices select(std::uint64_t k, bool renew) {
    if (!renew && local_ > 0) return store_.find_at_least(local_);
    const auto found = store_.candidates();
    local_ = found->nth_largest(k);
    return local_ > 0 ? found->at_least(local_) : found->top(k);
  }

  static float nth_of(std::span<const float> values, std::uint64_t k) {
    if (values.size() < k || values.empty()) return 0;
    std::vector<float> magnitudes(values.size());
    std::ranges::transform(values, magnitudes.begin(), [](float x) { return std::fabs(x); });
    const auto nth = magnitudes.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(magnitudes.begin(), nth, magnitudes.end(), std::greater<>());
    return *nth;
  }

  void keep_large(SparseTensor& mean) const {
    const auto indices = mean.indices_as<std::uint32_t>();
    const auto values = mean.values_as<float>();
    Indices kept;
    std::vector<float> kept_values;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (std::fabs(values[i]) < global_) continue;
      kept.push_back(indices[i]);
      kept_values.push_back(values[i]);
    }
    mean = make_sparse(num_values_, kept, kept_values);
  }

  float local_ = 0, global_ = 0;
};

}  // namespace

std::unique_ptr<SparsifierAlgorithm> make_ok_topk(ResidualStore& store,
                                                  const SparsifierOptions& options) {
  return std::make_unique<OkTopKThresholds>(store, options);
}

}  // namespace tandem::collectives
