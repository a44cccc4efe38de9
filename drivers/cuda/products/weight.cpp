// SPDX-License-Identifier: Apache-2.0
//
// Upload of weights in pieces, and the checks of a WeightSource.
#include "cuda/products/weight.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <typeinfo>
#include <vector>

#include "common/error.h"
#include "gemm/packed_weight.h"
#include "tensor/tensor_view.h"

namespace tandem::cuda {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{8} << 20;
constexpr std::chrono::minutes kPatience{2};

std::string shape(std::int64_t out, std::int64_t in) {
  return "[" + std::to_string(out) + ", " + std::to_string(in) + "]";
}

}  // namespace

Upload::Piece& Upload::next_piece() {
  Piece& piece = pieces_[next_++ % pieces_.size()];
  if (piece.host.data() == nullptr) {
    piece.host = PoolRange(gpu_.pinned_memory, kPieceBytes, Purpose::kStaging);
  }
  if (gpu_.queue.wait(piece.last_position, Deadline::after(kPatience)) !=
      device::WaitResult::kDone) {
    gpu_.health.lose("a piece of a weight was not copied within 2 minutes");
    gpu_.health.require();
  }
  return piece;
}

void Upload::copy(const std::byte* from, std::size_t bytes, std::byte* to) {
  for (std::size_t at = 0; at < bytes; at += kPieceBytes) {
    Piece& piece = next_piece();
    const std::size_t count = std::min(kPieceBytes, bytes - at);
    std::memcpy(piece.host.data(), from + at, count);
    const cudaStream_t stream = gpu_.queue.stream().get();
    gpu_.health.check(
        cudaMemcpyAsync(to + at, piece.host.data(), count, cudaMemcpyHostToDevice, stream),
        "copying a weight");
    piece.last_position = gpu_.queue.flush();
  }
}

void Upload::pack(const Matrix& matrix, const std::byte* from, std::byte* to) {
  const std::size_t row =
      gpu_kernels::row_bytes(matrix.type, static_cast<std::size_t>(matrix.in_features));
  constexpr auto kStep = static_cast<std::size_t>(gpu_kernels::kPanelOutputs);
  const std::size_t piece_rows = std::max<std::size_t>(1, kPieceBytes / (row * kStep)) * kStep;
  if (device_piece_.size_bytes() < piece_rows * row) {
    gpu_.queue.reserve(device_piece_, std::max(kPieceBytes, piece_rows * row), Purpose::kWorkspace);
  }
  const auto rows = static_cast<std::size_t>(matrix.out_features);
  for (std::size_t first = 0; first < rows; first += piece_rows) {
    const std::size_t count = std::min(piece_rows, rows - first);
    copy(from + first * row, count * row, device_piece_.data());
    store_rows(matrix, static_cast<std::int64_t>(first), static_cast<std::int64_t>(count),
               device_piece_.data(), to, gpu_.queue.stream().get());
  }
}

CudaWeight::CudaWeight(Gpu& gpu, Upload& upload, const device::WeightSource& source) : gpu_(gpu) {
  if (source.data == nullptr || source.out_features <= 0 || source.in_features <= 0) {
    throw Error("cuda", "a weight of shape " + shape(source.out_features, source.in_features) +
                            (source.data == nullptr ? " has no data" : " is empty"));
  }
  matrix_.type = cuda::stored_type(source.dtype);
  const bool is_table =
      source.role == device::WeightRole::kTable || source.role == device::WeightRole::kBoth;
  if (matrix_.type == gpu_kernels::StoredType::kE4M3 && is_table) {
    throw Error("cuda", "a table of type f8_e4m3 is not read; use bf16, f16 or a quantised type");
  }
  matrix_.out_features = source.out_features;
  matrix_.in_features = source.in_features;
  if (source.in_features % gpu_kernels::values_per_block(matrix_.type) != 0) {
    throw Error("cuda", "rows of " + std::to_string(source.in_features) +
                            " values do not divide into blocks of " +
                            std::string(dtype_name(source.dtype)));
  }
  const bool is_vector = source.role == device::WeightRole::kVector;
  if (is_vector && source.out_features != 1) {
    throw Error("cuda", "a vector of shape " + shape(source.out_features, source.in_features) +
                            " is a matrix; load it for products");
  }
  row_bytes_ = dtype_row_bytes(source.dtype, source.in_features);
  gpu.activate();
  if (!is_vector) load_matrix(upload, source);
  if (source.out_features == 1) load_vector(upload, source);
}

