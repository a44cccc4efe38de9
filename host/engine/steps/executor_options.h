// SPDX-License-Identifier: Apache-2.0
//
// What the executor and its parts are told once.
#pragma once

#include <chrono>
#include <string>

#include "engine/weights/weight_loader.h"
#include "tensor/dtype.h"
#include "trace/timeline.h"

namespace tandem::engine {

// Whether units behind a link are sent q, to attend to the past, before k and v are projected;
// kAuto: where projecting them takes longer than submitting once more.
enum class EarlyQuery { kOff, kOn, kAuto };

constexpr int kMaxLogitRows = 64;

struct ExecutorOptions {
  int max_rows = 256;                  // of a step
  int max_logit_rows = kMaxLogitRows;  // of one output projection; more rows run in several
  int page_tokens = 16;
  DType kv_dtype = DType::kF16;
  std::chrono::milliseconds device_timeout{10000};
  WeightOptions weights;
  EarlyQuery early_query = EarlyQuery::kAuto;
  // Units outside the compute unit's queue are fed by rings where it has them (attention_ring.h).
  bool rings = true;
  double compute_bandwidth_bytes_per_s = 0;  // of the weights' memory, for kAuto; 0: unknown
  trace::Timeline* timeline = nullptr;
  std::string compute_id = "cpu";  // on the timeline
};

}  // namespace tandem::engine
