// SPDX-License-Identifier: Apache-2.0
//
// Means are kept as sums; figures of the last call are overwritten.
#include "training/reducer/statistics.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "training/squares.h"

namespace tandem::training {
namespace {

nlohmann::ordered_json json_of(const BucketStatistics& bucket) {
  return {{"parameters", bucket.parameters},
          {"rows", bucket.rows},
          {"values", bucket.num_values},
          {"sparsified_values", bucket.sparsified_values},
          {"calls", bucket.calls},
          {"dense_calls", bucket.dense_calls},
          {"skipped_calls", bucket.skipped_calls},
          {"clipped_calls", bucket.clipped_calls},
          {"failed_calls", bucket.failed_calls},
          {"density_asked", bucket.density_asked},
          {"density_sent", bucket.density_sent},
          {"mean_density_sent", bucket.mean_density_sent},
          {"build_up", bucket.build_up},
          {"residual_norm", bucket.residual_norm},
          {"bytes_sent", bucket.bytes_sent},
          {"seconds", bucket.seconds},
          {"hidden_seconds", bucket.hidden_seconds},
          {"exposed_seconds", bucket.exposed_seconds},
          {"select_seconds", bucket.select_seconds}};
}

}  // namespace

void StatisticsTable::record(const BucketName& bucket, const CallResult& result,
                             std::uint64_t bytes_sent, const CallTimes& times, bool failed) {
  if (bucket.parameters.empty()) return;  // the call named none that there are
  const std::lock_guard lock(mutex_);
  auto place = places_.find(bucket);
  if (place == places_.end()) {
    if (entries_.size() >= kMostBuckets) return;
    place = places_.emplace(bucket, entries_.size()).first;
    BucketStatistics& figures = entries_.emplace_back().figures;
    figures.parameters = bucket.parameters;
    figures.rows = bucket.rows;
    figures.num_values = bucket.num_values;
  }
  Entry& entry = entries_[place->second];
  BucketStatistics& figures = entry.figures;
  ++figures.calls;
  figures.dense_calls += result.dense;
  figures.skipped_calls += result.skipped;
  figures.clipped_calls += result.clipped;
  figures.failed_calls += failed;
  figures.bytes_sent += bytes_sent;
  figures.seconds += times.seconds;
  figures.hidden_seconds += times.hidden_seconds;
  figures.exposed_seconds += times.seconds - times.hidden_seconds;
  figures.select_seconds += result.select_seconds;
  if (result.sparsified_values == 0) return;
  const auto values = static_cast<double>(result.sparsified_values);
  figures.sparsified_values = result.sparsified_values;
  figures.density_asked = result.asked / values;
  figures.density_sent = result.sent / values;
  entry.density_sent_sum += figures.density_sent;
  figures.mean_density_sent =
      entry.density_sent_sum / static_cast<double>(++entry.sparsified_calls);
  figures.build_up = result.meant > 0 ? result.entries / result.meant : 1;
}

ReducerStatistics StatisticsTable::snapshot() const {
  const std::lock_guard lock(mutex_);
  ReducerStatistics all;
  for (const Entry& entry : entries_) {
    const BucketStatistics& figures = all.buckets.emplace_back(entry.figures);
    all.bytes_sent += figures.bytes_sent;
    all.seconds += figures.seconds;
    all.hidden_seconds += figures.hidden_seconds;
    all.exposed_seconds += figures.exposed_seconds;
  }
  return all;
}

double residual_squares(const Tensors& tensors) {
  const auto residual = tensors.find(kResidual);
  if (residual == tensors.end()) return 0;
  return sum_of_squares(residual->second);
}

void add_residual_norms(ReducerStatistics& to, const std::map<std::string, double>& squares) {
  double total = 0;
  for (const auto& [name, square] : squares) total += square;
  to.residual_norm = std::sqrt(total);
  for (BucketStatistics& bucket : to.buckets) {
    double sum = 0;
    for (const std::string& name : bucket.parameters) {
      const auto found = squares.find(name);
      if (found != squares.end()) sum += found->second;
    }
    bucket.residual_norm = std::sqrt(sum);
  }
}

std::string to_json(const ReducerStatistics& statistics) {
  nlohmann::ordered_json json = {{"steps", statistics.steps},
                                 {"rank", statistics.rank},
                                 {"world", statistics.world},
                                 {"residual_norm", statistics.residual_norm},
                                 {"bytes_sent", statistics.bytes_sent},
                                 {"seconds", statistics.seconds},
                                 {"hidden_seconds", statistics.hidden_seconds},
                                 {"exposed_seconds", statistics.exposed_seconds},
                                 {"warmup_steps", statistics.warmup_steps},
                                 {"trial",
                                  {{"outcome", name_of(statistics.trial.payoff)},
                                   {"dense_step_seconds", statistics.trial.dense_seconds},
                                   {"sparse_step_seconds", statistics.trial.sparse_seconds}}},
                                 {"buckets", nlohmann::ordered_json::array()}};
  for (const BucketStatistics& bucket : statistics.buckets) {
    json["buckets"].push_back(json_of(bucket));
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tandem::training
