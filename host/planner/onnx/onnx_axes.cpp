// SPDX-License-Identifier: Apache-2.0
//
// Axes are attributes up to operator set 12, and inputs from 13 on; both are read.
#include "planner/onnx/onnx_axes.h"

#include <algorithm>
#include <numeric>

namespace tandem::planner {
namespace {

using MaybeDims = std::optional<OnnxDims>;

bool is_given(const OnnxCall& call, std::size_t input) {
  return call.node.inputs.size() > input && !call.node.inputs[input].empty();
}

MaybeDims reshape_dims(const OnnxCall& call) {
  const OnnxShape* data = call.input(0);
  const MaybeDims wanted = numbers_of(call, "shape", 1);
  if (data == nullptr || !wanted) return std::nullopt;
  const std::int64_t all = num_elements(data->dims, call.name);
  const bool keeps_zero = call.node.number("allowzero", 0) != 0;
  OnnxDims dims = *wanted, rest;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !keeps_zero && i < data->dims.size()) dims[i] = data->dims[i];
    if (dims[i] < -1) call.refuse("the shape has " + std::to_string(dims[i]));
    if (dims[i] >= 0) rest.push_back(dims[i]);
  }
  const std::int64_t known = num_elements(rest, call.name);
  if (rest.size() + 1 == dims.size()) {
    if (known > 0 && all % known == 0) *std::ranges::find(dims, -1) = all / known;
    if (known == 0) *std::ranges::find(dims, -1) = 0;
  }
  if (std::ranges::count(dims, -1) > 0 || num_elements(dims, call.name) != all) {
    call.refuse("the input " + dims_text(data->dims) + " does not fill " + dims_text(*wanted));
  }
  return dims;
}

MaybeDims flatten_dims(const OnnxCall& call) {
  const OnnxShape* data = call.input(0);
  if (data == nullptr) return std::nullopt;
  const auto& from = data->dims;
  // The rank itself is an axis too, but negative ones count from the last dimension.
  const std::int64_t wanted = call.node.number("axis", 1);
  const auto axis = axis_in(call, wanted, wanted < 0 ? from.size() : from.size() + 1);
  const auto middle = from.begin() + static_cast<std::ptrdiff_t>(axis);
  return OnnxDims{num_elements(OnnxDims(from.begin(), middle), call.name),
                  num_elements(OnnxDims(middle, from.end()), call.name)};
}

MaybeDims transpose_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr) return std::nullopt;
  const OnnxDims& from = call.input(0)->dims;
  OnnxDims order(from.size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = small_numbers(call, "perm", order, from.size());
  OnnxDims dims, sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) {
      call.refuse("'perm' " + dims_text(order) + " is not an order of axes");
    }
    dims.push_back(from[static_cast<std::size_t>(order[i])]);
  }
  return dims;
}

MaybeDims concat_dims(const OnnxCall& call) {
  OnnxDims dims;
  for (const OnnxShape* input : call.inputs) {
    if (input == nullptr) return std::nullopt;
    if (dims.empty()) {
      dims = input->dims;
      axis_in(call, call.node.number("axis", 0), dims.size());
      continue;
    }
    const std::size_t axis = axis_in(call, call.node.number("axis", 0), dims.size());
    OnnxDims others = input->dims;
    if (others.size() == dims.size()) others[axis] = dims[axis];
    if (others != dims) {
      call.refuse("the input " + dims_text(input->dims) + " does not go with the others");
    }
    dims[axis] += input->dims[axis];
    num_elements(dims, call.name);
  }
  return dims;
}

MaybeDims squeeze_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr) return std::nullopt;
  const OnnxDims& from = call.input(0)->dims;
  const bool names_axes = call.node.attribute("axes") != nullptr || is_given(call, 1);
  const MaybeDims axes = numbers_of(call, "axes", 1);
  if (names_axes && !axes) return std::nullopt;
  std::vector<bool> goes(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) goes[i] = !names_axes && from[i] == 1;
  for (const std::int64_t axis : axes.value_or(OnnxDims())) {
    goes[axis_in(call, axis, from.size())] = true;
  }
  OnnxDims dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (goes[i] && from[i] != 1) call.refuse("an axis of " + dims_text(from) + " is not 1");
    if (!goes[i]) dims.push_back(from[i]);
  }
  return dims;
}

MaybeDims unsqueeze_dims(const OnnxCall& call) {
  const MaybeDims axes = numbers_of(call, "axes", 1);
  if (call.input(0) == nullptr || !axes) return std::nullopt;
  const OnnxDims& from = call.input(0)->dims;
  std::vector<bool> is_new(from.size() + axes->size());
  for (const std::int64_t axis : *axes) {
    auto place = is_new.begin() + static_cast<std::ptrdiff_t>(axis_in(call, axis, is_new.size()));
    if (*place) call.refuse("'axes' names an axis twice");
    *place = true;
  }
  OnnxDims dims;
  std::size_t next = 0;
  for (const bool is_one : is_new) dims.push_back(is_one ? 1 : from[next++]);
  return dims;
}

