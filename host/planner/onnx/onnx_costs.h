// SPDX-License-Identifier: Apache-2.0
//
// OnnxCosts: how long an operator takes on a device of a data sheet, by the roofline rule.
//
// The longer one of operations / rate and bytes / bandwidth, and the sheet's time of a launch.
// Rate and bandwidth are those that the sheet says software reaches. The rate holds for elements of
// 16 bits; those of 32 bits take twice as long, of 64 bits four times. Bytes are those of inputs
// and outputs; Gather reads what it gives. Operations: two per step of a product, one per element
// of a window, eight per element where rows are normalised, else one per element of the larger
// side. Views (Reshape, Identity, ...) and constants take no time. An operator of unknown shapes
// takes the launch. Threads: values. Errors: Error for a sheet of a card that runs no dense layers.
#pragma once

#include "planner/hardware/device_sheet.h"
#include "planner/onnx/onnx_shapes.h"

namespace tandem::planner {

// Operators that take no time and whose output is their input.
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
