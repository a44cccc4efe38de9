// SPDX-License-Identifier: Apache-2.0
//
// study_pipeline: simulates a dynamic workload with fixed stages and with stages that adapt.
//
// Fixed: the faster of two partitions: equal numbers of layers (Megatron-LM), and equal parameters
// (DeepSpeed). Adaptive: starts from the same stages. Each phase begins with one step that times
// the layers; new stages are used if (old - new) x remaining steps > migration time. The migration
// time is that of the stage with the most bytes to send and receive. Every step is simulated
// (pipeline_time.h). Threads: pure. Errors: Error if there are fewer layers than stages.
#pragma once

#include "planner/pipeline/dynamic_workload.h"
#include "planner/pipeline/stage_loads.h"

namespace tandem::planner {

struct PipelineMachine {
  int num_stages = 8;
  int micro_batches = 32, tokens_per_micro_batch = 4096;
  double ops_per_us = 593e6;   // per stage
  double bytes_per_us = 50e3;  // between stages, in each direction
};

enum class BalanceMethod { kExact, kDiffusion };

struct PipelineStudy {
  std::int64_t equal_layers_ps = 0, equal_parameters_ps = 0;  // fixed stages, all steps
  std::int64_t dynamic_ps = 0;   // adaptive stages, including overhead_ps
  std::int64_t overhead_ps = 0;  // profiling and migration
  double ideal_ps = 0;           // if the work of every step were divided equally
  int num_phases = 0, num_migrations = 0;
  std::int64_t moved_bytes = 0;

  std::int64_t static_ps() const;
  double speedup() const;
  double ideal_speedup() const;
};

PipelineStudy study_pipeline(const DynamicWorkload& workload, const PipelineMachine& machine,
                             BalanceMethod method);

}  // namespace tandem::planner
