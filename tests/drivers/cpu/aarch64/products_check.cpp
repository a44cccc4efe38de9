// SPDX-License-Identifier: Apache-2.0
//
// The product kernels as a program of their own, for processors that the build machine only
// emulates: every quantised type and bf16 against naive loops in double.
//
// Compiled for the one target that the compiler is told (HWY_COMPILE_ONLY_STATIC), without a test
// framework, since no library of the other architecture is at hand. Prints what is wrong; the exit
// code counts it.
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cpu/kernels/float_products/bf16_products.h"
#include "cpu/kernels/float_products/f8_panel.h"
#include "cpu/kernels/quantized_products/packed_format.h"
#include "cpu/kernels/quantized_products/quantized_panel.h"
#include "cpu/kernels/quantized_products/quantized_products.h"
#include "cpu/kernels/quantized_products/quantized_rows.h"
#include "support/reference/compare.h"
#include "support/reference/quantized_rows.h"
#include "support/reference/transformer.h"
#include "tensor/quantize.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kIn = 1280, kOut = 37, kRows = 7;

std::vector<float> randoms(std::size_t count) {
  static std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

struct Aligned {
  explicit Aligned(std::size_t size) : memory(size + 64) {}
  std::byte* data() {
    return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) /
                                        64 * 64);
  }
  std::vector<std::byte> memory;
};

std::vector<float> multiply(DType dtype, const std::vector<std::byte>& stored,
                            const std::vector<float>& x, std::size_t rows) {
  const std::size_t blocks = kIn / kBlockInputs, row_bytes = dtype_row_bytes(dtype, kIn);
  const std::size_t panel_bytes = packed_format(dtype).panel_bytes(blocks);
  QuantizedProduct product;
  product.num_panels = (kOut + kPanelOutputs - 1) / kPanelOutputs;
  Aligned panels(product.num_panels * panel_bytes);
  for (std::size_t panel = 0; panel < product.num_panels; ++panel) {
    const std::size_t first = panel * kPanelOutputs;
    pack_quantized_panel(
        {dtype, stored.data() + first * row_bytes, std::min(kPanelOutputs, kOut - first), kIn},
        panels.data() + panel * panel_bytes);
  }
  std::vector<RowChunk> chunks((blocks + kChunkBlocks - 1) / kChunkBlocks * rows);
  for (std::size_t row = 0; row < rows; ++row) {
    quantize_row(x.data() + row * kIn, kIn, chunks.data() + row, rows);
  }
  std::vector<float> y(rows * kOut), workspace;
  product.dtype = dtype;
  product.panels = panels.data();
  product.outputs = product.y_stride = kOut;
  product.blocks = blocks;
  product.x = chunks.data();
  product.x_stride = rows;
  product.rows = rows;
  product.y = y.data();
  multiply_quantized(product, workspace);
  return y;
}

bool expect(bool right, DType dtype, const char* what) {
  if (!right) std::printf("%s: %s\n", std::string(dtype_name(dtype)).c_str(), what);
  return right;
}

int check_quantized(DType dtype) {
  const auto x = randoms(kRows * kIn), values = randoms(kOut * kIn);
  std::vector<std::byte> stored(kOut * dtype_row_bytes(dtype, kIn));
  quantize_row(dtype, values.data(), stored.data(), values.size());
  std::vector<float> w(kOut * kIn);
  dequantize_row(dtype, stored.data(), w.data(), w.size());
  const auto y = multiply(dtype, stored, x, kRows);
  const auto want = reference::linear(reference::quantized_rows(x), w, kIn);
  int wrong = !expect(reference::nmse<double>(y, want) < 1e-11, dtype, "differs from double");
  for (std::size_t rows = 1; rows < kRows; ++rows) {
    const auto some = multiply(dtype, stored, x, rows);
    wrong += !expect(std::memcmp(some.data(), y.data(), some.size() * sizeof(float)) == 0, dtype,
                     "depends on the batch");
  }
  return wrong;
}

