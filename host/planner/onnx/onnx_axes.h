// SPDX-License-Identifier: Apache-2.0
//
// axes_dims: output shapes of ONNX operators that rearrange dimensions; and functions to read axes.
//
// Threads: pure. Errors: Error("onnx", ...) naming the operator and the attribute.
#pragma once

#include <string_view>

#include "planner/onnx/onnx_operators.h"

namespace tandem::planner {

// The shape for Reshape, Transpose, Concat, Gather, Slice and similar operators. Returns nothing if
// the inputs do not determine it, or for any other operator.
std::optional<OnnxDims> axes_dims(const OnnxCall& call);
std::vector<std::optional<OnnxDims>> split_dims(const OnnxCall& call);

// Returns the numbers of an attribute, or `otherwise` if it is missing. Throws Error if there are
// not `count` numbers, or if one exceeds 2^20.
OnnxDims small_numbers(const OnnxCall& call, std::string_view name, const OnnxDims& otherwise,
                       std::size_t count);

// Returns an attribute, or the values of input `place` if there is no such attribute. Returns
// nothing if neither is known.
std::optional<OnnxDims> numbers_of(const OnnxCall& call, std::string_view name, std::size_t place);

// Returns the axis as 0 <= axis < rank. Negative axes count from the end.
std::size_t axis_in(const OnnxCall& call, std::int64_t axis, std::size_t rank);

}  // namespace tandem::planner
