// SPDX-License-Identifier: Apache-2.0
//
// The loop of one row. The speed probe and other programs evict the caches, so an untimed step
// follows them.
#include "apps/models/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

namespace tandem::apps::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSampleSeconds = 0.02;
constexpr int kMostSteps = 256;    // of one sample
constexpr int kProbeInterval = 5;  // samples between measurements of the devices

double tokens_of_step(const Row& row) {
  return row.kind == RowKind::kPrefill ? row.tokens : row.batch;
}

bool next_turn() {
  std::string line;
  return std::getline(std::cin, line) && line != "end";
}

void probe(Rig& rig, RowResult& result) {
  result.speeds.push_back(rig.speeds_now());
  result.limit = limit_of(result.work, result.speeds.back());
  rig.step();
}

void sample(Rig& rig, RowResult& result) {
  double seconds = 0;
  for (int step = 0; step < result.steps_per_sample; ++step) seconds += rig.step();
  seconds /= result.steps_per_sample;
  result.tokens_per_s.push_back(tokens_of_step(result.row) / seconds);
  if (result.limit.seconds > 0) result.fractions.push_back(result.limit.seconds / seconds);
}

}  // namespace

RowResult measure(Rig& rig, const Row& row, const model::Model& model,
                  const MeasureOptions& options,
                  const std::function<void(const RowResult&)>& on_sample) {
  RowResult result;
  result.row = row;
  result.skipped = rig.refusal(row);
  if (!result.skipped.empty()) return result;
  result.work = work_of(row, model, rig.kv_bytes_per_token(), rig.quantized_to());
  rig.prepare(row);
  rig.step();
  result.steps_per_sample =
      std::clamp(static_cast<int>(std::ceil(kSampleSeconds / rig.step())), 1, kMostSteps);
  if (options.turns) on_sample(result);
  const Clock::time_point start = Clock::now();
  for (int taken = 0; taken < options.samples; ++taken) {
    const std::chrono::duration<double> spent = Clock::now() - start;
    if (taken >= kFewestSamples && spent.count() > options.seconds) break;
    if (options.turns && !next_turn()) break;
    if (taken % kProbeInterval == 0) {
      probe(rig, result);
    } else if (options.turns) {
      rig.step();  // another program has had the caches
    }
    sample(rig, result);
    if (options.turns) on_sample(result);
  }
  if (!result.speeds.empty()) result.limit = limit_of(result.work, median_speeds(result.speeds));
  return result;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

Speeds median_speeds(const std::vector<Speeds>& speeds) {
  const auto median = [&](const auto& of) {
    std::vector<double> values;
    for (const Speeds& each : speeds) values.push_back(of(each));
    return quantile(std::move(values), 0.5);
  };
  Speeds result;
  result.weight_bytes_per_s = median([](const Speeds& s) { return s.weight_bytes_per_s; });
  result.kv_bytes_per_s = median([](const Speeds& s) { return s.kv_bytes_per_s; });
  result.ops_per_s.f32 = median([](const Speeds& s) { return s.ops_per_s.f32; });
  result.ops_per_s.bf16 = median([](const Speeds& s) { return s.ops_per_s.bf16; });
  result.ops_per_s.int8 = median([](const Speeds& s) { return s.ops_per_s.int8; });
  return result;
}

}  // namespace tandem::apps::bench
