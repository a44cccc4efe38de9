// SPDX-License-Identifier: Apache-2.0
//
// Scales of an F8_E4M3 matrix, from the separate tensor of a published file.
//
// They are checked against the matrix's shape and config.json, and converted to f32. Memory: 4
// bytes per scale. Threads: any; pure functions. Errors: Error("safetensors", "FILE: tensor
// 'x.weight_scale':
// ...").
#pragma once

#include <vector>

#include "model/loader/hub/quantization.h"
#include "model/loader/safetensors/safetensors_file.h"
#include "tensor/weight_scales.h"

namespace tandem::model {

// Stored scales and the file that contains them.
struct StoredScales {
  const SafetensorsFile* file = nullptr;
  const SafetensorsTensor* tensor = nullptr;
};

// Fills `values`; the result borrows them. `weight` has two dimensions.
WeightScales read_f8_scales(const HubQuantization& quantization, const SafetensorsTensor& weight,
                            const StoredScales& stored, std::vector<float>& values);

}  // namespace tandem::model
