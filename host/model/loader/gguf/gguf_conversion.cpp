// SPDX-License-Identifier: Apache-2.0
//
// Conversion of GGUF files, tensor by tensor.
#include "model/loader/gguf/gguf_conversion.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "tensor/quantize_matrix.h"

namespace tandem::model {
namespace {

// general.file_type: what most of the tensors are, as numbered by the ggml project.
struct FileType {
  DType dtype;
  std::uint32_t number;
};
constexpr FileType kFileTypes[] = {{DType::kF32, 0},   {DType::kF16, 1},     {DType::kQ4_0, 2},
                                   {DType::kQ4_1, 3},  {DType::kQ8_0, 7},    {DType::kQ5_0, 8},
                                   {DType::kQ5_1, 9},  {DType::kQ4_K, 14},   {DType::kQ5_K, 16},
                                   {DType::kQ6_K, 18}, {DType::kIQ4_NL, 25}, {DType::kBF16, 32}};
constexpr std::uint32_t kQuantizationVersion = 2;  // of the block layouts

void copy_fields(const GgufFile& file, GgufWriter& writer) {
  for (const GgufFile::RawField& field : file.raw_fields()) {
    // These are written again, or hold only for the old file.
    if (field.key == "general.alignment" || field.key == "general.file_type" ||
        field.key == "general.quantization_version") {
      continue;
    }
    writer.set_raw(field.key, static_cast<std::uint32_t>(field.type), field.payload);
  }
}

// name: of the new tensor.
void add_tensor(GgufWriter& writer, std::string_view name, const GgufTensor& tensor, DType type,
                ThreadPool& pool, Pruner* pruner) {
  const std::vector<std::uint64_t> dims(tensor.dims, tensor.dims + tensor.num_dims);
  const TensorView view = as_rows(tensor);
  writer.add_tensor(name, dims, type,
                    [view, type, &pool, pruner](std::byte* data, std::size_t size) {
                      if (pruner != nullptr) {
                        pruner->prune(view, type, data, pool);
                      } else if (type == view.dtype) {
                        std::memcpy(data, view.data, size);
                      } else {
                        quantize_matrix(view, type, data, pool);
                      }
                    });
}

}  // namespace

TensorView as_rows(const GgufTensor& tensor) {
  TensorView view;
  view.name = std::string(tensor.name);
  view.dtype = tensor.dtype;
  view.columns = static_cast<std::int64_t>(tensor.dims[0]);
  view.rows = static_cast<std::int64_t>(tensor.dims[1] * tensor.dims[2] * tensor.dims[3]);
  view.data = tensor.data;
  return view;
}

bool is_matrix_of_products(const GgufTensor& tensor) {
  const std::string_view name = tensor.name;
  if (tensor.num_dims < 2 || tensor.dims[1] < 2 || !name.ends_with(".weight")) return false;
  if (name.ends_with("norm.weight")) return false;  // of every head, some have two dimensions
  if (name == "token_embd.weight" || name == "output.weight") return true;
  return name.starts_with("blk.") && name.find("ffn_gate_inp") == std::string_view::npos &&
         name.find("conv") == std::string_view::npos;
}

GgufWriter convert_gguf(const GgufFile& file,
                        const std::function<DType(const GgufTensor&)>& type_of, ThreadPool& pool,
                        const GgufPruning& pruning) {
  GgufWriter writer;
  copy_fields(file, writer);
  std::map<DType, std::uint64_t> values;
  for (const GgufTensor& tensor : file.tensors()) {
    const DType type = type_of(tensor);
    values[type] += tensor.dims[0] * tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
    const bool prunes = pruning.pruner != nullptr && pruning.prunes(tensor);
    add_tensor(writer, tensor.name, tensor, type, pool, prunes ? pruning.pruner : nullptr);
  }
  if (pruning.pruner != nullptr && pruning.output != nullptr) {
    add_tensor(writer, "output.weight", *pruning.output, pruning.output_type, pool, pruning.pruner);
  }
  for (const FileType& type : kFileTypes) {
    const auto of_type = values.find(type.dtype);
    if (of_type == values.end()) continue;
    const bool most = std::ranges::all_of(
        values, [&](const auto& other) { return other.second <= of_type->second; });
    if (!most) continue;
    writer.set_u32("general.file_type", type.number);
    break;
  }
  writer.set_u32("general.quantization_version", kQuantizationVersion);
  return writer;
}

}  // namespace tandem::model
