// SPDX-License-Identifier: Apache-2.0
//
// Every rank keeps its own history; they are joined when all have ended.
#include "apps/collectives/sparsify_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "apps/collectives/bench_options.h"
#include "apps/collectives/launch_ranks.h"
#include "apps/collectives/simulated_ranks.h"
#include "collectives/sparsifier/candidates.h"
#include "collectives/sparsifier/selection_kernels.h"
#include "common/median.h"

namespace tandem::apps {
namespace {

struct RankMeasurements {
  std::vector<collectives::StepResult> steps;
  std::vector<double> plain_reads_s, rests_s, updates_s;
  std::vector<double> exchanges_s;  // virtual
  double dense_s = 0;               // virtual
  double residual_norm = 0;
  std::string clears;
};

double plain_read_s(std::span<const float> values, ThreadPool* threads, std::mutex& turn) {
  const std::lock_guard<std::mutex> lock(turn);
  std::atomic<std::uint32_t> seen{0};
  const auto begin = std::chrono::steady_clock::now();
  collectives::for_each_part(
      0, values.size(), threads, [&](std::uint64_t first, std::uint64_t end, std::size_t) {
        seen ^= collectives::read_plainly(values.data() + first, end - first);
      });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double update_s(std::vector<float>& weights, const collectives::SparseTensor& mean) {
  const auto begin = std::chrono::steady_clock::now();
  const auto indices = mean.indices_as<std::uint32_t>();
  const auto values = mean.values_as<float>();
  for (std::size_t i = 0; i < indices.size(); ++i) weights[indices[i]] -= 0.1f * values[i];
  return seconds_since(begin);
}

RankMeasurements run_steps(collectives::Group& group, const VirtualClock& clock,
                           const std::string& name, const SparsifyGradients& gradients,
                           const SparsifyRunOptions& options) {
  RankMeasurements history;
  const auto sparsifier =
      collectives::make_sparsifier(name, gradients.num_values(), options.sparsifier);
  history.clears = collectives::clearing_rule_name(sparsifier->clearing_rule());
  std::vector<float> gradient(gradients.num_values());
  if (options.gbit_per_s > 0) {
    collectives::ReduceOptions dense = options.sparsifier.reduce;
    dense.scheme = "dense_ring";
    const double begin = clock();
    collectives::allreduce(group, collectives::DenseView::of(gradient), dense);
    history.dense_s = clock() - begin;
  }
  std::vector<float> weights(group.rank() == 0 ? gradients.num_values() : 0);
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    gradients.fill(group.rank(), step, gradient);
    collectives::barrier(group, options.sparsifier.reduce);  // clocks are compared from here
    const double virtual_begin = clock();
    const auto begin = std::chrono::steady_clock::now();
    history.steps.push_back(sparsifier->step(group, gradient));
    collectives::StepResult& result = history.steps.back();
    history.rests_s.push_back(seconds_since(begin) - result.accumulate_seconds -
                              result.select_seconds);
    history.exchanges_s.push_back(clock() - virtual_begin);
    if (group.rank() == 0) history.updates_s.push_back(update_s(weights, result.mean));
    result.mean = {};  // its memory is not needed
    if (group.rank() != 0) continue;
    history.plain_reads_s.push_back(
        plain_read_s(gradient, options.sparsifier.threads, *options.sparsifier.turn));
  }
  history.residual_norm = sparsifier->residual_norm();
  return history;
}

SparsifyMeasurement summary(const std::vector<RankMeasurements>& ranks,
                            const SparsifyRunOptions& options, std::uint64_t num_values) {
  SparsifyMeasurement measured;
  std::vector<double> select_ms, select_mean_ms, accumulate_ms;
  const std::uint64_t first_counted = options.steps - std::max<std::uint64_t>(1, options.steps / 4);
  const auto num_counted = static_cast<double>(options.steps - first_counted);
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    double select_s = 0, sum_s = 0, accumulate_s = 0;
    for (const RankMeasurements& rank : ranks) {
      select_s = std::max(select_s, rank.steps[step].select_seconds);
      sum_s += rank.steps[step].select_seconds;
      accumulate_s = std::max(accumulate_s, rank.steps[step].accumulate_seconds);
    }
    accumulate_ms.push_back(accumulate_s * 1e3);
    const collectives::StepResult& result = ranks.front().steps[step];
    if (!result.local) {
      select_ms.push_back(select_s * 1e3);
      select_mean_ms.push_back(sum_s / static_cast<double>(ranks.size()) * 1e3);
    }
    const double share = result.sent / static_cast<double>(num_values);
    measured.density_all += share / static_cast<double>(options.steps);
    if (step < first_counted) continue;
    measured.density_sent += share;
    measured.build_up += result.build_up;
    measured.inefficiency += result.inefficiency;
    double exchange_s = 0;
    for (const RankMeasurements& rank : ranks) {
      exchange_s = std::max(exchange_s, rank.exchanges_s[step]);
    }
    measured.exchange_ms += exchange_s * 1e3;
  }
  for (double* mean : {&measured.density_sent, &measured.build_up, &measured.inefficiency,
                       &measured.exchange_ms}) {
    *mean /= num_counted;
  }
  measured.select_ms = median(select_ms);
  measured.select_mean_ms = median(select_mean_ms);
  measured.accumulate_ms = median(accumulate_ms);
  measured.plain_read_ms = median(ranks.front().plain_reads_s) * 1e3;
  if (measured.select_ms > 0) measured.of_plain_read = measured.plain_read_ms / measured.select_ms;
  measured.rest_ms = median(ranks.front().rests_s) * 1e3;
  measured.update_ms = median(ranks.front().updates_s) * 1e3;
  measured.dense_ms = ranks.front().dense_s * 1e3;
  measured.residual_norm = ranks.front().residual_norm;
  measured.clears = ranks.front().clears;
  return measured;
}

}  // namespace

SparsifyMeasurement measure_sparsifier(const std::string& name, const SparsifyGradients& gradients,
                                       const SparsifyRunOptions& options) {
  SparsifyRunOptions run = options;
  std::mutex turn;
  run.sparsifier.turn = &turn;
  if (run.sparsifier.layer_sizes.empty()) run.sparsifier.layer_sizes = gradients.layer_sizes();
  std::vector<RankMeasurements> ranks(static_cast<std::size_t>(run.world));
  BenchOptions launch;  // inproc
  launch.world = run.world;
  const auto run_rank = [&](collectives::Group& group, const VirtualClock& clock) {
    ranks[static_cast<std::size_t>(group.rank())] = run_steps(group, clock, name, gradients, run);
  };
  if (run.gbit_per_s > 0) {
    run_simulated_ranks({run.world, run.gbit_per_s, run.latency_us}, run_rank);
  } else {
    launch_ranks(launch, {},
                 [&](collectives::Group& group) { run_rank(group, [] { return 0.0; }); });
  }
  SparsifyMeasurement measured = summary(ranks, run, gradients.num_values());
  measured.name = name;
  return measured;
}

}  // namespace tandem::apps
