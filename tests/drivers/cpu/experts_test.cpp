// SPDX-License-Identifier: Apache-2.0
//
// Experts on the CPU compute unit against double-precision loops, for every instruction set, and
// the weighted sum of the shared expert.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "common/error.h"
#include "compute_fixture.h"
#include "support/reference/compare.h"
#include "support/reference/transformer.h"

namespace tandem::device {
namespace {

using reference::nmse;

struct MixtureShape {
  int experts = 0, used = 0, width = 0, ffn = 0;
  bool normalise = false;
  Activation activation = Activation::kSilu;
  DType dtype = DType::kF32;
};

class CpuExperts : public ComputeFixture {
 protected:
  struct Mixture {
    MixtureShape shape;
    std::vector<Matrix> gate, up, down;
    std::vector<Expert> experts;
  };

  Mixture mixture(const MixtureShape& shape) {
    Mixture m;
    m.shape = shape;
    for (int i = 0; i < shape.experts; ++i) {
      m.gate.push_back(matrix(shape.dtype, shape.ffn, shape.width));
      m.up.push_back(matrix(shape.dtype, shape.ffn, shape.width));
      m.down.push_back(matrix(shape.dtype, shape.width, shape.ffn));
    }
    for (std::size_t i = 0; i < m.gate.size(); ++i) {
      m.experts.push_back({m.gate[i].weight.get(), m.up[i].weight.get(), m.down[i].weight.get()});
    }
    return m;
  }

  std::vector<float> run(const Mixture& m, const std::vector<float>& x,
                         const std::vector<float>& router, const std::vector<float>& before) {
    const std::int64_t rows = static_cast<std::int64_t>(x.size()) / m.shape.width;
    const Slice out = put(before);
    unit_->enqueue(ExpertsOp{rows, put(x), put(router), m.experts, m.shape.used, m.shape.normalise,
                             m.shape.activation, out});
    return get(out, before.size());
  }

  static std::vector<float> floats_of(const std::vector<double>& values) {
    return {values.begin(), values.end()};
  }

  // One row, expert by expert.
  static std::vector<double> reference_row(const Mixture& m, std::span<const float> x,
                                           std::span<const float> router) {
    const auto count = static_cast<std::size_t>(m.shape.experts);
    const auto used = static_cast<std::size_t>(m.shape.used);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return router[a] > router[b]; });
    double sum = 0, chosen = 0;
    for (const float logit : router) sum += std::exp(static_cast<double>(logit));
    for (std::size_t rank = 0; rank < used; ++rank) chosen += std::exp(double{router[order[rank]]});
    std::vector<double> out(x.size());
    for (std::size_t rank = 0; rank < used; ++rank) {
      const std::size_t e = order[rank];
      const auto gate = floats_of(reference::linear(x, m.gate[e].values, x.size()));
      const auto up = floats_of(reference::linear(x, m.up[e].values, x.size()));
      const auto inner = m.shape.activation == Activation::kSilu ? reference::swiglu(gate, up)
                                                                 : reference::geglu(gate, up);
      const auto down = reference::linear(floats_of(inner), m.down[e].values, inner.size());
      const double share = std::exp(double{router[e]}) / (m.shape.normalise ? chosen : sum);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += share * down[i];
    }
    return out;
  }
};

TEST_P(CpuExperts, AnswerAsLoopsOverExpertsDo) {
  const MixtureShape shapes[] = {
      {4, 2, 64, 96, true, Activation::kSilu, DType::kF32},
      {4, 2, 64, 96, false, Activation::kSilu, DType::kF32},
      {8, 3, 32, 32, true, Activation::kGeluTanh, DType::kF16},
      {3, 3, 32, 64, true, Activation::kSilu, DType::kBF16},
      {1, 1, 16, 8, false, Activation::kSilu, DType::kF32},
  };
  for (const MixtureShape& shape : shapes) {
    const Mixture m = mixture(shape);
    for (const std::size_t rows : {std::size_t{1}, std::size_t{5}, std::size_t{70}}) {
      const auto width = static_cast<std::size_t>(shape.width);
      const auto count = static_cast<std::size_t>(shape.experts);
      const auto x = randoms(rows * width), before = randoms(rows * width);
      auto router = randoms(rows * count);
      for (float& logit : router) logit *= 3;
      const auto got = run(m, x, router, before);
      std::vector<double> want(before.begin(), before.end());
      for (std::size_t row = 0; row < rows; ++row) {
        const auto add = reference_row(m, std::span(x).subspan(row * width, width),
                                       std::span(router).subspan(row * count, count));
        for (std::size_t i = 0; i < width; ++i) want[row * width + i] += add[i];
      }
      EXPECT_LT(nmse<double>(got, want), shape.dtype == DType::kBF16 ? 1e-4 : 1e-10)
          << shape.experts << " experts, " << rows << " rows";
    }
  }
}

