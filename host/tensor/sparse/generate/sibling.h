// SPDX-License-Identifier: Apache-2.0
//
// plan_sibling: a plan for a tensor with the features of another.
//
// Taken from the features: sizes, entries, fibres of the last mode and slices of the last two modes
// that have entries, the coefficients of variation over these, and the greatest counts. Pure;
// threads: any. Errors: Error("generate", ...) where the row that has them is missing, or where the
// numbers contradict each other.
#pragma once

#include "tensor/sparse/features/features.h"
#include "tensor/sparse/generate/tensor_generator.h"

namespace tandem::sparse {

TensorPlan plan_sibling(const TensorFeatures& features);

}  // namespace tandem::sparse
