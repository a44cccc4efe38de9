// SPDX-License-Identifier: Apache-2.0
//
// Device: one piece of hardware that can compute dense layers, attend, add up sparse vectors.
//
// Callers ask what it can do (makes_compute, makes_attention, makes_aggregation), never what it is;
// `kind` is for people. Ownership: units must not outlive their device. Threads: any for info();
// making units from one thread. Errors: making a unit throws Error (arguments, memory) or
// DeviceError (hardware).
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

// Multiplications and additions per second, each counted, of all cores by operand type; 0: unknown.
struct PeakOps {
  double f32 = 0, bf16 = 0, int8 = 0;
};

struct DeviceInfo {
  std::string id;    // "cpu", "opencl:0", "xrt:1": what --attention takes
  std::string kind;  // "cpu", "opencl", "xrt", "cuda"
  std::string name;  // as the vendor calls it
  std::uint64_t memory_bytes = 0;
  double memory_bandwidth_bytes_per_s = 0;  // 0: unknown
  PeakOps peak_ops_per_s;
  double link_bandwidth_bytes_per_s = 0;  // to host memory; 0 where it is host memory
  double link_latency_us = 0;
  bool makes_compute = false;
  bool makes_attention = false;
  bool attends_windows = false;  // AttentionSequence::attend_begin
  bool attends_softcap = false;  // AttentionBatch::softcap
  bool makes_aggregation = false;
};

// An id, or ids joined by "+", with every number: "cuda" and "cuda:0" are one device.
std::string full_id(std::string_view id);

struct AttentionUnitOptions {
  AttentionGeometry geometry;
  std::uint64_t kv_bytes = 0;   // memory for pages; 0: what the device has free, less a reserve
  std::uint32_t max_pages = 0;  // upper bound on pages; 0: none
  // Of the device's own memory: what its compute unit is still to load and to allocate.
  std::uint64_t kept_bytes = 0;
  int max_batch_rows = 512;  // rows of q, k, v in one batch, for staging memory
};

// What the hardware gives at one moment.
struct DeviceSpeed {
  double memory_bandwidth_bytes_per_s = 0;  // 0: unknown
  PeakOps peak_ops_per_s;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;

  // Throw Error when info() says that the device does not make this kind of unit.
  virtual std::unique_ptr<ComputeUnit> make_compute_unit() = 0;
  virtual std::unique_ptr<AttentionUnit> make_attention_unit(
      const AttentionUnitOptions& options) = 0;
  virtual std::unique_ptr<AggregationUnit> make_aggregation_unit();

  // How `units`, made by devices of this kind, reach each other and add up; null where only through
  // host memory. The units must outlive it.
  virtual std::unique_ptr<PeerCopy> make_peer_copy(std::span<ComputeUnit* const> units);
  virtual std::unique_ptr<Reducer> make_reducer(std::span<ComputeUnit* const> units);

  // Measured anew where the device can, which takes some tens of milliseconds, else what info()
  // says: for comparing work with what the machine gave while it was done. Not while a unit works.
  virtual DeviceSpeed speed_now();
};

}  // namespace tandem::device
