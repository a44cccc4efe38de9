// SPDX-License-Identifier: Apache-2.0
//
// Experts on a GPU (real or interpreted) against loops over the same weights, for every choice. A
// decode step waits for nothing and repeats as a graph.
//
// Skips without a GPU, and fails without one under TANDEM_TEST_REQUIRE=cuda.
// TANDEM_TEST_CUDA_KERNELS: the GPU's policy for kernels (registry.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>

#include "cuda/backend.h"
#include "cuda/compute/compute_unit.h"
#include "tensor/quantize.h"

namespace tandem::cuda_test {
namespace {

using device::MemoryKind;
using device::Slice;

constexpr std::size_t kExperts = 6, kUsed = 2;

class CudaExpertsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (device::cuda_backend().enumerate({}).empty()) {
      const std::string why = "no GPU: " + device::cuda_backend().unavailable_reason();
      const char* required = std::getenv("TANDEM_TEST_REQUIRE");
      if (required != nullptr && std::string(required).find("cuda") != std::string::npos) {
        FAIL() << why;
      }
      GTEST_SKIP() << why;
    }
    device::DeviceOptions options;
    if (const char* kernels = std::getenv("TANDEM_TEST_CUDA_KERNELS")) {
      options.values.set("cuda-kernels", kernels);
    }
    device_ = device::cuda_backend().open(0, options);
    unit_ = device_->make_compute_unit();
  }

  struct Matrix {
    std::unique_ptr<device::Weight> weight;
    std::vector<float> values;  // as the weight has them
    std::size_t in = 0;

    std::vector<double> times(std::span<const double> x) const {
      std::vector<double> out(values.size() / in);
      for (std::size_t o = 0; o < out.size(); ++o) {
        for (std::size_t i = 0; i < in; ++i) out[o] += x[i] * double{values[o * in + i]};
      }
      return out;
    }
  };
  struct Model {
    std::size_t width = 0;
    std::vector<Matrix> gate, up, down;
    std::vector<device::Expert> experts;
  };

  std::vector<float> randoms(std::size_t count, float scale) {
    std::normal_distribution<float> normal(0.0f, scale);
    std::vector<float> values(count);
    for (float& value : values) value = normal(random_);
    return values;
  }

  Matrix matrix(DType dtype, std::size_t out, std::size_t in) {
    const auto values = randoms(out * in, 0.3f);
    std::vector<std::byte> bytes(dtype_row_bytes(dtype, values.size()));
    quantize_row(dtype, values.data(), bytes.data(), values.size());
    Matrix made{nullptr, std::vector<float>(values.size()), in};
    dequantize_row(dtype, bytes.data(), made.values.data(), values.size());
    made.weight = unit_->load({.dtype = dtype,
                               .out_features = static_cast<std::int64_t>(out),
                               .in_features = static_cast<std::int64_t>(in),
                               .data = bytes.data(),
                               .role = device::WeightRole::kProduct,
                               .transient = true});
    return made;
  }

  Model model(DType gate, DType up, DType down, std::size_t width, std::size_t ffn) {
    Model made;
    made.width = width;
    for (std::size_t i = 0; i < kExperts; ++i) {
      made.gate.push_back(matrix(gate, ffn, width));
      made.up.push_back(matrix(up, ffn, width));
      made.down.push_back(matrix(down, width, ffn));
    }
    for (std::size_t i = 0; i < kExperts; ++i) {
      made.experts.push_back(
          {made.gate[i].weight.get(), made.up[i].weight.get(), made.down[i].weight.get()});
    }
    return made;
  }

  // Buffers of a call, on the host so that the test reads and writes them.
  struct Call {
    std::unique_ptr<device::Buffer> x, router, out;
    std::size_t rows = 0;
  };
  std::unique_ptr<device::Buffer> put(std::span<const float> values) {
    auto buffer = unit_->allocate(values.size_bytes(), MemoryKind::kHost);
    std::memcpy(buffer->host().data(), values.data(), values.size_bytes());
    return buffer;
  }
  Call call(const Model& model, const std::vector<float>& router) {
    const std::size_t rows = router.size() / kExperts;
    return {put(randoms(rows * model.width, 1.0f)), put(router),
            put(std::vector<float>(rows * model.width, 0.5f)), rows};
  }
  void enqueue(const Model& model, const Call& call) {
    unit_->enqueue(device::ExpertsOp{static_cast<std::int64_t>(call.rows),
                                     {call.x.get(), 0},
                                     {call.router.get(), 0},
                                     model.experts,
                                     kUsed,
                                     true,
                                     device::Activation::kSilu,
                                     {call.out.get(), 0}});
  }
  void finish() {
    const auto ticket = unit_->record();
    ASSERT_EQ(unit_->wait(ticket, Deadline::after(std::chrono::minutes(2))),
              device::WaitResult::kDone);
  }
  static std::span<const float> floats(const std::unique_ptr<device::Buffer>& buffer) {
    return {reinterpret_cast<const float*>(buffer->host().data()),
            buffer->host().size() / sizeof(float)};
  }

