// SPDX-License-Identifier: Apache-2.0
//
// TableUnit: a device that keeps embedding tables with their optimiser state and updates rows.
//
// The caller has a copy of the tables (TableArrays). load() copies them to the device. update()
// changes rows there and writes the new rows, weights and state, back to the caller's arrays. So
// these are always complete and current, and the host can continue from them when a device is lost.
// If a row is listed several times, its gradients are added in their order, and it is updated once.
// Numerics: the bits of host/training/optimizer, except for the payload of a NaN. Ownership: arrays
// are borrowed during a call. Threads: one at a time.
// Errors: Error, with nothing changed, for arguments that do not fit or are out of range; when
// memory is too small, load() names the bytes needed and present. DeviceError, with the unit lost
// (every later call fails at once) and the caller's arrays unchanged, if started work failed or
// missed the deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "common/deadline.h"

namespace tandem::device {

enum class TableRule : std::uint8_t { kSgd, kRowwiseAdagrad, kRowAdam };
enum class TableDecay : std::uint8_t { kNone, kL2, kDecoupled };

struct TableShape {
  TableRule rule = TableRule::kSgd;
  std::uint32_t width = 1;
  std::uint64_t num_rows = 0;
};

// first: [num_rows] for kRowwiseAdagrad, [num_rows, width] for kRowAdam. second: kRowAdam only.
struct TableArrays {
  std::span<float> weights;  // [num_rows, width]
  std::span<float> first, second;
};

// The factors of host/training/optimizer; fields that a rule does not use are 0.
struct TableFactors {
  TableDecay decay_mode = TableDecay::kNone;
  float scale = 1, rate = 0, decay = 0, epsilon = 0;
  float beta1 = 0, rest1 = 0, beta2 = 0, rest2 = 0, correct1 = 0, correct2 = 0;
};

struct TableUpdate {
  std::uint32_t table = 0;              // index in the list of load()
  std::span<const std::uint32_t> rows;  // in any order, also repeated
  std::span<const float> gradients;     // [rows.size(), width]
  TableFactors factors;
};

struct TableReport {
  std::uint64_t updated_rows = 0;
  double modelled_seconds = 0;  // duration by the device's own model; 0: it has none
};

class TableUnit {
 public:
  virtual ~TableUnit() = default;
  virtual std::string name() const = 0;  // "xrt:0"

  // Replaces the tables of the unit. arrays: one per shape.
  virtual void load(std::span<const TableShape> shapes, std::span<const TableArrays> arrays,
                    Deadline deadline) = 0;

  virtual TableReport update(const TableUpdate& update, const TableArrays& arrays,
                             Deadline deadline) = 0;
};

}  // namespace tandem::device
