// SPDX-License-Identifier: Apache-2.0
//
// Device: one piece of hardware that computes dense layers, attends, adds up sparse vectors, or
// selects from gradients.
//
// Callers check its abilities (makes_compute, makes_attention, ...), never its kind; `kind` is only
// for display. Ownership: a device outlives its units. Threads: info() from any; units are made
// from one. Errors: making a unit throws Error (arguments, memory) or DeviceError (hardware).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "device/aggregation_unit.h"
#include "device/attention_unit.h"
#include "device/compute_unit.h"
#include "device/peer_copy.h"
#include "device/reducer.h"

namespace tandem::device {

class SelectionUnit;  // selection_unit.h
struct SelectionShape;
class GradientMemory;  // gradient_memory.h
class TableUnit;       // table_unit.h

// Multiplications plus additions per second, of all cores, by operand type; 0: unknown.
struct PeakOps {
  double f32 = 0, bf16 = 0, int8 = 0;
};

struct DeviceInfo {
  std::string id;    // "cpu", "opencl:0", "xrt:1": a value of --attention
  std::string kind;  // "cpu", "opencl", "xrt", "cuda"
  std::string name;  // the name that the vendor gives the hardware
  std::uint64_t memory_bytes = 0;
  double memory_bandwidth_bytes_per_s = 0;  // 0: unknown
  PeakOps peak_ops_per_s;
  // between the device and host memory; 0 if the device's memory is host memory
  double link_bandwidth_bytes_per_s = 0;
  double link_latency_us = 0;
  bool makes_compute = false;
  bool makes_attention = false;
  bool attends_windows = false;  // whether AttentionSequence::attend_begin may be other than 0
  bool attends_softcap = false;  // whether AttentionBatch::softcap may be other than 0
  bool makes_aggregation = false;
  bool makes_selection = false;
  bool makes_tables = false;
};

// Adds the number 0 to every id without a number, because "cuda" and "cuda:0" are one device. `id`:
// one id, or several joined by "+".
std::string full_id(std::string_view id);

struct AttentionUnitOptions {
  AttentionGeometry geometry;
  std::uint64_t kv_bytes = 0;   // memory for pages; 0: the device's free memory, less a reserve
  std::uint32_t max_pages = 0;  // upper bound on pages; 0: none
  // Device memory that is reserved for what the compute unit has not loaded or allocated yet.
  std::uint64_t kept_bytes = 0;
  int max_batch_rows = 512;  // rows of q, k, v in one batch, for staging memory
};

// The speed of the hardware at one moment.
struct DeviceSpeed {
  double memory_bandwidth_bytes_per_s = 0;  // 0: unknown
  PeakOps peak_ops_per_s;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // Both throw Error if info() says that the device does not make this kind of unit.
  virtual std::unique_ptr<ComputeUnit> make_compute_unit() = 0;
  virtual std::unique_ptr<AttentionUnit> make_attention_unit(
      const AttentionUnitOptions& options) = 0;
  virtual std::unique_ptr<AggregationUnit> make_aggregation_unit();
  // Call these two only if info().makes_selection.
  virtual std::unique_ptr<SelectionUnit> make_selection_unit(const SelectionShape& shape);
  virtual std::unique_ptr<GradientMemory> make_gradient_memory();
  virtual std::unique_ptr<TableUnit> make_table_unit();

  // How `units`, made by devices of this kind, copy to each other and add up. Null: only through
  // host memory. The units outlive the result.
  virtual std::unique_ptr<PeerCopy> make_peer_copy(std::span<ComputeUnit* const> units);
  virtual std::unique_ptr<Reducer> make_reducer(std::span<ComputeUnit* const> units);

  // Measures the speed now, in some tens of milliseconds. A device that cannot measure returns the
  // values of info(). For comparing work with the speed of the machine at that time. Not while a
  // unit works.
  virtual DeviceSpeed speed_now();
};

}  // namespace tandem::device
