// SPDX-License-Identifier: Apache-2.0
//
// plan_sibling: plans a generated tensor with the features of a given tensor.
//
// Takes from the features: sizes, number of entries, non-empty fibres of the last mode, non-empty
// slices of the last two modes, their coefficients of variation, and the greatest counts. Pure;
// threads: any. Errors: Error("generate", ...) if a row is missing or the numbers contradict each
// other.
#pragma once

#include "tensor/sparse/features/features.h"
#include "tensor/sparse/generate/tensor_generator.h"

namespace tandem::sparse {

TensorPlan plan_sibling(const TensorFeatures& features);

}  // namespace tandem::sparse
