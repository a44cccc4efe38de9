// SPDX-License-Identifier: Apache-2.0
//
// One function per workload: it fills the phases and states its choices.
#include "planner/pipeline/dynamic_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include "common/error.h"

namespace tandem::planner {
namespace {

constexpr std::int64_t kTrainingSteps = 10'000;
constexpr std::int64_t kDrawnSteps = 1'000;  // between two draws of routing or of attention

LayerWork layer_of(double forward_ops, double num_parameters) {
  return {forward_ops, 2 * forward_ops, static_cast<std::int64_t>(num_parameters)};
}

struct DecoderOps {
  double matrices = 0, attention = 0;  // of one layer's forward pass, per token
  double parameters = 0;
  LayerWork head;

  explicit DecoderOps(const DecoderShape& shape) {
    const double width = shape.width;
    matrices = 24 * width * width;
    attention = 2.0 * shape.tokens * width;
    parameters = matrices / 2;
    head = layer_of(2 * width * shape.vocabulary, width * shape.vocabulary);
  }

  // All layers with a share of their work; the output layer is last.
  template <typename Share>
  WorkloadPhase phase(std::int64_t steps, int num_layers, const Share& forward_ops) const {
    WorkloadPhase made;
    made.num_steps = steps;
    for (int layer = 0; layer < num_layers; ++layer) {
      made.layers.push_back(layer_of(forward_ops(layer), parameters));
    }
    made.layers.push_back(head);
    return made;
  }
};

double drawn(std::mt19937_64& random, double least, double most) {
  return std::uniform_real_distribution<double>(least, most)(random);
}

std::string steps_text() { return std::to_string(kTrainingSteps) + " steps of training"; }

const StatedChoice kLength{steps_text(), "published script of DynMo, pruning of a decoder"};

DynamicWorkload moe(const DecoderShape& shape, std::uint64_t seed) {
  constexpr double kExperts = 8, kChosen = 2, kBusiest = 2;
  DynamicWorkload made;
  made.published_speedup = 1.23;
  made.configuration = {
      {"8 experts of 16 width^2 operations, 2 per token", "Mixtral, arXiv 2401.04088"},
      {"a layer waits for its busiest expert, which has 1 to 2 times the mean, drawn per layer",
       "assumption"},
      {"routing changes every 1000 steps of 10000", "assumption"}};
  made.difference =
      "the routing of the published runs is not published; a layer's busiest expert is drawn here";
  DecoderOps ops(shape);
  const double width = shape.width;
  const double dense = 8 * width * width + ops.attention, experts = kChosen * 16 * width * width;
  ops.parameters = 4 * width * width + kExperts * 8 * width * width;
  std::mt19937_64 random(seed);
  for (std::int64_t step = 0; step < kTrainingSteps; step += kDrawnSteps) {
    made.phases.push_back(ops.phase(kDrawnSteps, shape.num_layers, [&](int) {
      return dense + experts * drawn(random, 1, kBusiest);
    }));
  }
  return made;
}

DynamicWorkload pruning(const DecoderShape& shape) {
  constexpr std::int64_t kBegin = 2'999, kEnd = 7'000, kEvery = 1'000;
  constexpr double kLast = 0.9, kSparseRate = 0.27, kDenseRate = 0.6;
  DynamicWorkload made;
  made.published_speedup = 3.18;
  made.configuration = {
      kLength,
      {"pruned to 90 % from step 2999 to 7000 every 1000; neither embeddings nor output layer",
       "published script of DynMo; schedule: arXiv 1710.01878"},
      {"sparse products reach 27 % of the peak", "arXiv 2006.10901, abstract"},
      {"dense products reach 60 % of the peak", "assumption of host/planner/hardware"},
      {"every layer has the same sparsity: initial weights spread alike in all layers",
       "assumption"}};
  made.difference =
      "the sparsity of each layer in the published runs is not published; equal sparsity leaves "
      "only the output layer, which is not pruned, to balance against";
  const DecoderOps ops(shape);
  std::int64_t from = 0;
  double sparsity = 0;
  const auto until = [&](std::int64_t step) {
    const double density = 1 - sparsity;
    const double share = std::min(1.0, density * kDenseRate / kSparseRate);
    made.phases.push_back(ops.phase(step - from, shape.num_layers,
                                    [&](int) { return ops.matrices * share + ops.attention; }));
    from = step;
  };
  for (std::int64_t step = kEvery; step < kEnd; step += kEvery) {
    if (step <= kBegin) continue;
    until(step);
    const std::int64_t all = (kEnd - kBegin) / kEvery * kEvery;
    sparsity =
        gradual_sparsity(static_cast<double>(step - kBegin) / static_cast<double>(all), kLast);
  }
  until(kTrainingSteps);
  return made;
}

DynamicWorkload freezing(const DecoderShape& shape) {
  constexpr double kFirst = 0.8;
  constexpr int kMostFreezes = 64;
  DynamicWorkload made;
  made.published_speedup = 2.23;
  made.configuration = {
      kLength,
      {"layers freeze from the first on, in the cubic schedule from 0.8^3 of training on",
       "FreezeOut, arXiv 1706.04983: defaults of its code"},
      {"frozen layers have no backward pass, and their forward pass stays", "the same"},
      {"of more than 64 layers, groups freeze with their last layer", "assumption"}};
  made.difference =
      "the published runs froze by the progress of each layer, at times that are not published; "
      "here the first half of training has no frozen layer";
  const DecoderOps ops(shape);
  const auto step_of = [&](int layer) {
    return static_cast<std::int64_t>(freeze_time(layer, shape.num_layers, kFirst) *
                                     static_cast<double>(kTrainingSteps));
  };
  std::int64_t from = 0;
  const int group = (shape.num_layers + kMostFreezes - 1) / kMostFreezes;
  int frozen = 0, next = 0;
  for (; from < kTrainingSteps; frozen = next) {
    next = std::min(frozen + group, shape.num_layers);
    const std::int64_t to = frozen < next ? step_of(next - 1) : kTrainingSteps;
    if (to == from) continue;
    WorkloadPhase phase =
        ops.phase(to - from, shape.num_layers, [&](int) { return ops.matrices + ops.attention; });
    for (int layer = 0; layer < frozen; ++layer) {
      phase.layers[static_cast<std::size_t>(layer)].backward_ops = 0;
    }
    made.phases.push_back(std::move(phase));
    from = to;
  }
  return made;
}

DynamicWorkload sparse_attention(const DecoderShape& shape, std::uint64_t seed) {
  constexpr double kBuckets = 16;
  DynamicWorkload made;
  made.published_speedup = 4.02;
  made.configuration = {{"each layer attends to a sixteenth to all of its pairs, drawn per layer",
                         "bounds: 16 buckets, as in arXiv 2306.01160; the draw is an assumption"},
                        {"patterns change every 1000 steps of 10000", "assumption"}};
  const DecoderOps ops(shape);
  const int percent =
      static_cast<int>(std::lround(100 * ops.attention / (ops.matrices + ops.attention)));
  made.difference = "attention is " + std::to_string(percent) + " % of a layer's operations at " +
                    std::to_string(shape.tokens) + " tokens and width " +
                    std::to_string(shape.width) +
                    ", and balance can gain no more than it varies; more needs longer sequences, "
                    "or attention far below the arithmetic rate";
  std::mt19937_64 random(seed);
  for (std::int64_t step = 0; step < kTrainingSteps; step += kDrawnSteps) {
    made.phases.push_back(ops.phase(kDrawnSteps, shape.num_layers, [&](int) {
      return ops.matrices + ops.attention * drawn(random, 1 / kBuckets, 1);
    }));
  }
  return made;
}

// The rate at which tokens leave so that the mean token passes `mean` of all layers.
double exit_rate(double mean) {
  double low = 1e-6, high = 1e3;
  for (int step = 0; step < 100; ++step) {
    const double rate = (low + high) / 2;
    ((1 - std::exp(-rate)) / rate > mean ? low : high) = rate;
  }
  return low;
}

DynamicWorkload early_exit(const DecoderShape& shape) {
  constexpr double kMeanDepth = 1.0 / 3;
  DynamicWorkload made;
  made.published_speedup = 4.52;
  made.configuration = {
      {"a token passes a third of the layers on average",
       "CALM, arXiv 2207.07061, abstract: up to 3 times as fast"},
      {"the share that leaves is the same at every layer", "assumption"},
      {"every token passes the output layer, and tokens that left cost nothing more",
       "assumption"}};
  made.difference =
      "balance gains at most the first stage's work over the mean, at most 3 where tokens pass a "
      "third of the layers; the published 4.52 needs tokens that pass at most 22 %";
  const DecoderOps ops(shape);
  const double rate = exit_rate(kMeanDepth);
  made.phases.push_back(ops.phase(kTrainingSteps, shape.num_layers, [&](int layer) {
    const double depth = static_cast<double>(layer) / shape.num_layers;
    return (ops.matrices + ops.attention) * std::exp(-rate * depth);
  }));
  return made;
}

DynamicWorkload mixture_of_depths(const DecoderShape& shape) {
  constexpr double kCapacity = 0.125;
  DynamicWorkload made;
  made.published_speedup = 1.17;
  made.configuration = {
      {"every other layer takes 12.5 % of the tokens, which attend to each other",
       "arXiv 2404.02258"},
      {"capacity is filled in every step", "the same: the router chooses the tokens"}};
  made.difference =
      "with filled capacity the work of a layer never changes; routing whose load varies is not "
      "modelled";
  const DecoderOps ops(shape);
  made.phases.push_back(ops.phase(kTrainingSteps, shape.num_layers, [&](int layer) {
    if (layer % 2 == 0) return ops.matrices + ops.attention;
    return kCapacity * (ops.matrices + ops.attention * kCapacity);
  }));
  return made;
}

constexpr std::array<std::pair<std::string_view, WorkloadKind>, 6> kWorkloads = {
    {{"moe", WorkloadKind::kMoe},
     {"pruning", WorkloadKind::kPruning},
     {"freezing", WorkloadKind::kFreezing},
     {"sparse-attention", WorkloadKind::kSparseAttention},
     {"early-exit", WorkloadKind::kEarlyExit},
     {"mixture-of-depths", WorkloadKind::kMixtureOfDepths}}};

}  // namespace

WorkloadKind workload_of(std::string_view name) {
  for (const auto& [known, kind] : kWorkloads) {
    if (name == known) return kind;
  }
  throw Error("simulate-pipeline", "no workload is called '" + std::string(name) +
                                       "': moe, pruning, freezing, sparse-attention, early-exit "
                                       "or mixture-of-depths");
}

double gradual_sparsity(double done, double last) {
  const double left = 1 - std::clamp(done, 0.0, 1.0);
  return last * (1 - left * left * left);
}

double freeze_time(int layer, int num_layers, double first) {
  const double at = first + (1 - first) * layer / num_layers;
  return at * at * at;
}

DynamicWorkload dynamic_workload(WorkloadKind kind, const DecoderShape& shape, std::uint64_t seed) {
  switch (kind) {
    case WorkloadKind::kMoe:
      return moe(shape, seed);
    case WorkloadKind::kPruning:
      return pruning(shape);
    case WorkloadKind::kFreezing:
      return freezing(shape);
    case WorkloadKind::kSparseAttention:
      return sparse_attention(shape, seed);
    case WorkloadKind::kEarlyExit:
      return early_exit(shape);
    case WorkloadKind::kMixtureOfDepths:
      return mixture_of_depths(shape);
  }
  throw Error("simulate-pipeline", "an unknown workload");
}

double work_left(const DynamicWorkload& workload) {
  double sum = 0, heaviest = 0, num_layers = 0;
  for (const WorkloadPhase& phase : workload.phases) {
    for (std::size_t layer = 0; layer + 1 < phase.layers.size(); ++layer) {
      const double ops = phase.layers[layer].forward_ops + phase.layers[layer].backward_ops;
      heaviest = std::max(heaviest, ops);
      sum += ops * static_cast<double>(phase.num_steps);
      num_layers += static_cast<double>(phase.num_steps);
    }
  }
  return sum / (heaviest * num_layers);
}

}  // namespace tandem::planner