MaybeDims reduce_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr) return std::nullopt;
  const OnnxDims& from = call.input(0)->dims;
  const bool is_arg = call.node.op_type.starts_with("Arg");
  const bool has_input = !is_arg && is_given(call, 1);
  MaybeDims axes = numbers_of(call, "axes", 1);
  if (is_arg) axes = OnnxDims{call.node.number("axis", 0)};
  if (has_input && !axes) return std::nullopt;
  std::vector<bool> goes(from.size(), false);
  const bool takes_all = !axes || axes->empty();
  if (takes_all && call.node.number("noop_with_empty_axes", 0) == 0) goes.assign(from.size(), true);
  for (const std::int64_t axis : axes.value_or(OnnxDims())) {
    goes[axis_in(call, axis, from.size())] = true;
  }
  OnnxDims dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!goes[i]) dims.push_back(from[i]);
    if (goes[i] && call.node.number("keepdims", 1) != 0) dims.push_back(1);
  }
  return dims;
}

MaybeDims gather_dims(const OnnxCall& call) {
  if (call.input(0) == nullptr || call.input(1) == nullptr) return std::nullopt;
  OnnxDims dims = call.input(0)->dims;
  const OnnxDims& indices = call.input(1)->dims;
  const auto axis = axis_in(call, call.node.number("axis", 0), dims.size());
  const auto place = dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(place, indices.begin(), indices.end());
  return dims;
}

// Clamped to 0 .. size, or 0 .. size - 1 for steps backwards.
std::int64_t slice_begin(std::int64_t at, std::int64_t size, bool is_back) {
  if (at < 0) at = at < -size ? 0 : at + size;
  return std::clamp<std::int64_t>(at, 0, is_back ? std::max<std::int64_t>(0, size - 1) : size);
}

// Clamped to 0 .. size, or -1 .. size - 1 for steps backwards.
std::int64_t slice_end(std::int64_t at, std::int64_t size, bool is_back) {
  if (at < 0) at = at < -size ? -1 : at + size;
  return is_back ? std::clamp<std::int64_t>(at, -1, size - 1)
                 : std::clamp<std::int64_t>(at, 0, size);
}

MaybeDims slice_dims(const OnnxCall& call) {
  const MaybeDims begins = numbers_of(call, "starts", 1), ends = numbers_of(call, "ends", 2);
  if (call.input(0) == nullptr || !begins || !ends) return std::nullopt;
  MaybeDims axes = numbers_of(call, "axes", 3), steps = numbers_of(call, "steps", 4);
  if ((is_given(call, 3) && !axes) || (is_given(call, 4) && !steps)) return std::nullopt;
  const std::size_t n = begins->size();
  if (!axes) {
    axes = OnnxDims(n);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!steps) steps = OnnxDims(n, 1);
  if (ends->size() != n || axes->size() != n || steps->size() != n) {
    call.refuse("'starts', 'ends', 'axes' and 'steps' have different lengths");
  }
  OnnxDims dims = call.input(0)->dims;
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t& size = dims[axis_in(call, (*axes)[i], dims.size())];
    const std::int64_t step = (*steps)[i];
    if (step == 0) call.refuse("a step is 0");
    const std::int64_t begin = slice_begin((*begins)[i], size, step < 0);
    const std::int64_t end = slice_end((*ends)[i], size, step < 0);
    const std::int64_t length = size == 0 ? 0 : step > 0 ? end - begin : begin - end;
    // Of a step as long as all or longer, one element remains.
    const std::int64_t width = step < -kMostOnnxElements ? kMostOnnxElements : std::abs(step);
    size = length <= 0 ? 0 : (length - 1) / width + 1;
  }
  return dims;
}

MaybeDims expand_dims(const OnnxCall& call) {
  const MaybeDims wanted = numbers_of(call, "shape", 1);
  if (call.input(0) == nullptr || !wanted) return std::nullopt;
  OnnxDims dims = *wanted;
  const OnnxDims& from = call.input(0)->dims;
  if (dims.size() < from.size()) dims.insert(dims.begin(), from.size() - dims.size(), 1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::int64_t& dim = dims[dims.size() - from.size() + i];
    if (dim == 1) dim = from[i];
    if (dim != from[i] && from[i] != 1) {
      call.refuse("the input " + dims_text(from) + " does not expand to " + dims_text(*wanted));
    }
  }
  return dims;
}