// Rows of x, which becomes what they are rounded to, as products take them.
std::vector<std::uint16_t> rounded_chunks(std::vector<float>& x) {
  std::vector<std::uint16_t> chunks((kIn / kBf16Chunk + 1) * kRows * kBf16Chunk);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t row = i / kIn, chunk = i % kIn / kBf16Chunk;
    std::uint16_t& to = chunks[(chunk * kRows + row) * kBf16Chunk + i % kIn % kBf16Chunk];
    round_to_bf16(&x[i], 1, &to);
    x[i] = bf16_to_f32(to);
  }
  return chunks;
}

int check_f8(std::size_t outputs) {
  constexpr std::int64_t kBlock = 32;
  const std::size_t per_row = (kIn - 1) / kBlock + 1;
  auto x = randoms(kRows * kIn), values = randoms(outputs * kIn);
  const auto scales = randoms(((outputs - 1) / kBlock + 1) * per_row);
  const auto chunks = rounded_chunks(x);
  std::vector<std::byte> codes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t block = i / kIn / kBlock * per_row + i % kIn / kBlock;
    codes.push_back(std::byte{f32_to_f8(values[i])});
    values[i] = f8_to_f32(f32_to_f8(values[i])) * scales[block];
  }
  const std::size_t panel_bytes = f8_panel_bytes(kBf16PanelOutputs, kIn, per_row);
  Aligned panels((outputs / kBf16PanelOutputs + 1) * panel_bytes);
  for (std::size_t first = 0; first < outputs; first += kBf16PanelOutputs) {
    pack_f8_panel({codes.data() + first * kIn, std::min(kBf16PanelOutputs, outputs - first), kIn,
                   first, WeightScales{scales.data(), kBlock, kBlock}},
                  panels.data() + first / kBf16PanelOutputs * panel_bytes);
  }
  std::vector<float> y(kRows * outputs), workspace;
  Bf16Product product;
  product.panels = panels.data();
  product.outputs = product.y_stride = outputs;
  product.in_features = kIn;
  product.scale_inputs = kBlock;
  product.x = chunks.data();
  product.x_stride = product.rows = kRows;
  product.y = y.data();
  multiply_bf16(product, workspace);
  const auto want = reference::linear(x, values, kIn);
  return !expect(reference::nmse<double>(y, want) < 1e-11, DType::kF8E4M3, "differs from double");
}

int check_bf16(std::size_t outputs) {
  auto x = randoms(kRows * kIn), values = randoms(outputs * kIn);
  const auto chunks = rounded_chunks(x);
  std::vector<std::uint16_t> w(values.size());
  round_to_bf16(values.data(), values.size(), w.data());
  for (std::size_t i = 0; i < w.size(); ++i) values[i] = bf16_to_f32(w[i]);
  Aligned panels(bf16_panels_bytes(outputs, kIn));
  for (std::size_t first = 0; first < outputs; first += kBf16PanelOutputs) {
    pack_bf16_panel(reinterpret_cast<const std::byte*>(w.data() + first * kIn),
                    std::min(kBf16PanelOutputs, outputs - first), kIn,
                    panels.data() + bf16_panels_bytes(first, kIn));
  }
  std::vector<float> y(kRows * outputs), workspace;
  Bf16Product product;
  product.panels = panels.data();
  product.outputs = product.y_stride = outputs;
  product.in_features = kIn;
  product.x = chunks.data();
  product.x_stride = kRows;
  product.rows = kRows;
  product.y = y.data();
  multiply_bf16(product, workspace);
  const auto want = reference::linear(x, values, kIn);
  return !expect(reference::nmse<double>(y, want) < 1e-11, DType::kBF16, "differs from double");
}

}  // namespace
}  // namespace tandem::device::cpu

int main() {
  using tandem::DType;
  int wrong = tandem::device::cpu::check_bf16(37) + tandem::device::cpu::check_bf16(130);
  wrong += tandem::device::cpu::check_f8(37) + tandem::device::cpu::check_f8(130);
  for (const DType dtype : {DType::kQ8_0, DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                            DType::kIQ4_NL, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K}) {
    wrong += tandem::device::cpu::check_quantized(dtype);
  }
  std::printf("%d wrong\n", wrong);
  return wrong;
}
