// SPDX-License-Identifier: Apache-2.0
//
// Predicts where the optimiser's step should run: on the compute device, in host memory, or (tables
// only) on cards. Pure functions of facts that are known before the first step.
//
// A step of P parameters moves 28 bytes per parameter where it runs, 30 with a copy in bf16. On the
// compute device it follows the backward pass. In host memory gradients come and weights go over
// the device's link, a rank updates its share and gathers the rest. These three run as a pipeline
// of buckets beside backward, unless the backward pass uses the same cores and memory: then they
// follow one another. At least the way of one bucket through all three comes after backward. Rows
// of tables: a card takes the sums of rows and returns the updated rows; the host reads and writes
// rows and state in its own memory. README.md derives the terms.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::training {

enum class OffloadPlace : std::uint8_t { kNone, kHost, kCards };

struct DenseOffloadCosts {
  std::uint64_t parameters = 0;
  std::uint64_t buckets = 1;
  int world = 1;
  bool bf16_copy = false;     // bf16 weights travel to the device instead of f32
  bool shares_cores = false;  // the host computes the backward pass too
  double backward_s = 0;      // with the sums of gradients that it does not hide
  double device_bytes_per_s = 0, host_bytes_per_s = 0;
  double link_bytes_per_s = 0;     // device to host and back; 0: gradients are in host memory
  double network_bytes_per_s = 0;  // of the gather between ranks
  std::uint64_t device_free_bytes = UINT64_MAX;  // for optimiser state
};

struct RowOffloadCosts {
  double rows = 0;    // unique ones of a step
  double inputs = 0;  // rows before repeated ones are summed
  std::uint32_t width = 1;
  double state_values = 0;  // per row
  int cards = 1;
  double host_bytes_per_s = 0;
  double link_bytes_per_s = 0;  // of a card
  double transfer_s = 10e-6, command_s = 20e-6;
  double card_cycles_per_value = 0.25;  // of the kernel, per unit
  int card_units = 1;
  double clock_hz = 300e6;
};

struct OffloadPrediction {
  OffloadPlace place = OffloadPlace::kNone;
  double none_s = 0, offload_s = 0;  // of a step
  bool fits = true;                  // without offload
  std::string reason;                // a sentence with the figures
};

double dense_step_seconds(const DenseOffloadCosts& costs, OffloadPlace place);
double row_step_seconds(const RowOffloadCosts& costs, OffloadPlace place);

// kHost where it is predicted to be faster than kNone, or where the state does not fit the device.
OffloadPrediction choose_dense_offload(const DenseOffloadCosts& costs);
// kCards where it is predicted to be faster than the host's own memory.
OffloadPrediction choose_row_offload(const RowOffloadCosts& costs);

}  // namespace tandem::training
