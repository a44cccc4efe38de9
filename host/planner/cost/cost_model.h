// SPDX-License-Identifier: Apache-2.0
//
// CostTable: what the parts of a step cost on each device, measured or from data sheets.
//
// Times are seconds. A part is a pure function of its amount and never falls when the amount grows.
// All times of attention and of launches are those of one layer; dense layers are those of a whole
// step. correct() moves a part towards what was measured while serving. Threads: values. Errors:
// none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/cost/curve.h"
#include "tensor/dtype.h"

namespace tandem::planner {

// What the speed of an attention unit depends on besides the amounts.
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
  Curve by_tokens;        // bound by memory
  double per_pair_s = 0;  // bound by arithmetic
  double per_row_s = 0;   // besides either
  int rows_per_read = 1;  // rows of a sequence that share one read of its tokens
  double correction = 1;  // measured over predicted, lately

  double seconds(const AttentionWork& work) const;
  // `rows` queries of one sequence over the same `held` tokens.
  AttentionWork work_of(double rows, double held) const;
  friend bool operator==(const AttentionCost&, const AttentionCost&) = default;
};

struct LinkCost {
  double latency_s = 0;
  double bytes_per_s = 0;  // 0: no link, as of the compute device's own memory

  double seconds(double bytes) const {
    return bytes_per_s > 0 ? latency_s + bytes / bytes_per_s : 0;
  }
  friend bool operator==(const LinkCost&, const LinkCost&) = default;
};

struct DeviceCost {
  std::string id;       // "cuda:0", or a preset's name
  std::string driver;   // version of driver and firmware; a data sheet has none
  Curve dense_by_rows;  // all dense layers; empty where the device computes none
  double dense_correction = 1;
  std::vector<AttentionCost> attention;  // one per kind; empty where it attends nothing
  LinkCost to_device, from_device;
  double launch_s = 0;       // of the work of one layer
  double merge_row_s = 0;    // of one row of one layer
  double causal_pair_s = 0;  // of a row with a token of its own chunk, of one layer
  double sampling_row_s = 0;
  double page_move_s = 0;  // one page out to host memory, or in

  double dense_s(double rows) const { return dense_by_rows(rows) * dense_correction; }
  // Of this kind; null where it was not measured.
  const AttentionCost* attention_of(const AttentionKind& kind) const;
  friend bool operator==(const DeviceCost&, const DeviceCost&) = default;
};

// For what a table was measured. A table of anything else is measured anew.
struct CostKey {
  std::string machine, model, options;
  friend bool operator==(const CostKey&, const CostKey&) = default;
};

struct CostTable {
  CostKey key;
  std::vector<DeviceCost> devices;

  const DeviceCost* find(std::string_view id) const;  // null: there is none
  friend bool operator==(const CostTable&, const CostTable&) = default;
};

// The new correction of a part that was predicted with `correction` and then measured: an
// exponential mean over some eight steps. A change by more than 4 is taken at once, so that a
// device that slows down is seen in the next step. Times of 0 change nothing.
double corrected(double correction, double predicted_s, double measured_s);

}  // namespace tandem::planner
