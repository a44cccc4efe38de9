// SPDX-License-Identifier: Apache-2.0
//
// dynamic_workload: how the operations per layer of a decoder change during training, for the six
// workloads of DynMo (arXiv 2505.14864).
//
// Operations per token follow from the shape: 24 * width^2 for the matrices of a layer, 2 * tokens
// * width for causal attention, and 2 * width * vocabulary for the output layer, which is the last
// layer. A backward pass takes twice a forward pass. The change of each workload follows its own
// publication; `configuration` lists every choice with its source, or as an assumption. Threads:
// pure; the same seed gives the same workload. Errors: Error for an unknown name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::planner {

struct DecoderShape {
  int num_layers = 48, width = 1024, tokens = 2048, vocabulary = 50257;
};

struct LayerWork {
  double forward_ops = 0, backward_ops = 0;  // per token
  std::int64_t num_parameters = 0;
};

struct WorkloadPhase {
  std::int64_t num_steps = 0;
  std::vector<LayerWork> layers;  // [num_layers + 1]
};

struct StatedChoice {
  std::string choice, source;
};

struct DynamicWorkload {
  std::vector<WorkloadPhase> phases;
  std::vector<StatedChoice> configuration;
  double published_speedup = 0;
  std::string difference;  // what the published run probably had beyond the configuration
};

enum class WorkloadKind {
  kMoe,
  kPruning,
  kFreezing,
  kSparseAttention,
  kEarlyExit,
  kMixtureOfDepths
};

// "moe", "pruning", "freezing", "sparse-attention", "early-exit", "mixture-of-depths".
WorkloadKind workload_of(std::string_view name);

DynamicWorkload dynamic_workload(WorkloadKind kind, const DecoderShape& shape, std::uint64_t seed);

// Returns the operations of all layers but the output over all steps, as a share of those if all
// layers were always like the heaviest one. Of stages that have equally many layers and no output,
// balance makes the slowest at most the inverse times as fast: no stage is heavier than that, and
// the slowest is never lighter than the mean.
double work_left(const DynamicWorkload& workload);

// Returns the sparsity of gradual pruning after the share `done` (0..1) of its steps: last (1 - (1
// - done)^3). Source: Zhu and Gupta, arXiv 1710.01878.
double gradual_sparsity(double done, double last);

// Returns the share of training after which layer `layer` of `num_layers` is frozen, in the cubic
// schedule of FreezeOut; the first layer is frozen at `first`^3.
double freeze_time(int layer, int num_layers, double first);

}  // namespace tandem::planner
