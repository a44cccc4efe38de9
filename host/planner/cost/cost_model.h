// SPDX-License-Identifier: Apache-2.0
//
// CostTable: the times of the parts of a step on each device, measured or from data sheets.
//
// Times are seconds. The time of a part depends only on its amount of work, and never falls when
// the amount grows. Times of attention and launches are per layer; times of dense layers are per
// step. corrected() adapts a part to measurements while the engine serves. Threads: values. Errors:
// none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/cost/curve.h"
#include "tensor/dtype.h"

namespace tandem::planner {

// The properties of a batch, besides its amounts, that decide the speed of an attention unit.
struct AttentionKind {
  int head_group = 1;  // query heads per KV head
  DType kv_dtype = DType::kF16;
  friend bool operator==(const AttentionKind&, const AttentionKind&) = default;
};

// The amounts of one batch, summed over its sequences.
struct AttentionWork {
  double rows = 0;    // query rows
  double tokens = 0;  // tokens whose K and V are read from memory
  double pairs = 0;   // (query row, token) pairs

  AttentionWork& operator+=(const AttentionWork& more);
};

struct AttentionCost {
  AttentionKind kind;
  Curve by_tokens;        // the time if memory is the limit
  double per_pair_s = 0;  // the time per pair if arithmetic is the limit
  double per_row_s = 0;   // added to either
  int rows_per_read = 1;  // rows of a sequence that share one read of its tokens
  double correction = 1;  // recent ratio of measured to predicted time

  double seconds(const AttentionWork& work) const;
  // The work of `rows` queries of one sequence that attend to the same `held` tokens.
  AttentionWork work_of(double rows, double held) const;
  friend bool operator==(const AttentionCost&, const AttentionCost&) = default;
};

struct LinkCost {
  double latency_s = 0;
  double bytes_per_s = 0;  // 0: no link, for the compute device's own memory

  double seconds(double bytes) const {
    return bytes_per_s > 0 ? latency_s + bytes / bytes_per_s : 0;
  }
  friend bool operator==(const LinkCost&, const LinkCost&) = default;
};

struct DeviceCost {
  std::string id;       // "cuda:0", or a preset's name
  std::string driver;   // version of driver and firmware; empty for a data sheet
  Curve dense_by_rows;  // all dense layers; empty if the device computes none
  double dense_correction = 1;
  std::vector<AttentionCost> attention;  // one per kind; empty if the device does not attend
  LinkCost to_device, from_device;
  double launch_s = 0;       // of the work of one layer
  double merge_row_s = 0;    // of one row of one layer
  double causal_pair_s = 0;  // of a row with a token of its own chunk, of one layer
  double sampling_s = 0, sampling_row_s = 0;  // of a step with tokens, and of one of its rows
  double page_move_s = 0;                     // one page out to host memory, or in

  double dense_s(double rows) const { return dense_by_rows(rows) * dense_correction; }
  // Returns the cost of this kind; nullptr if it was not measured.
  const AttentionCost* attention_of(const AttentionKind& kind) const;
  friend bool operator==(const DeviceCost&, const DeviceCost&) = default;
};

// What a table was measured for. If the key differs, the caller measures again.
struct CostKey {
  std::string machine, model, options;
  friend bool operator==(const CostKey&, const CostKey&) = default;
};

struct CostTable {
  CostKey key;
  std::vector<DeviceCost> devices;

  const DeviceCost* find(std::string_view id) const;  // nullptr: no such device
  friend bool operator==(const CostTable&, const CostTable&) = default;
};

// Returns the new correction of a part that was predicted with `correction` and then measured. It
// is an exponential mean over about eight steps. A change by more than a factor of 4 takes effect
// at once, so that the next step sees a device that became slow. Times of 0 change nothing.
double corrected(double correction, double predicted_s, double measured_s);

}  // namespace tandem::planner
