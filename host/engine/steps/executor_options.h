// SPDX-License-Identifier: Apache-2.0
//
// Options of the executor and its parts.
#pragma once

#include <chrono>
#include <string>

#include "engine/weights/weight_loader.h"
#include "tensor/dtype.h"
#include "trace/timeline.h"

namespace tandem::engine {

// Whether units with a link get q before k and v are projected, and attend to the past meanwhile.
// kAuto: if the projection takes longer than one more submission.
enum class EarlyQuery { kOff, kOn, kAuto };

constexpr int kMaxLogitRows = 64;

struct ExecutorOptions {
  int max_rows = 256;  // most rows of a step
  int max_logit_rows =
      kMaxLogitRows;  // most rows of one output projection; more rows need several projections
  int page_tokens = 16;
  DType kv_dtype = DType::kF16;
  std::chrono::milliseconds device_timeout{10000};
  WeightOptions weights;
  EarlyQuery early_query = EarlyQuery::kAuto;
  // Whether rings feed units outside the compute unit's queue, if the compute unit supports rings
  // (attention_ring.h).
  bool rings = true;
  // bandwidth of the weights' memory, for kAuto; 0: unknown
  double compute_bandwidth_bytes_per_s = 0;
  trace::Timeline* timeline = nullptr;
  std::string compute_id = "cpu";  // name of the compute unit on the timeline
};

}  // namespace tandem::engine
