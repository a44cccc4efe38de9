// SPDX-License-Identifier: Apache-2.0
//
// Maps hold the arguments that they were made of.
#include "gpu_kernels/simt/tensor_map.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "gpu_kernels/simt/barriers.h"
#include "gpu_kernels/simt/warpgroup.h"

namespace tandem::simt {
namespace {

constexpr std::uint64_t kMagic = 0x7461'6e64'656d'6d61u;
constexpr std::uint32_t kSwizzleBytes = 128, kChunkBytes = 16;

// cuTensorMapEncodeTiled.
const auto encode_tiled = [](CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                             void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                             const cuuint32_t* box, const cuuint32_t* steps, CUtensorMapInterleave,
                             CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                             CUtensorMapFloatOOBfill) {
  const bool known = type == CU_TENSOR_MAP_DATA_TYPE_UINT16 && rank == 2 &&
                     swizzle == CU_TENSOR_MAP_SWIZZLE_128B && steps[0] == 1 && steps[1] == 1;
  const bool aligned = reinterpret_cast<std::uintptr_t>(address) % 16 == 0 && strides[0] % 16 == 0;
  const bool sizes_fit = sizes[0] > 0 && sizes[1] > 0 && sizes[0] <= UINT32_MAX &&
                         sizes[1] <= UINT32_MAX && strides[0] >= sizes[0] * 2;
  const bool box_fits = box[0] * 2 == kSwizzleBytes && box[1] > 0 && box[1] <= 256;
  if (!known || !aligned || !sizes_fit || !box_fits) return CUDA_ERROR_INVALID_VALUE;
  const MapOfBoxes boxes{
      kMagic, static_cast<const unsigned char*>(address), sizes[0], sizes[1], strides[0], box[0],
      box[1]};
  std::memset(map, 0, sizeof(*map));
  std::memcpy(map, &boxes, sizeof(boxes));
  return CUDA_SUCCESS;
};

}  // namespace

const MapOfBoxes& boxes_of(const void* map) {
  static_assert(sizeof(MapOfBoxes) <= sizeof(CUtensorMap));
  const auto& boxes = *static_cast<const MapOfBoxes*>(map);
  if (boxes.magic != kMagic) fail_copy("a copy of a box whose map was never made");
  return boxes;
}

std::size_t box_bytes(const MapOfBoxes& map) {
  return std::size_t{map.box_columns} * map.box_rows * 2;
}

void copy_swizzled_box(const MapOfBoxes& map, int column, int row, std::uint32_t to) {
  const std::uint32_t chunks = map.box_columns * 2 / kChunkBytes;
  for (std::uint32_t at = 0; at < map.box_rows * chunks; ++at) {
    const auto from_row = row + static_cast<std::int64_t>(at / chunks);
    unsigned char chunk[kChunkBytes] = {};
    for (std::uint32_t i = 0; i < kChunkBytes / 2; ++i) {
      const auto from_column = column + static_cast<std::int64_t>(at % chunks * 8 + i);
      if (from_row < 0 || from_row >= static_cast<std::int64_t>(map.num_rows)) continue;
      if (from_column < 0 || from_column >= static_cast<std::int64_t>(map.num_columns)) continue;
      std::memcpy(
          chunk + i * 2,
          map.values + static_cast<std::uint64_t>(from_row) * map.row_bytes + from_column * 2, 2);
    }
    const std::uint32_t address = to + at / chunks * kSwizzleBytes + at % chunks * kChunkBytes;
    store_by_copy(address ^ (address >> 7 & 7u) << 4, chunk, sizeof(chunk));
  }
}

}  // namespace tandem::simt

extern "C" cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function,
                                               unsigned long long,
                                               cudaDriverEntryPointQueryResult* result) {
  const bool found = std::string_view(symbol) == "cuTensorMapEncodeTiled";
  const decltype(&cuTensorMapEncodeTiled) encode = tandem::simt::encode_tiled;
  *function = found ? reinterpret_cast<void*>(encode) : nullptr;
  *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