void CudaWeight::load_matrix(Upload& upload, const device::WeightSource& source) {
  const bool packs = gpu_kernels::is_packable(matrix_.type);
  if (!packs || source.role != device::WeightRole::kProduct) {
    file_rows_ = PoolRange(gpu_.device_memory, size_bytes(), Purpose::kWeights);
    upload.copy(source.data, size_bytes(), file_rows_.data());
    rows_ = file_rows_.data();
  }
  if (packs && source.role != device::WeightRole::kTable) {
    packed_ = PoolRange(gpu_.device_memory,
                        stored_bytes(matrix_.type, source.out_features, source.in_features),
                        Purpose::kWeights);
    upload.pack(matrix_, source.data, packed_.data());
  }
  matrix_.data = packs ? packed_.data() : rows_;
  if (source.scales) load_scales(upload, source);
}

// Stores one scale per output if blocks are whole outputs; otherwise the scales of blocks
// unchanged.
void CudaWeight::load_scales(Upload& upload, const device::WeightSource& source) {
  const WeightScales& scales = source.scales;
  std::vector<float> by_output;
  const float* from = scales.data;
  auto count = static_cast<std::size_t>(source.out_features);
  if (scales.block_columns >= source.in_features) {
    by_output = scales.by_row(0, source.out_features, source.in_features);
    from = by_output.data();
  } else {
    const std::int64_t rows = (source.out_features - 1) / scales.block_rows + 1;
    count = static_cast<std::size_t>(rows * scales.per_row(source.in_features));
    matrix_.scale_outputs = static_cast<int>(std::min(scales.block_rows, source.out_features));
    matrix_.scale_inputs = static_cast<int>(scales.block_columns);
  }
  scales_ = PoolRange(gpu_.device_memory, count * sizeof(float), Purpose::kWeights);
  upload.copy(reinterpret_cast<const std::byte*>(from), count * sizeof(float), scales_.data());
  matrix_.scales = scales_.as<float>();
}

void CudaWeight::load_vector(Upload& upload, const device::WeightSource& source) {
  std::vector<float> values(static_cast<std::size_t>(source.in_features));
  dequantize_row({"", source.dtype, 1, source.in_features, source.data, source.scales}, 0,
                 values.data());
  const std::size_t bytes = values.size() * sizeof(float);
  vector_ = PoolRange(gpu_.device_memory, bytes, Purpose::kWeights);
  upload.copy(reinterpret_cast<const std::byte*>(values.data()), bytes, vector_.data());
}

const CudaWeight& cuda_weight(const Gpu& gpu, const device::Weight* weight,
                              std::int64_t out_features, std::int64_t in_features,
                              const char* what) {
  if (weight == nullptr || typeid(*weight) != typeid(CudaWeight) ||
      &static_cast<const CudaWeight*>(weight)->gpu() != &gpu) {
    throw Error("cuda", std::string(what) + " is missing or was loaded by another unit");
  }
  const auto& mine = static_cast<const CudaWeight&>(*weight);
  if ((out_features != 0 && mine.out_features() != out_features) ||
      (in_features != 0 && mine.in_features() != in_features)) {
    throw Error("cuda", std::string(what) + " has shape " +
                            shape(mine.out_features(), mine.in_features()) + " where " +
                            shape(out_features, in_features) + " is needed (0: any)");
  }
  return mine;
}

}  // namespace tandem::cuda