MaybeDims pad_dims(const OnnxCall& call) {
  const MaybeDims pads = numbers_of(call, "pads", 1);
  if (call.input(0) == nullptr || !pads || call.node.inputs.size() > 3) return std::nullopt;
  OnnxDims dims = call.input(0)->dims;
  if (pads->size() != 2 * dims.size()) call.refuse("'pads' does not have two numbers per axis");
  for (std::size_t i = 0; i < dims.size(); ++i) {
    for (const std::int64_t pad : {(*pads)[i], (*pads)[dims.size() + i]}) {
      if (std::abs(std::clamp(pad, -kMostOnnxElements - 1, kMostOnnxElements + 1)) >
          kMostOnnxElements) {
        call.refuse("'pads' has " + std::to_string(pad) + ", which is too large");
      }
      dims[i] += pad;
    }
    if (dims[i] < 0) call.refuse("'pads' remove more than the input has");
  }
  return dims;
}

MaybeDims constant_dims(const OnnxCall& call) {
  for (const OnnxAttribute& each : call.node.attributes) {
    if (each.name == "value" && each.tensor) return each.tensor->dims;
    if (each.name == "value_ints") return OnnxDims{static_cast<std::int64_t>(each.numbers.size())};
    if (each.name == "value_int" || each.name == "value_float") return OnnxDims{};
  }
  return std::nullopt;
}

}  // namespace

std::optional<OnnxDims> axes_dims(const OnnxCall& call) {
  const std::string& op = call.node.op_type;
  if (op == "Reshape") return reshape_dims(call);
  if (op == "Flatten") return flatten_dims(call);
  if (op == "Transpose") return transpose_dims(call);
  if (op == "Concat") return concat_dims(call);
  if (op == "Squeeze") return squeeze_dims(call);
  if (op == "Unsqueeze") return unsqueeze_dims(call);
  if (op.starts_with("Reduce") || op == "ArgMax" || op == "ArgMin") return reduce_dims(call);
  if (op == "Gather") return gather_dims(call);
  if (op == "Slice") return slice_dims(call);
  if (op == "Expand") return expand_dims(call);
  if (op == "Pad") return pad_dims(call);
  if (op == "Constant") return constant_dims(call);
  if (op == "ConstantOfShape" && call.input(0) != nullptr && call.input(0)->values) {
    return *call.input(0)->values;
  }
  if (op == "Shape" && call.input(0) != nullptr && call.node.attributes.empty()) {
    return OnnxDims{static_cast<std::int64_t>(call.input(0)->dims.size())};
  }
  return std::nullopt;
}

std::vector<std::optional<OnnxDims>> split_dims(const OnnxCall& call) {
  const std::size_t count = call.node.outputs.size();
  std::vector<std::optional<OnnxDims>> dims(count);
  if (call.input(0) == nullptr) return dims;
  const OnnxDims& from = call.input(0)->dims;
  const auto axis = axis_in(call, call.node.number("axis", 0), from.size());
  const bool names_sizes = call.node.attribute("split") != nullptr || is_given(call, 1);
  MaybeDims sizes = numbers_of(call, "split", 1);
  if (names_sizes && !sizes) return dims;
  if (!sizes) {
    const auto parts = static_cast<std::int64_t>(count);
    const std::int64_t part = (from[axis] + parts - 1) / parts;
    sizes = OnnxDims(count, part);
    sizes->back() = std::max<std::int64_t>(0, from[axis] - part * (parts - 1));
  }
  if (sizes->size() != count) call.refuse("'split' does not have one size per output");
  for (std::size_t i = 0; i < count; ++i) {
    if ((*sizes)[i] < 0 || (*sizes)[i] > from[axis]) call.refuse("'split' is more than there is");
    dims[i] = from;
    (*dims[i])[axis] = (*sizes)[i];
  }
  return dims;
}

OnnxDims small_numbers(const OnnxCall& call, std::string_view name, const OnnxDims& otherwise,
                       std::size_t count) {
  const OnnxAttribute* found = call.node.attribute(name);
  const OnnxDims& numbers = found == nullptr ? otherwise : found->numbers;
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  const bool is_small = found == nullptr || std::ranges::all_of(numbers, [&](std::int64_t each) {
                          return each >= -kMost && each <= kMost;
                        });
  if (numbers.size() != count || !is_small) {
    call.refuse("'" + std::string(name) + "' is not " + std::to_string(count) + " small numbers");
  }
  return numbers;
}

std::optional<OnnxDims> numbers_of(const OnnxCall& call, std::string_view name, std::size_t place) {
  if (const OnnxAttribute* found = call.node.attribute(name)) return found->numbers;
  if (call.input(place) == nullptr || !call.input(place)->values) return std::nullopt;
  return *call.input(place)->values;
}

std::size_t axis_in(const OnnxCall& call, std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  if (axis < -size || axis >= size) {
    call.refuse("axis " + std::to_string(axis) + " does not exist; the input has " +
                std::to_string(size) + " axes");
  }
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

}  // namespace tandem::planner
