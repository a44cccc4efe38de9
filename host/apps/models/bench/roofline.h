// SPDX-License-Identifier: Apache-2.0
//
// Computes the least time of a model's step: its bytes over the bandwidth, or its operations over
// the peak rate of the devices.
//
// Counted: every weight matrix once per step; the embedding only if it is also the output
// projection; the keys and values that the queries attend to, once; two operations per weight and
// token, at the peak rate of the operand type. For experts it counts the expected number of used
// ones, if tokens choose experts uniformly. Not counted: the arithmetic of attention and norms, and
// activations, so the limit is slightly optimistic.
// Pure functions. Threads: any.
#pragma once

#include <optional>

#include "apps/models/bench/rows.h"
#include "device/device.h"
#include "model/model.h"

namespace tandem::apps::bench {

struct Work {
  double weight_bytes = 0;
  double kv_bytes = 0;
  device::PeakOps ops;  // operations, by the type of their operands
  double total_ops() const { return ops.f32 + ops.bf16 + ops.int8; }
};

// The speeds that determine the limit of a row. Both bandwidths are the same if one device does
// both.
struct Speeds {
  double weight_bytes_per_s = 0;  // bandwidth of the compute device's memory
  double kv_bytes_per_s = 0;      // bandwidth of all attention devices together
  device::PeakOps ops_per_s;
};

struct Limit {
  double seconds = 0;  // 0: unknown
  bool by_memory = true;
};

// kv_bytes_per_token: bytes of K and V in all layers. `quantize`: the type to which matrices are
// quantised on load, if any.
Work work_of(const Row& row, const model::Model& model, double kv_bytes_per_token,
             std::optional<DType> quantize = {});

// A speed of 0 is unknown. If the work needs an unknown bandwidth, the limit is unknown. An unknown
// arithmetic speed is ignored.
Limit limit_of(const Work& work, const Speeds& speeds);

// The expected number of different experts that `tokens` tokens use, if each token uses `used` of
// `count` experts.
double experts_touched(int count, int used, double tokens);

}  // namespace tandem::apps::bench
