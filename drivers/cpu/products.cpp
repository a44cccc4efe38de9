// SPDX-License-Identifier: Apache-2.0
//
// Products: preparation of rows, division of work, arguments of kernels.
#include "cpu/products.h"

#include <algorithm>
#include <utility>

#include "cpu/kernels/float_products/bf16_products.h"
#include "cpu/kernels/float_products/matmul.h"
#include "cpu/kernels/float_products/matvec.h"
#include "cpu/kernels/quantized_products/quantized_products.h"
#include "cpu/kernels/sparse_products/sparse_products.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kSmallValues = std::size_t{1} << 14;  // to prepare on the caller alone
constexpr std::size_t kSmallWork = std::size_t{32} << 10;   // bytes times rows, likewise
constexpr std::size_t kPartsPerThread = 8;
constexpr std::size_t kMinPartWork = std::size_t{16} << 10;  // bytes times rows
constexpr std::size_t kMaxPartBytes = std::size_t{512} << 10;
constexpr std::size_t kPartRows = 256;  // of packed weights: their sums fill the second-level cache
constexpr std::size_t kListedOutputs = 64;  // per call of the kernel for many rows without zeros
constexpr std::size_t kOutputsStep = 4;     // outputs per step of the kernel for few rows

std::size_t ceil_divide(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// Whether the kernel for few rows multiplies the weight; not for packed weights.
bool is_few(const CpuWeight& weight, std::size_t rows) {
  return rows <= (weight.sparse() != nullptr ? weight.sparse()->few_rows() : kFewRows);
}

// The form of `rows` rows that the weight's kernel reads.
bool RowForms::*form_of(const CpuWeight& weight, std::size_t rows) {
  if (weight.packed() == nullptr && !is_few(weight, rows)) return &RowForms::panels;
  if (multiplies_bf16_rows(weight.dtype())) return &RowForms::bf16;
  return weight.packed() != nullptr ? &RowForms::quantized : &RowForms::plain;
}

// How a product may be cut: whole steps of units, each of which reads `unit_bytes`.
struct Cut {
  std::size_t units = 0, step = 1, unit_bytes = 0, max_units = 0, max_rows = 0;
};

Cut cut_of(const Product& product, std::size_t rows) {
  const CpuWeight& weight = *product.weight;
  if (const PackedWeight* packed = weight.packed()) {
    return {packed->num_panels(), multiplies_bf16_rows(weight.dtype()) ? 1 : kPanelGroup,
            packed->panel_bytes(), packed->num_panels(), kPartRows};
  }
  const auto outputs = static_cast<std::size_t>(weight.out_features());
  if (weight.sparse() != nullptr) {
    const std::size_t row_bytes = ceil_divide(weight.size_bytes(), outputs);
    return {outputs, kOutputsStep, row_bytes, is_few(weight, rows) ? outputs : kListedOutputs,
            kPartRows};
  }
  if (rows <= kFewRows) return {outputs, kOutputsStep, weight.row_bytes(), outputs, kFewRows};
  return {outputs, kTaskOutputs, weight.row_bytes(), kTaskOutputs, kMaxPackedRows};
}

// The units of a product that a node holds. A mapped model file belongs to no node: it is divided
// evenly.
std::pair<std::size_t, std::size_t> units_of_node(const Product& product, std::size_t units,
                                                  std::size_t node, const Team& team) {
  const auto nodes = static_cast<std::size_t>(team.num_nodes());
  const tiling::Regions<1>* held = product.weight->regions();
  if (held != nullptr && held->num_regions() == nodes) {
    const tiling::Box<1>& region = held->region(node);
    return {static_cast<std::size_t>(region.lower[0]), static_cast<std::size_t>(region.upper[0])};
  }
  const std::size_t steps = ceil_divide(units, kOutputsStep);
  return {std::min(steps * node / nodes * kOutputsStep, units),
          std::min(steps * (node + 1) / nodes * kOutputsStep, units)};
}

}  // namespace

std::uint64_t Products::run(std::span<const RowSource> inputs, std::span<const Product> products) {
  prepare(inputs, products);
  split(products);
  std::uint64_t bytes = 0, work = 0;
  for (const Product& product : products) {
    const std::size_t rows = inputs_[product.input].rows();
    bytes += rows == 0 ? 0 : product.weight->size_bytes();
    work += product.weight->size_bytes() * rows;
  }
  const auto body = [&](std::size_t part, std::size_t worker) {
    multiply(products[parts_[part].product], parts_[part], workspaces_[worker]);
  };
  if (work <= kSmallWork) {
    for (std::size_t part = 0; part < parts_.size(); ++part) body(part, 0);
  } else {
    team_.run_regions(bounds_, body);
  }
  return bytes;
}

