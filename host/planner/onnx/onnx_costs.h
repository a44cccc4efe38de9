// SPDX-License-Identifier: Apache-2.0
//
// OnnxCosts: the time of an operator on a device, by the roofline rule from its data sheet.
//
// The time is max(operations / rate, bytes / bandwidth) plus the launch time of the sheet. Rate and
// bandwidth are the shares that software reaches. The rate is for 16-bit elements; 32-bit elements
// take twice as long, 64-bit four times. Bytes are those of inputs and outputs; Gather reads as
// many bytes as it writes. Operations: two per multiply-add of a product, one per element of a
// window, eight per element of a normalised row, else one per element of the larger side. Views
// (Reshape, Identity, ...) and constants take no time. An operator of unknown shape takes the
// launch time. Threads: values. Errors: Error for a device that runs no dense layers.
#pragma once

#include "planner/hardware/device_sheet.h"
#include "planner/onnx/onnx_shapes.h"

namespace tandem::planner {

// Operators that take no time because their output is their input.
bool is_onnx_view(const OnnxNode& node);
double onnx_operations(const OnnxCall& call, const OnnxShapes& shapes);
double onnx_bytes(const OnnxCall& call, const OnnxShapes& shapes);

class OnnxCosts {
 public:
  explicit OnnxCosts(const DeviceSheet& sheet);

  double seconds(const OnnxCall& call, const OnnxShapes& shapes) const;

 private:
  double ops_per_s_, bytes_per_s_, launch_s_;
};

}  // namespace tandem::planner
