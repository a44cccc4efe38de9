// SPDX-License-Identifier: Apache-2.0
//
// Shapes of operators that rearrange dimensions: axes_dims(), and what they share.
//
// Threads: pure. Errors: Error("onnx", ...) naming the operator and the attribute.
#pragma once

#include <string_view>

#include "planner/onnx/onnx_operators.h"

namespace tandem::planner {

// Of Reshape, Transpose, Concat, Gather, Slice and their kind; nothing where it does not follow, or
// for an operator that is none of them.
std::optional<OnnxDims> axes_dims(const OnnxCall& call);
std::vector<std::optional<OnnxDims>> split_dims(const OnnxCall& call);

// The numbers of an attribute, `otherwise` where it is not there. Throws Error where there are not
// `count` or one is beyond 2^20.
OnnxDims small_numbers(const OnnxCall& call, std::string_view name, const OnnxDims& otherwise,
                       std::size_t count);

// An attribute, or the values of the input at `place` where it is none; nothing where neither is
// known.
std::optional<OnnxDims> numbers_of(const OnnxCall& call, std::string_view name, std::size_t place);

// 0 <= axis < rank. Negative ones count from the end.
std::size_t axis_in(const OnnxCall& call, std::int64_t axis, std::size_t rank);

}  // namespace tandem::planner