void Products::prepare(std::span<const RowSource> inputs, std::span<const Product> products) {
  forms_.assign(inputs.size(), {});
  for (const Product& product : products) {
    forms_[product.input].*form_of(*product.weight, inputs[product.input].rows) = true;
  }
  if (inputs_.size() < inputs.size()) inputs_.resize(inputs.size());
  parts_.clear();
  std::size_t values = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs_[i].begin(inputs[i], forms_[i]);
    if (!inputs_[i].needs_work()) continue;
    values += inputs[i].rows * inputs[i].width;
    const std::size_t step = forms_[i].panels ? kPanelRows : 4;
    for (std::size_t row = 0; row < inputs[i].rows; row += step) {
      parts_.push_back({i, 0, 0, row, std::min(row + step, inputs[i].rows)});
    }
  }
  const auto body = [&](std::size_t index, std::size_t worker) {
    const Part& part = parts_[index];
    inputs_[part.product].prepare(part.first_row, part.last_row, workspaces_[worker]);
  };
  if (values <= kSmallValues) {
    for (std::size_t part = 0; part < parts_.size(); ++part) body(part, 0);
  } else {
    team_.run(parts_.size(), body);
  }
}

void Products::split(std::span<const Product> products) {
  parts_.clear();
  std::size_t work = 0;
  for (const Product& product : products) {
    work += product.weight->size_bytes() * inputs_[product.input].rows();
  }
  const std::size_t even = std::max(work / (kPartsPerThread * team_.size()), kMinPartWork);
  bounds_.assign(1, 0);
  for (std::size_t node = 0; node < static_cast<std::size_t>(team_.num_nodes()); ++node) {
    for (std::size_t index = 0; index < products.size(); ++index) {
      split(index, products[index], node, even);
    }
    bounds_.push_back(parts_.size());
  }
}

// Divides what `node` holds of one product into parts of about `even` work.
void Products::split(std::size_t index, const Product& product, std::size_t node,
                     std::size_t even) {
  const std::size_t rows = inputs_[product.input].rows();
  if (rows == 0) return;
  const Cut cut = cut_of(product, rows);
  const auto [first, last] = units_of_node(product, cut.units, node, team_);
  const std::size_t blocks = ceil_divide(rows, cut.max_rows);
  const std::size_t part_rows = ceil_divide(ceil_divide(rows, blocks), kPanelRows) * kPanelRows;
  const std::size_t part_bytes = std::min(even / std::min(rows, part_rows), kMaxPartBytes);
  const std::size_t units = std::min(
      std::max(part_bytes / cut.unit_bytes / cut.step, std::size_t{1}) * cut.step, cut.max_units);
  for (std::size_t begin = first; begin < last; begin += units) {
    const std::size_t end = std::min(begin + units, last);
    for (std::size_t row = 0; row < rows; row += part_rows) {
      parts_.push_back({index, begin, end, row, std::min(row + part_rows, rows)});
    }
  }
}

void Products::multiply(const Product& product, const Part& part,
                        std::vector<float>& workspace) const {
  if (product.weight->sparse() != nullptr) {
    multiply_sparse(product, part, workspace);
  } else if (multiplies_bf16_rows(product.weight->dtype())) {
    multiply_bf16_panels(product, part, workspace);
  } else if (product.weight->packed() != nullptr) {
    multiply_quantized_panels(product, part, workspace);
  } else if (inputs_[product.input].rows() <= kFewRows) {
    multiply_few(product, part);
  } else {
    multiply_many(product, part, workspace);
  }
}

void Products::multiply_quantized_panels(const Product& product, const Part& part,
                                         std::vector<float>& workspace) const {
  const PackedWeight& packed = *product.weight->packed();
  const PreparedRows& input = inputs_[product.input];
  const auto width = static_cast<std::size_t>(product.weight->in_features());
  const auto outputs = static_cast<std::size_t>(product.weight->out_features());
  const std::size_t output = part.begin * kPanelOutputs;
  QuantizedProduct task;
  task.dtype = product.weight->dtype();
  task.panels = packed.panels() + part.begin * packed.panel_bytes();
  task.num_panels = part.end - part.begin;
  task.outputs = std::min(outputs, part.end * kPanelOutputs) - output;
  task.blocks = width / kBlockInputs;
  task.x = input.quantized() + part.first_row;
  task.x_stride = input.rows();
  task.rows = part.last_row - part.first_row;
  task.y = product.out + part.first_row * outputs + output;
  task.y_stride = outputs;
  task.bias = product.bias == nullptr ? nullptr : product.bias + output;
  task.accumulate = product.accumulate;
  multiply_quantized(task, workspace);
}

