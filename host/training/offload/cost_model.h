// SPDX-License-Identifier: Apache-2.0
//
// Predicts where the optimiser should run: on the compute device, in host memory, or (only for
// tables) on cards. Pure functions of figures that are known before the first step.
//
// A parameter moves 28 bytes per step where the optimiser runs, 30 with a copy in bf16. On the
// compute device the update follows the backward pass. In host memory, gradients and weights also
// cross the device's link, and a rank updates its share and gathers the rest. These three parts
// form a pipeline of buckets that overlaps with the backward pass. If the backward pass uses the
// same cores and memory, the parts follow it instead. At least one bucket passes through all three
// parts after the backward pass. Tables: a card receives the sums of rows and returns the updated
// rows. README.md derives the terms.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::training {

enum class OffloadPlace : std::uint8_t { kNone, kHost, kCards };

struct DenseOffloadCosts {
  std::uint64_t parameters = 0;
  std::uint64_t buckets = 1;
  int world = 1;
  bool bf16_copy = false;     // bf16 weights are sent to the device instead of f32
  bool shares_cores = false;  // the host also computes the backward pass
  double backward_s = 0;      // including sums of gradients that do not overlap with it
  double device_bytes_per_s = 0, host_bytes_per_s = 0;
  double link_bytes_per_s = 0;     // device to host and back; 0: gradients are in host memory
  double network_bytes_per_s = 0;  // of the gather between ranks
  std::uint64_t device_free_bytes = UINT64_MAX;  // for optimiser state
};

struct RowOffloadCosts {
  double rows = 0;    // different rows of a step
  double inputs = 0;  // rows before repeated ones are added
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
  double none_s = 0, offload_s = 0;  // times of a step
  bool fits = true;                  // whether the state fits without offload
  std::string reason;                // one sentence with the figures
};

double dense_step_seconds(const DenseOffloadCosts& costs, OffloadPlace place);
double row_step_seconds(const RowOffloadCosts& costs, OffloadPlace place);

// kHost if it is predicted to be faster than kNone, or if the state does not fit on the device.
OffloadPrediction choose_dense_offload(const DenseOffloadCosts& costs);
// kCards if it is predicted to be faster than the host's own memory.
OffloadPrediction choose_row_offload(const RowOffloadCosts& costs);

}  // namespace tandem::training
