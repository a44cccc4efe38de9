// SPDX-License-Identifier: Apache-2.0
//
// What row_products.cuh works on. It is compiled at run time too, so it includes nothing.
#pragma once

namespace tandem::gpu_kernels {

using RowBegin = unsigned long long;

inline constexpr int kWarpLanes = 32;
inline constexpr int kRowWarps = 8;      // of a block: one row each
inline constexpr int kEntriesAhead = 4;  // whose loads are issued before the first use
inline constexpr int kMostFactors = 5;

enum class RowEnd : unsigned char { kNone, kBias, kBiasRelu, kBiasSilu };

struct RowSums {
  const RowBegin* begins = nullptr;            // [rows + 1] first entry of each row
  const unsigned* indices[kMostFactors] = {};  // [entries] rows of each factor
  const void* values = nullptr;                // [entries]
  const float* factors[kMostFactors] = {};     // [inputs, columns]
  const float* bias = nullptr;                 // [rows] if the end has one
  unsigned rows = 0;
  unsigned parts = 1;        // of a row's entries, for few long rows
  float* partial = nullptr;  // [parts, rows, columns] if there are more parts than 1
  float* out = nullptr;      // [rows, columns]
  RowEnd end = RowEnd::kNone;
};

struct EntryDots {
  const RowBegin* begins = nullptr;   // [rows + 1]
  const unsigned* indices = nullptr;  // [entries] columns of the matrix
  const float* values = nullptr;      // [entries]
  const float* left = nullptr;        // [rows, columns]
  const float* right = nullptr;       // [inputs, columns]
  const float* mixed = nullptr;       // attention: [inputs, columns]
  float scale = 1;                    // attention
  unsigned rows = 0;
  float* out = nullptr;  // dots: [entries]; attention: [rows, columns]
};

}  // namespace tandem::gpu_kernels
