// SPDX-License-Identifier: Apache-2.0
//
// Products of any number of rows against double-precision loops over the rounded weight and rows:
// quantised weights are rounded to bf16 for many rows, rows to the form that row_form() names.
#include "cuda/products/products.h"

#include "common/error.h"
#include "gpu_kernels/device_array.h"
#include "gpu_kernels/gemm/random_weights.h"

namespace tandem::cuda {
namespace {

using namespace gpu_kernels;

constexpr double kTolerance = 4e-6;

// A weight in device memory.
struct DeviceWeight {
  DeviceWeight(const TypePair& type, std::int64_t outputs, std::int64_t width, unsigned seed)
      : host(random_weight(type.host, outputs, width, seed)),
        data(stored_bytes(type.device, outputs, width)),
        matrix{type.device, outputs, width, data.data(), nullptr} {
    DeviceArray<std::byte> file(host.data);
    const std::int64_t cut = outputs / 2 / 16 * 16;
    store_rows(matrix, 0, cut, file.data(), data.data(), nullptr);
    store_rows(matrix, cut, outputs - cut,
               file.data() + static_cast<std::size_t>(cut) * host.row_bytes, data.data(), nullptr);
    file.download();
  }

  HostWeight host;
  DeviceArray<std::byte> data;
  Matrix matrix;
};

// Rows in every form, and what they stand for in each.
struct Rows {
  Rows(std::int64_t count, std::int64_t width)
      : values(random_floats(static_cast<std::size_t>(count * width), 9)), f32(values) {
    const auto row_width = static_cast<std::size_t>(width);
    std::vector<BF16> bf16_bits;
    std::vector<F16> f16_bits;
    std::vector<E4M3> e4m3_bits;
    std::vector<float> scales;
    for (std::size_t i = 0; i < values.size(); ++i) {
      bf16_bits.push_back({f32_to_bf16(values[i])});
      f16_bits.push_back({f32_to_f16(values[i])});
      bf16_values.push_back(bf16_to_f32(bf16_bits.back().bits));
      f16_values.push_back(f16_to_f32(f16_bits.back().bits));
      if (i % row_width == 0) scales.push_back(0.01f + 0.001f * static_cast<float>(scales.size()));
      e4m3_bits.push_back({f32_to_f8(values[i] / scales.back())});
      e4m3_values.push_back(f8_to_f32(e4m3_bits.back().bits) * scales.back());
    }
    bf16.emplace(bf16_bits);
    f16.emplace(f16_bits);
    e4m3.emplace(e4m3_bits);
    e4m3_scales.emplace(scales);
    rows = {count,       width,        f32.data(),          bf16->data(),
            f16->data(), e4m3->data(), e4m3_scales->data(), nullptr,
            nullptr};
    if (width % 32 != 0) return;
    const HostQ8Rows quantised = quantise_rows(values);
    q8_values = quantised.values;
    q8.emplace(quantised.q);
    notes.emplace(quantised.notes);
    rows.q8 = q8->data();
    rows.q8_notes = notes->data();
  }

  const std::vector<float>& values_in(RowForm form) const {
    switch (form) {
      case RowForm::kBF16:
        return bf16_values;
      case RowForm::kF16:
        return f16_values;
      case RowForm::kE4M3:
        return e4m3_values;
      case RowForm::kQ8:
        return q8_values;
      default:
        return values;
    }
  }

  std::vector<float> values, bf16_values, f16_values, e4m3_values, q8_values;
  DeviceArray<float> f32;
  std::optional<DeviceArray<BF16>> bf16;
  std::optional<DeviceArray<F16>> f16;
  std::optional<DeviceArray<E4M3>> e4m3;
  std::optional<DeviceArray<float>> e4m3_scales;
  std::optional<DeviceArray<std::int8_t>> q8;
  std::optional<DeviceArray<Q8Note>> notes;
  ProductRows rows;
};

class Machine {
 public:
  explicit Machine(const ProductOptions& options = {})
      : workspace_(Products::workspace_bytes(options)),
        products(workspace_.data(), nullptr, options) {}

 private:
  DeviceArray<std::byte> workspace_;

