// SPDX-License-Identifier: Apache-2.0
//
// The least time of a model's step: the bytes and operations that it needs, over the bandwidth and
// the peak of the devices.
//
// Counted: every weight matrix once per step; the embedding only if it is also the output
// projection; the keys and values that the queries see, once; two operations per weight and token,
// at the peak of the products' type. Of experts the expected number is counted, for tokens that
// choose evenly. Not counted: the arithmetic of attention and norms, and activations, so the limit
// is a little optimistic.
// Pure functions. Threads: any.
#pragma once

#include <optional>

#include "apps/bench/rows.h"
#include "device/device.h"
#include "model/model.h"

namespace tandem::apps::bench {

struct Work {
  double weight_bytes = 0;
  double kv_bytes = 0;
  device::PeakOps ops;  // operations, by the type of their operands
  double total_ops() const { return ops.f32 + ops.bf16 + ops.int8; }
};

// The speeds from which the limit of a row is computed. The two bandwidths are the same where one
// device does both.
struct Speeds {
  double weight_bytes_per_s = 0;  // bandwidth of the compute device's memory
  double kv_bytes_per_s = 0;      // bandwidth of all attention devices together
  device::PeakOps ops_per_s;
};

struct Limit {
  double seconds = 0;  // 0: unknown
  bool by_memory = true;
};

// kv_bytes_per_token: bytes of K and V in all layers. `quantize`: the requested type of matrices
// while loading, if any.
Work work_of(const Row& row, const model::Model& model, double kv_bytes_per_token,
             std::optional<DType> quantize = {});

// A speed of 0 is unknown. If the work needs an unknown bandwidth, the limit is unknown. An unknown
// arithmetic speed is left out.
Limit limit_of(const Work& work, const Speeds& speeds);

// The expected number of different experts, of `count`, that `tokens` tokens use if each chooses
// `used`.
double experts_touched(int count, int used, double tokens);

}  // namespace tandem::apps::bench
