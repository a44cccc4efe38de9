// SPDX-License-Identifier: Apache-2.0
//
// study_pipeline: a dynamic workload in virtual time, with stages that stay and with stages that
// follow the work.
//
// Static: the faster one of equal numbers of layers, as Megatron-LM divides, and of equal
// parameters, as DeepSpeed does. Dynamic: from the same stages on, each phase begins with one step
// in which layers are timed; new stages are taken where (old - new) x steps left > migration.
// Migration: the stage with the most bytes to send and receive decides. Every step is simulated
// (pipeline_time.h). Threads: pure. Errors: Error where the layers cannot fill the stages.
#pragma once

#include "planner/pipeline/dynamic_workload.h"
#include "planner/pipeline/stage_loads.h"

namespace tandem::planner {

struct PipelineMachine {
  int num_stages = 8;
  int micro_batches = 32, tokens_per_micro_batch = 4096;
  double ops_per_us = 593e6;   // of one stage
  double bytes_per_us = 50e3;  // between stages, in each direction
};

enum class BalanceMethod { kExact, kDiffusion };

struct PipelineStudy {
  std::int64_t equal_layers_ps = 0, equal_parameters_ps = 0;  // static, all steps
  std::int64_t dynamic_ps = 0;                                // with all of overhead_ps
  std::int64_t overhead_ps = 0;                               // profiling and migration
  double ideal_ps = 0;  // with the work of every step in equal shares
  int num_phases = 0, num_migrations = 0;
  std::int64_t moved_bytes = 0;

  std::int64_t static_ps() const;
  double speedup() const;
  double ideal_speedup() const;
};

PipelineStudy study_pipeline(const DynamicWorkload& workload, const PipelineMachine& machine,
                             BalanceMethod method);

}  // namespace tandem::planner