 public:
  Products products;
};

// One target with what it starts from.
struct Output {
  Output(DeviceWeight& to, std::int64_t rows, bool biased, bool adds)
      : weight(to),
        bias(random_floats(static_cast<std::size_t>(to.matrix.out_features), 4)),
        before(random_floats(static_cast<std::size_t>(rows * to.matrix.out_features), 5)),
        device_bias(bias),
        out(before),
        has_bias(biased),
        accumulate(adds) {}

  Target target() {
    return {&weight.matrix, has_bias ? device_bias.data() : nullptr, out.data(), accumulate};
  }

  void expect_near(const Rows& x, const Products& products) {
    const RowForm form = products.row_form(weight.matrix, x.rows.rows);
    HostWeight host = weight.host;
    if (form == RowForm::kBF16) {
      for (float& value : host.values) value = bf16_to_f32(f32_to_bf16(value));
    }
    const Expected expected = expected_product(host, x.values_in(form));
    const std::vector<float> got = out.download();
    ASSERT_EQ(got.size(), expected.sums.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t output = i % bias.size();
      const double sum = expected.sums[i] + (has_bias ? static_cast<double>(bias[output]) : 0) +
                         (accumulate ? static_cast<double>(before[i]) : 0);
      ASSERT_NEAR(got[i], sum, kTolerance * (expected.magnitudes[i] + 1))
          << "row " << i / bias.size() << " output " << output;
    }
  }