void Products::multiply_bf16_panels(const Product& product, const Part& part,
                                    std::vector<float>& workspace) const {
  const CpuWeight& weight = *product.weight;
  const PackedWeight& packed = *weight.packed();
  const std::size_t output = part.begin * kBf16PanelOutputs;
  Bf16Product task;
  task.panels = packed.panels() + part.begin * packed.panel_bytes();
  task.y_stride = weight.out_features();
  task.outputs = std::min(task.y_stride, part.end * kBf16PanelOutputs) - output;
  task.in_features = weight.in_features();
  task.scale_inputs = static_cast<std::size_t>(weight.scale_inputs());
  task.x = inputs_[product.input].bf16() + part.first_row * kBf16Chunk;
  task.x_stride = inputs_[product.input].rows();
  task.rows = part.last_row - part.first_row;
  task.y = product.out + part.first_row * task.y_stride + output;
  task.bias = product.bias == nullptr ? nullptr : product.bias + output;
  task.accumulate = product.accumulate;
  multiply_bf16(task, workspace);
}

void Products::multiply_sparse(const Product& product, const Part& part,
                               std::vector<float>& workspace) const {
  const CpuWeight& weight = *product.weight;
  const PreparedRows& input = inputs_[product.input];
  const bool is_list = !is_few(weight, input.rows());
  SparseProduct task;
  task.dtype = weight.sparse()->dtype();
  task.weights = weight.sparse()->rows();
  task.starts = weight.sparse()->starts() + part.begin;
  task.outputs = part.end - part.begin;
  task.in_features = static_cast<std::size_t>(weight.in_features());
  if (is_list) {
    task.x = input.panels() + part.first_row * task.in_features;
  } else if (task.dtype == DType::kBF16) {
    task.bf16_x = input.bf16() + part.first_row * kBf16Chunk;
    task.x_stride = input.rows();
  } else {
    task.x = input.plain() + part.first_row * task.in_features;
  }
  task.rows = part.last_row - part.first_row;
  task.y_stride = static_cast<std::size_t>(weight.out_features());
  task.y = product.out + part.first_row * task.y_stride + part.begin;
  task.bias = product.bias == nullptr ? nullptr : product.bias + part.begin;
  task.accumulate = product.accumulate;
  if (is_list) {
    multiply_sparse_many(task, workspace);
  } else {
    multiply_sparse_few(task, workspace);
  }
}

void Products::multiply_few(const Product& product, const Part& part) const {
  const CpuWeight& weight = *product.weight;
  FewRows task;
  task.dtype = weight.dtype();
  task.weights = weight.row(static_cast<std::int64_t>(part.begin));
  task.row_bytes = weight.row_bytes();
  task.in_features = weight.in_features();
  task.x = inputs_[product.input].plain();
  task.rows = part.last_row;
  task.y = product.out + part.begin;
  task.y_stride = weight.out_features();
  task.bias = product.bias == nullptr ? nullptr : product.bias + part.begin;
  task.accumulate = product.accumulate;
  multiply_few_rows(task, part.end - part.begin);
}

void Products::multiply_many(const Product& product, const Part& part,
                             std::vector<float>& workspace) const {
  const CpuWeight& weight = *product.weight;
  ManyRows task;
  task.dtype = weight.dtype();
  task.weights = weight.row(static_cast<std::int64_t>(part.begin));
  task.row_bytes = weight.row_bytes();
  task.in_features = weight.in_features();
  task.packed = inputs_[product.input].panels() + part.first_row * task.in_features;
  task.rows = part.last_row - part.first_row;
  task.y_stride = weight.out_features();
  task.y = product.out + part.first_row * task.y_stride + part.begin;
  task.bias = product.bias == nullptr ? nullptr : product.bias + part.begin;
  task.accumulate = product.accumulate;
  multiply_many_rows(task, part.end - part.begin, workspace);
}

}  // namespace tandem::device::cpu