  // Mean squared error over the mean square.
  static double error(const Model& model, const Call& call) {
    double wrong = 0, all = 0;
    for (std::size_t row = 0; row < call.rows; ++row) {
      const auto logits = floats(call.router).subspan(row * kExperts, kExperts);
      const auto in = floats(call.x).subspan(row * model.width, model.width);
      const std::vector<double> x(in.begin(), in.end());
      std::vector<std::size_t> order(kExperts);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, [&](auto a, auto b) { return logits[a] > logits[b]; });
      std::vector<double> want(model.width, 0.5);
      double total = 0;
      for (std::size_t rank = 0; rank < kUsed; ++rank) total += std::exp(logits[order[rank]]);
      for (std::size_t rank = 0; rank < kUsed; ++rank) {
        const std::size_t expert = order[rank];
        auto inner = model.gate[expert].times(x);
        const auto up = model.up[expert].times(x);
        for (std::size_t i = 0; i < inner.size(); ++i) {
          inner[i] = inner[i] / (1 + std::exp(-inner[i])) * up[i];
        }
        const auto result = model.down[expert].times(inner);
        const double share = std::exp(logits[expert]) / total;
        for (std::size_t i = 0; i < want.size(); ++i) want[i] += share * result[i];
      }
      for (std::size_t i = 0; i < want.size(); ++i) {
        const double off = floats(call.out)[row * model.width + i] - want[i];
        wrong += off * off;
        all += want[i] * want[i];
      }
    }
    return wrong / all;
  }

  // Router logits: of every row its two experts.
  template <typename Chosen>
  static std::vector<float> routed(std::size_t rows, const Chosen& chosen) {
    std::vector<float> router(rows * kExperts, -4.0f);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto [first, second] = chosen(row);
      router[row * kExperts + first] = 2.0f;
      router[row * kExperts + second] = 1.5f;
    }
    return router;
  }
  using Pair = std::pair<std::size_t, std::size_t>;

  cuda::Queue& queue() { return static_cast<cuda::CudaComputeUnit&>(*unit_).gpu().queue; }

  std::unique_ptr<device::Device> device_;
  std::unique_ptr<device::ComputeUnit> unit_;
  std::mt19937 random_{3};
};

TEST_F(CudaExpertsTest, AnyChoiceOfExpertsIsAnsweredAsLoopsDo) {
  const Model model = this->model(DType::kF32, DType::kF32, DType::kF32, 36, 20);
  for (const std::size_t rows : {1u, 2u, 3u, 9u, 30u, 64u}) {
    const std::vector<std::vector<float>> routers = {
        routed(rows, [](std::size_t) { return Pair(4, 1); }),  // all rows the same two
        routed(rows, [](std::size_t row) { return Pair(2 * row % 6, (2 * row + 1) % 6); }),
        routed(rows, [](std::size_t row) { return Pair(5, row % 5); }), randoms(rows * 6, 2.0f)};
    for (const auto& router : routers) {
      const Call call = this->call(model, router);
      enqueue(model, call);
      finish();
      EXPECT_LT(error(model, call), 1e-10) << rows << " rows";
    }
  }
}

TEST_F(CudaExpertsTest, EveryTypeOfWeightsIsGrouped) {
  const struct {
    DType gate, up, down;
  } types[] = {
      {DType::kF16, DType::kF16, DType::kF16},    {DType::kBF16, DType::kBF16, DType::kF32},
      {DType::kQ8_0, DType::kQ8_0, DType::kQ8_0}, {DType::kQ4_K, DType::kQ4_K, DType::kQ6_K},
      {DType::kQ4_0, DType::kQ5_1, DType::kBF16}, {DType::kIQ4_NL, DType::kQ5_K, DType::kF16}};
  for (const auto& type : types) {
    const Model model = this->model(type.gate, type.up, type.down, 256, 256);
    for (const std::size_t rows : {1u, 3u, 11u, 40u}) {
      const Call call = this->call(model, randoms(rows * kExperts, 2.0f));
      const auto flushes = queue().stats().flushes;
      enqueue(model, call);
      EXPECT_EQ(queue().stats().flushes, flushes);
      finish();
      EXPECT_LT(error(model, call), 1e-3) << dtype_name(type.gate) << ", " << rows << " rows";
    }
  }
}

TEST_F(CudaExpertsTest, ADecodeStepWaitsForNothingAndIsAGraphWhateverIsChosen) {
  const Model model = this->model(DType::kF32, DType::kF32, DType::kF32, 36, 20);
  const Call call = this->call(model, randoms(5 * kExperts, 2.0f));
  for (int step = 0; step < 4; ++step) {
    const auto router = randoms(5 * kExperts, 2.0f);
    std::memcpy(call.router->host().data(), router.data(), router.size() * sizeof(float));
    const auto before = queue().stats();
    enqueue(model, call);
    enqueue(model, call);  // another layer
    if (step > 0) {
      EXPECT_EQ(queue().stats().flushes, before.flushes) << "memory is there now";
    }
    finish();
    EXPECT_EQ(queue().stats().graph_launches, before.graph_launches + (step > 0 ? 1 : 0)) << step;
  }
}

TEST_F(CudaExpertsTest, ManyRowsOfFewExpertsAreMultipliedByExpert) {
  const Model model = this->model(DType::kF32, DType::kF32, DType::kF32, 36, 20);
  const Call call = this->call(model, randoms(200 * kExperts, 2.0f));
  const auto flushes = queue().stats().flushes;
  enqueue(model, call);
  EXPECT_GT(queue().stats().flushes, flushes);
  finish();
  EXPECT_LT(error(model, call), 1e-10);
}

TEST_F(CudaExpertsTest, ExpertsOfDifferentTypesAreMultipliedByExpert) {
  Model model = this->model(DType::kF32, DType::kF32, DType::kF32, 36, 20);
  model.up[3] = matrix(DType::kF16, 20, 36);
  model.experts[3].up = model.up[3].weight.get();
  const Call call = this->call(model, routed(9, [](std::size_t row) { return Pair(3, row % 3); }));
  enqueue(model, call);
  finish();
  EXPECT_LT(error(model, call), 1e-5);
}

}  // namespace
}  // namespace tandem::cuda_test