  DeviceWeight& weight;
  std::vector<float> bias, before;
  DeviceArray<float> device_bias, out;
  bool has_bias, accumulate;
};

std::vector<TypePair> all_types() {
  std::vector<TypePair> types(std::begin(kQuantisedTypes), std::end(kQuantisedTypes));
  types.insert(types.end(), std::begin(kFloatTypes), std::end(kFloatTypes));
  return types;
}

TEST_P(KernelTest, MultipliesAnyNumberOfRowsByWeightsOfEveryType) {
  Machine machine;
  for (const TypePair& type : all_types()) {
    DeviceWeight first(type, 40, 256, 1), second(type, 17, 256, 2);
    for (const std::int64_t rows : {1, 4, 5, 8, 9, 16, 17, 20, 65}) {
      SCOPED_TRACE(testing::Message() << dtype_name(type.host) << ", " << rows << " rows");
      const Rows x(rows, 256);
      Output biased(first, rows, true, false), added(second, rows, false, true),
          both(second, rows, true, true);
      const Target targets[] = {biased.target(), added.target(), both.target()};
      EXPECT_EQ(machine.products.run(x.rows, targets, nullptr),
                stored_bytes(type.device, 40, 256) + 2 * stored_bytes(type.device, 17, 256));
      biased.expect_near(x, machine.products);
      added.expect_near(x, machine.products);
      both.expect_near(x, machine.products);
    }
  }
}

TEST_P(KernelTest, ARowOfFiveTo64HasTheSameBitsWhateverTheirNumber) {
  Machine machine;
  DeviceWeight weight(kQuantisedTypes[6], 33, 512, 3);
  const Rows all(64, 512);
  const auto products_of_first = [&](std::int64_t rows) {
    Output output(weight, rows, true, false);
    const Target target = output.target();
    ProductRows x = all.rows;
    x.rows = rows;
    machine.products.run(x, {&target, 1}, nullptr);
    return output.out.download();
  };
  const std::vector<float> together = products_of_first(64);
  for (const std::int64_t rows : {5, 16, 17, 20, 21, 33, 36, 49}) {
    const std::vector<float> fewer = products_of_first(rows);
    for (std::size_t i = 0; i < fewer.size(); ++i) {
      ASSERT_EQ(fewer[i], together[i]) << rows << " rows, value " << i;
    }
  }
}

TEST_P(KernelTest, CutsQuantisedWeightsIntoSlicesForManyRows) {
  Machine machine({.slice_bytes = 32 * 512 * 2});
  for (const TypePair& type : {kQuantisedTypes[6], kQuantisedTypes[0], kFloatTypes[3]}) {
    DeviceWeight weight(type, 72, 512, 3);
    const Rows x(130, 512);
    machine.products.prepare(weight.matrix, 130, true, true);
    Output output(weight, 130, true, true);
    const Target target = output.target();
    machine.products.run(x.rows, {&target, 1}, nullptr);
    output.expect_near(x, machine.products);
  }
}

TEST_P(KernelTest, TargetsOfDifferentTypesShareACall) {
  Machine machine;
  DeviceWeight quantised(kQuantisedTypes[6], 33, 256, 1), other(kQuantisedTypes[8], 20, 256, 2);
  DeviceWeight plain(kFloatTypes[0], 8, 256, 3);
  for (const std::int64_t rows : {3, 30, 66}) {
    const Rows x(rows, 256);
    Output a(quantised, rows, true, false), b(quantised, rows, false, false),
        c(other, rows, false, false), d(plain, rows, true, false);
    const Target targets[] = {a.target(), b.target(), c.target(), d.target()};
    machine.products.run(x.rows, targets, nullptr);
    for (Output* output : {&a, &b, &c, &d}) output->expect_near(x, machine.products);
  }
}

TEST_P(KernelTest, FloatsOfUnalignedWidthsAreMultipliedToo) {
  Machine machine;
  for (const TypePair& type : kFloatTypes) {
    if (type.host == DType::kF32) continue;  // its rows of 36 are aligned
    DeviceWeight weight(type, 24, 36, 3);
    for (const std::int64_t rows : {1, 12}) {
      const Rows x(rows, 36);
      Output output(weight, rows, true, false);
      const Target target = output.target();
      machine.products.run(x.rows, {&target, 1}, nullptr);
      output.expect_near(x, machine.products);
    }
  }
}

TEST_P(KernelTest, RowsMayBeRoundedToE4M3WhereTheLibraryMultipliesThem) {
  Machine machine({.e4m3_rows = true});
  DeviceWeight weight(kFloatTypes[3], 48, 256, 3);
  const std::vector<float> scales = random_floats(48, 8);
  DeviceArray<float> device_scales(scales);
  weight.matrix.scales = device_scales.data();
  for (std::size_t i = 0; i < weight.host.values.size(); ++i) {
    weight.host.values[i] *= scales[i / 256];
  }
  const Rows x(20, 256);
  for (const bool has_bias : {false, true}) {
    Output output(weight, 20, has_bias, has_bias);
    const Target target = output.target();
    machine.products.run(x.rows, {&target, 1}, nullptr);
    output.expect_near(x, machine.products);
  }
}

TEST_P(KernelTest, FewRowsOfE4M3AreScaledByOutput) {
  Machine machine;
  DeviceWeight weight(kFloatTypes[3], 20, 64, 3);
  const std::vector<float> scales = random_floats(20, 8);
  DeviceArray<float> device_scales(scales);
  weight.matrix.scales = device_scales.data();
  const Rows x(2, 64);
  Output output(weight, 2, true, false);
  const Target target = output.target();
  machine.products.run(x.rows, {&target, 1}, nullptr);
  ASSERT_EQ(machine.products.row_form(weight.matrix, 2), RowForm::kBF16);
  // the scale multiplies the sum, in f32: the weight is not rounded with it
  const Expected expected = expected_product(weight.host, x.bf16_values);
  const std::vector<float> got = output.out.download();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double scale = scales[i % 20], sum = expected.sums[i] * scale + output.bias[i % 20];
    ASSERT_NEAR(got[i], sum, kTolerance * (expected.magnitudes[i] * std::fabs(scale) + 1)) << i;
  }
}

TEST_P(KernelTest, ManyRowsOfE4M3AreScaledByBlocks) {
  for (const bool e4m3_rows : {false, true}) {  // whose scales are not for blocks
    Machine machine({.slice_bytes = 32 * 512 * 2, .e4m3_rows = e4m3_rows});
    for (const int block_inputs : {16, 128}) {
      DeviceWeight weight(kFloatTypes[3], 72, 512, 3);
      const auto per_row = static_cast<std::size_t>(512 / block_inputs);
      const std::vector<float> scales = random_floats(2 * per_row, 8);
      DeviceArray<float> device_scales(scales);
      weight.matrix.scales = device_scales.data();
      weight.matrix.scale_outputs = 48;
      weight.matrix.scale_inputs = block_inputs;
      for (std::size_t i = 0; i < weight.host.values.size(); ++i) {
        const std::size_t input = i % 512 / static_cast<std::size_t>(block_inputs);
        weight.host.values[i] *= scales[i / 512 / 48 * per_row + input];
      }
      const Rows x(20, 512);
      ASSERT_EQ(machine.products.row_form(weight.matrix, 20), RowForm::kBF16);
      Output output(weight, 20, true, true);
      const Target target = output.target();
      machine.products.run(x.rows, {&target, 1}, nullptr);
      output.expect_near(x, machine.products);
    }
  }
}

TEST_P(KernelTest, AFixedRowCanBeReplayedFromAGraph) {
  Machine machine;
  DeviceWeight few(kQuantisedTypes[6], 40, 4096, 1), many(kFloatTypes[2], 24, 256, 2);
  const Rows x(4, 4096), y(12, 256);
  machine.products.prepare(many.matrix, 12, true, true);
  Output a(few, 4, true, false), b(many, 12, true, true);
  const Target first = a.target(), second = b.target();
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check_cuda(cudaDeviceSynchronize());
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  machine.products.run(x.rows, {&first, 1}, stream);
  machine.products.run(y.rows, {&second, 1}, stream);
  cudaGraph_t graph = nullptr;
  check_cuda(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t step = nullptr;
  check_cuda(cudaGraphInstantiateWithFlags(&step, graph, 0));
  // nothing was computed yet; the second launch adds to what the first left
  EXPECT_EQ(b.out.download(), b.before);
  check_cuda(cudaGraphLaunch(step, stream));
  check_cuda(cudaStreamSynchronize(stream));
  a.expect_near(x, machine.products);
  b.expect_near(y, machine.products);
  b.before = b.out.download();
  check_cuda(cudaGraphLaunch(step, stream));
  check_cuda(cudaStreamSynchronize(stream));
  a.expect_near(x, machine.products);
  b.expect_near(y, machine.products);
  cudaGraphExecDestroy(step);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_P(KernelTest, RowFormsFollowTypeAndNumberOfRows) {
  Machine machine;
  const auto form = [&](StoredType type, std::int64_t rows) {
    return machine.products.row_form({type, 64, 256, nullptr, nullptr}, rows);
  };
  EXPECT_EQ(form(StoredType::kQ4_K, 1), RowForm::kQ8);
  EXPECT_EQ(form(StoredType::kQ4_K, 16), RowForm::kQ8);
  EXPECT_EQ(form(StoredType::kQ4_K, 17), RowForm::kQ8);
  EXPECT_EQ(form(StoredType::kQ4_K, 64), RowForm::kQ8);
  EXPECT_EQ(form(StoredType::kQ4_K, 65), RowForm::kBF16);
  EXPECT_EQ(form(StoredType::kBF16, 1), RowForm::kBF16);
  EXPECT_EQ(form(StoredType::kBF16, 99), RowForm::kBF16);
  EXPECT_EQ(form(StoredType::kF16, 1), RowForm::kF16);
  EXPECT_EQ(form(StoredType::kE4M3, 99), RowForm::kBF16);
  EXPECT_EQ(form(StoredType::kF32, 1), RowForm::kF32);
  EXPECT_EQ(form(StoredType::kF32, 99), RowForm::kF32);
}

TEST_P(KernelTest, WhatDoesNotFitIsAnError) {
  Machine machine;
  DeviceWeight weight(kQuantisedTypes[0], 16, 64, 1);
  Rows x(2, 64), wide(2, 96);
  Output output(weight, 2, false, false);
  const Target target = output.target();
  EXPECT_THROW(machine.products.run(wide.rows, {&target, 1}, nullptr), Error);
  x.rows.q8 = nullptr;
  EXPECT_THROW(machine.products.run(x.rows, {&target, 1}, nullptr), Error);
  EXPECT_THROW(store_rows(weight.matrix, 8, 8, nullptr, weight.data.data(), nullptr), Error);
  EXPECT_THROW(stored_type(DType::kI32), Error);
  EXPECT_EQ(stored_type(DType::kQ5_1), StoredType::kQ5_1);
  for (const TypePair& type : all_types()) EXPECT_EQ(stored_type(type.host), type.device);
}

}  // namespace
}  // namespace tandem::cuda