TEST_P(CpuExperts, PreferTheFirstOfEqualLogits) {
  const Mixture m = mixture({6, 2, 32, 32, true, Activation::kSilu, DType::kF32});
  const auto x = randoms(32);
  const std::vector<float> none(32), tied = {0, 1, 1, 1, 0, 1}, clear = {0, 1, 1, -9, -9, -9};
  EXPECT_EQ(run(m, x, tied, none), run(m, x, clear, none));
}

TEST_P(CpuExperts, AnswerARowAlikeWhoeverSharesTheCall) {
  const Mixture m = mixture({8, 2, 64, 96, true, Activation::kSilu, DType::kQ8_0});
  const auto x = randoms(40 * 64), router = randoms(40 * 8);
  const auto together = run(m, x, router, std::vector<float>(40 * 64));
  for (const std::ptrdiff_t row : {0, 17, 39}) {
    const std::vector<float> one(x.begin() + row * 64, x.begin() + (row + 1) * 64);
    const std::vector<float> logits(router.begin() + row * 8, router.begin() + (row + 1) * 8);
    const auto alone = run(m, one, logits, std::vector<float>(64));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + row * 64)) << row;
  }
}

TEST_P(CpuExperts, ReadOnlyTheWeightsOfThoseChosen) {
  const Mixture m = mixture({8, 2, 64, 96, true, Activation::kSilu, DType::kF16});
  const std::uint64_t before = unit_->stats().weight_bytes_read;
  run(m, randoms(64), randoms(8), std::vector<float>(64));
  EXPECT_EQ(unit_->stats().weight_bytes_read - before, 2u * 3 * 64 * 96 * 2);
}

TEST_P(CpuExperts, RefuseWhatDoesNotFit) {
  Mixture m = mixture({4, 2, 64, 96, true, Activation::kSilu, DType::kF32});
  const auto x = randoms(64), router = randoms(4);
  m.shape.used = 5;
  EXPECT_THROW(run(m, x, router, x), Error);
  m.shape.used = 0;
  EXPECT_THROW(run(m, x, router, x), Error);
  m.shape.used = 4;  // every expert, also the one that does not fit
  std::swap(m.experts[3].gate, m.experts[3].down);
  EXPECT_THROW(run(m, x, router, x), Error);
  std::swap(m.experts[3].gate, m.experts[3].down);
  EXPECT_THROW(run(m, x, {1, 2, 3}, x), Error);
  m.shape.used =
      1;  // without the expert that does not fit: refused, too, before any row is computed
  for (const Weight* Expert::*member : {&Expert::gate, &Expert::up, &Expert::down}) {
    const Weight* fits = std::exchange(m.experts[3].*member, nullptr);
    EXPECT_THROW(run(m, x, std::vector<float>{5, 1, 1, 0}, x), Error);
    m.experts[3].*member = fits;
  }
  m.shape.used = 4;
  EXPECT_NO_THROW(run(m, x, router, x));
}

TEST_P(CpuExperts, AddTheSharedOneByItsGate) {
  for (const int rows : {1, 3, 600}) {
    const auto x = randoms(static_cast<std::size_t>(rows) * 64), before = randoms(x.size());
    const auto gate = randoms(static_cast<std::size_t>(rows));
    const Slice out = put(before);
    unit_->enqueue(GatedAddOp{rows, 64, put(x), put(gate), out});
    std::vector<double> want(before.begin(), before.end());
    for (std::size_t i = 0; i < want.size(); ++i) {
      want[i] += x[i] / (1.0 + std::exp(-double{gate[i / 64]}));
    }
    EXPECT_LT(nmse<double>(get(out, want.size()), want), 1e-12) << rows;
  }
}

INSTANTIATE_ON_EVERY_TARGET(CpuExperts);

}  // namespace
}  // namespace tandem::device
