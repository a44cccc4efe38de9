// SPDX-License-Identifier: Apache-2.0
//
// A rate is the cost model's bytes over measured seconds, so other rules than AdamW fit it too.
#include "training/trainer/offload_choice.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "collectives/collective.h"
#include "common/raw_vector.h"
#include "common/thread_pool.h"
#include "training/optimizer/optimizer.h"

namespace tandem::training {
namespace {

constexpr std::uint64_t kMostMeasured = 4 << 20;  // parameters
constexpr int kRepetitions = 3;
constexpr double kStepBytesPerValue = 28;
constexpr double kCaution = 0.8;

double best_seconds(const std::function<void()>& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double>(end - begin).count());
  }
  return best;
}

double update_seconds(std::uint64_t count, const OffloadQuestion& question) {
  ThreadPool pool(question.threads);
  Optimizer optimizer(pool);
  const auto number =
      optimizer.add({.name = "measured", .count = count, .width = 1, .rule = question.rule});
  std::vector<float> weights(count, 1.0f), gradient(count, 0.5f);
  return best_seconds([&] {
    optimizer.update({.iteration = 1, .learning_rate = 1e-3},
                     {.parameter = number, .weights = weights, .gradient = gradient, .copy = {}});
  });
}

double gather_seconds(collectives::Group& group, std::uint64_t count,
                      const OffloadQuestion& question) {
  const std::vector<float> own(count / static_cast<std::uint64_t>(group.world()) + 1);
  return best_seconds([&] {
    collectives::allgatherv(group, std::as_bytes(std::span(own)), {.timeout = question.timeout});
  });
}

}  // namespace

OffloadPrediction choose_offload(collectives::Group* group, const OffloadQuestion& question) {
  OffloadPrediction alone;
  alone.reason = "one rank has nobody to share the update with";
  if (group == nullptr || group->world() == 1 || question.parameters == 0) return alone;
  const std::uint64_t count = std::min(question.parameters, kMostMeasured);
  std::vector<double> seconds = {update_seconds(count, question),
                                 gather_seconds(*group, count, question)};
  collectives::ReduceOptions slowest;
  slowest.reduction = collectives::Reduction::kMax;
  slowest.timeout = question.timeout;
  collectives::allreduce(*group, collectives::DenseView::of(seconds), slowest);
  const double others = static_cast<double>(group->world() - 1) / group->world();
  DenseOffloadCosts costs;
  costs.parameters = question.parameters;
  costs.buckets = std::max<std::uint64_t>(1, 4 * question.parameters / question.bucket_bytes);
  costs.world = group->world();
  costs.shares_cores = true;
  costs.host_bytes_per_s = kStepBytesPerValue * static_cast<double>(count) / seconds[0];
  costs.device_bytes_per_s = costs.host_bytes_per_s;
  costs.network_bytes_per_s = kCaution * 4 * static_cast<double>(count) * others / seconds[1];
  return choose_dense_offload(costs);
}

OffloadPrediction predict_rows(std::vector<RowOffloadCosts> tables, int threads) {
  OffloadPrediction all;
  if (tables.empty()) return all;
  const double rate = kStepBytesPerValue * static_cast<double>(kMostMeasured) /
                      update_seconds(kMostMeasured, {.rule = Adam{}, .threads = threads});
  for (RowOffloadCosts& costs : tables) {
    costs.host_bytes_per_s = rate;
    const OffloadPrediction one = choose_row_offload(costs);
    all.none_s += one.none_s;
    all.offload_s += one.offload_s;
  }
  if (all.offload_s < all.none_s) all.place = OffloadPlace::kCards;
  char text[120];
  std::snprintf(text, sizeof text, "a step's rows take %.3g ms in host memory and %.3g ms on %d %s",
                all.none_s * 1e3, all.offload_s * 1e3, tables[0].cards,
                tables[0].cards == 1 ? "card" : "cards");
  all.reason = text;
  return all;
}

}  // namespace tandem::training
