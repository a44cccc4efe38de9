// SPDX-License-Identifier: Apache-2.0
//
// Prepared rows against double-precision loops; the narrow forms bit for bit against the f32 form.
#include "norm/row_preparation.h"

#include <cmath>
#include <limits>

#include "gpu_kernels/device_array.h"
#include "gpu_kernels/random_floats.h"
#include "norm/rms_norm.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

struct Case {
  std::size_t rows, width;
  RowFunction function;
  bool picks = false, addend = false;
};

double value_of(const Case& c, double x, double factor, double weight, double up) {
  switch (c.function) {
    case RowFunction::kRmsNorm:
      return x * factor * weight;
    case RowFunction::kSiluUp:
      return x / (1 + std::exp(-x)) * up;
    case RowFunction::kGeluTanhUp:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) * up;
    default:
      return x;
  }
}

void expect_same_q8(const std::vector<float>& f, const std::vector<std::int8_t>& q,
                    const std::vector<Q8Note>& notes) {
  for (std::size_t block = 0; block < notes.size(); ++block) {
    float peak = 0;
    for (std::size_t i = 0; i < 32; ++i) peak = std::max(peak, std::fabs(f[block * 32 + i]));
    const float inverse = 127.0f / peak;
    int sum = 0, first_sum = 0;
    for (std::size_t i = 0; i < 32; ++i) {
      const int rounded = static_cast<int>(std::nearbyint(f[block * 32 + i] * inverse));
      ASSERT_EQ(q[block * 32 + i], rounded) << "block " << block << ", " << i;
      sum += rounded;
      if (i < 16) first_sum += rounded;
    }
    ASSERT_EQ(notes[block].scale, peak / 127.0f);
    ASSERT_EQ(notes[block].scaled_sum, peak / 127.0f * static_cast<float>(sum));
    ASSERT_EQ(notes[block].sum, sum);
    ASSERT_EQ(notes[block].first_sum, first_sum);
  }
}

void expect_same_e4m3(const std::vector<float>& f, std::size_t width, const std::vector<E4M3>& e4m3,
                      const std::vector<float>& scales) {
  for (std::size_t row = 0; row < scales.size(); ++row) {
    float peak = 0;
    for (std::size_t i = 0; i < width; ++i) peak = std::max(peak, std::fabs(f[row * width + i]));
    ASSERT_EQ(scales[row], peak / 448.0f);
    for (std::size_t i = row * width; i < (row + 1) * width; ++i) {
      ASSERT_EQ(e4m3[i].bits, f32_to_f8(f[i] * (448.0f / peak))) << i;
    }
  }
}

// A case's inputs and what it is prepared into, all forms at once; `rows` of x are twice those
// prepared when they are picked.
class Preparation {
 public:
  explicit Preparation(const Case& c)
      : case_(c),
        x_rows_(c.picks ? 2 * c.rows : c.rows),
        x_(random_floats(x_rows_ * c.width, 1, 2.0f)),
        up_(random_floats(x_.size(), 2)),
        addend_(random_floats(x_.size(), 3)),
        weight_(random_floats(c.width, 4)),
        picks_(c.rows),
        sum_(c.rows * c.width),
        f32_(c.rows * c.width),
        e4m3_scales_(c.rows),
        bf16_(c.rows * c.width),
        f16_(c.rows * c.width),
        e4m3_(c.rows * c.width),
        q8_(has_q8() ? c.rows * c.width : 0),
        notes_(has_q8() ? c.rows * c.width / 32 : 0) {
    for (std::size_t i = 0; i < c.rows; ++i) {
      picks_[i] = static_cast<std::int32_t>(c.picks ? (i * 7 + 1) % x_rows_ : i);
    }
  }

  void run() {
    DeviceArray<float> x(x_), up(up_), addend(addend_), weight(weight_);
    DeviceArray<std::int32_t> picks(picks_);
    const bool norm = case_.function == RowFunction::kRmsNorm;
    RowPreparation job;
    job.rows = static_cast<std::int64_t>(case_.rows);
    job.width = static_cast<int>(case_.width);
    job.x = x.data();
    if (case_.picks) job.picks = picks.data();
    job.function = case_.function;
    if (norm) job.weight = weight.data();
    if (!norm && case_.function != RowFunction::kNone) job.up = up.data();
    if (case_.addend) {
      job.addend = addend.data();
      job.sum = sum_.data();
    }
    job.to = {f32_.data(), bf16_.data(), f16_.data(), e4m3_.data(), e4m3_scales_.data()};
    if (has_q8()) {
      job.to.q8 = q8_.data();
      job.to.q8_notes = notes_.data();
    }
    ASSERT_EQ(prepare_rows(job, nullptr), cudaSuccess);
  }

  void expect_values() {
    const auto got = f32_.download(), sum = sum_.download();
    for (std::size_t row = 0; row < case_.rows; ++row) {
      const std::size_t from = static_cast<std::size_t>(picks_[row]) * case_.width;
      std::vector<double> input(case_.width);
      double squares = 0;
      for (std::size_t i = 0; i < case_.width; ++i) {
        const float value = case_.addend ? x_[from + i] + addend_[from + i] : x_[from + i];
        if (case_.addend) {
          ASSERT_EQ(sum[row * case_.width + i], value);
        }
        input[i] = value;
        squares += input[i] * input[i];
      }
      const double factor = 1 / std::sqrt(squares / static_cast<double>(case_.width) + 1e-5);
      for (std::size_t i = 0; i < case_.width; ++i) {
        const double expected = value_of(case_, input[i], factor, weight_[i], up_[from + i]);
        ASSERT_NEAR(got[row * case_.width + i], expected, 3e-6 * std::fabs(expected) + 1e-7)
            << row << ", " << i;
      }
    }
  }

  void expect_forms() {
    const auto f32 = f32_.download();
    const auto bf16 = bf16_.download();
    const auto f16 = f16_.download();
    for (std::size_t i = 0; i < f32.size(); ++i) {
      ASSERT_EQ(bf16[i].bits, f32_to_bf16(f32[i]));
      ASSERT_EQ(f16[i].bits, f32_to_f16(f32[i]));
    }
    expect_same_e4m3(f32, case_.width, e4m3_.download(), e4m3_scales_.download());
    if (has_q8()) expect_same_q8(f32, q8_.download(), notes_.download());
  }

 private:
  bool has_q8() const { return case_.width % 32 == 0; }

  Case case_;
  std::size_t x_rows_;
  std::vector<float> x_, up_, addend_, weight_;
  std::vector<std::int32_t> picks_;
  DeviceArray<float> sum_, f32_, e4m3_scales_;
  DeviceArray<BF16> bf16_;
  DeviceArray<F16> f16_;
  DeviceArray<E4M3> e4m3_;
  DeviceArray<std::int8_t> q8_;
  DeviceArray<Q8Note> notes_;
};

void expect_prepared(const Case& c) {
  SCOPED_TRACE(testing::Message() << c.rows << " x " << c.width << ", function "
                                  << static_cast<int>(c.function) << (c.picks ? ", picked" : "")
                                  << (c.addend ? ", addend" : ""));
  Preparation preparation(c);
  preparation.run();
  preparation.expect_values();
  preparation.expect_forms();
}

TEST_P(KernelTest, PreparesRowsOfEveryFunctionInEveryForm) {
  for (const RowFunction function : {RowFunction::kNone, RowFunction::kRmsNorm,
                                     RowFunction::kSiluUp, RowFunction::kGeluTanhUp}) {
    expect_prepared({3, 64, function});
    expect_prepared({2, 1312, function});
    expect_prepared({4, 96, function, true});
  }
}

TEST_P(KernelTest, PreparesRowsOfOddAndOfLargeWidths) {
  for (const std::size_t width : {1, 2, 33, 127, 1001, 5000}) {
    expect_prepared({2, width, RowFunction::kRmsNorm});
    expect_prepared({2, width, RowFunction::kSiluUp});
  }
  expect_prepared({1, 17408, RowFunction::kRmsNorm});  // more than a batch per thread
}

TEST_P(KernelTest, PreparesSumsWithAnAddend) {
  expect_prepared({3, 160, RowFunction::kRmsNorm, false, true});
  expect_prepared({3, 160, RowFunction::kNone, false, true});
  expect_prepared({2, 77, RowFunction::kRmsNorm, true, true});
}

// Without e4m3 and norms a row is cut into parts.
TEST_P(KernelTest, PreparesPartsOfRows) {
  for (const std::size_t rows : {1, 70}) {
    const std::size_t width = rows == 1 ? 4640 : 2080;
    const auto x = random_floats(rows * width, 5, 3.0f), up = random_floats(x.size(), 6);
    DeviceArray<float> device_x(x), device_up(up), f32(x.size());
    DeviceArray<std::int8_t> q8(x.size());
    DeviceArray<Q8Note> notes(x.size() / 32);
    RowPreparation job;
    job.rows = static_cast<std::int64_t>(rows);
    job.width = static_cast<int>(width);
    job.x = device_x.data();
    job.up = device_up.data();
    job.function = RowFunction::kSiluUp;
    job.to.f32 = f32.data();
    job.to.q8 = q8.data();
    job.to.q8_notes = notes.data();
    ASSERT_EQ(prepare_rows(job, nullptr), cudaSuccess);
    const auto got = f32.download();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = x[i] / (1 + std::exp(-static_cast<double>(x[i]))) * up[i];
      ASSERT_NEAR(got[i], expected, 2e-6 * std::fabs(expected) + 1e-7);
    }
    expect_same_q8(got, q8.download(), notes.download());
  }
}

TEST_P(KernelTest, NormsAddToWhatIsThereAndToTheResidual) {
  constexpr std::size_t kRows = 2, kWidth = 200;
  const auto x = random_floats(kRows * kWidth, 7), before = random_floats(x.size(), 8);
  const auto weight = random_floats(kWidth, 9);
  DeviceArray<float> device_x(x), out(before), residual(before), normed(x.size()), w(weight);
  ASSERT_EQ(rms_norm({kRows, kWidth, device_x.data(), w.data(), out.data(), 1e-6f, true}, nullptr),
            cudaSuccess);
  ASSERT_EQ(rms_norm({kRows, kWidth, device_x.data(), w.data(), normed.data(), 1e-6f, false,
                      residual.data()},
                     nullptr),
            cudaSuccess);
  const auto got = out.download(), got_residual = residual.download(),
             got_normed = normed.download();
  for (std::size_t row = 0; row < kRows; ++row) {
    double squares = 0, sum_squares = 0;
    for (std::size_t i = row * kWidth; i < (row + 1) * kWidth; ++i) {
      squares += static_cast<double>(x[i]) * x[i];
      ASSERT_EQ(got_residual[i], x[i] + before[i]);
      sum_squares += static_cast<double>(got_residual[i]) * got_residual[i];
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      const std::size_t at = row * kWidth + i;
      ASSERT_NEAR(got[at], before[at] + x[at] / std::sqrt(squares / kWidth + 1e-6) * weight[i],
                  3e-6);
      ASSERT_NEAR(got_normed[at],
                  got_residual[at] / std::sqrt(sum_squares / kWidth + 1e-6) * weight[i], 3e-6);
    }
  }
}

TEST_P(KernelTest, BlocksAndRowsThatAreNoNumbersBecomeZerosWithScaleNaN) {
  constexpr std::size_t kRows = 4, kWidth = 64;
  std::vector<float> x = random_floats(kRows * kWidth, 10);
  x[3] = kNaN;                  // block 0 of row 0
  x[kWidth + 40] = -kInfinite;  // block 1 of row 1
  for (std::size_t i = 0; i < kWidth; ++i) x[2 * kWidth + i] = i % 2 == 0 ? 0x1p-120f : 0.0f;
  DeviceArray<float> device_x(x), scales(kRows);
  DeviceArray<E4M3> e4m3(x.size());
  DeviceArray<std::int8_t> q8(x.size());
  DeviceArray<Q8Note> notes(x.size() / 32);
  RowPreparation job;
  job.rows = kRows;
  job.width = kWidth;
  job.x = device_x.data();
  job.to.e4m3 = e4m3.data();
  job.to.e4m3_scales = scales.data();
  job.to.q8 = q8.data();
  job.to.q8_notes = notes.data();
  ASSERT_EQ(prepare_rows(job, nullptr), cudaSuccess);
  const auto got_scales = scales.download();
  const auto got_e4m3 = e4m3.download();
  const auto got_q8 = q8.download();
  const auto got_notes = notes.download();
  EXPECT_TRUE(std::isnan(got_scales[0]) && std::isnan(got_scales[1]));
  EXPECT_EQ(got_scales[2], 0.0f);
  EXPECT_GT(got_scales[3], 0.0f);
  for (std::size_t i = 0; i < 3 * kWidth; ++i) ASSERT_EQ(got_e4m3[i].bits & 0x7f, 0) << i;
  const bool is_nan[] = {true, false, false, true, false, false, false, false};
  for (std::size_t block = 0; block < 8; ++block) {
    EXPECT_EQ(std::isnan(got_notes[block].scale), is_nan[block]) << block;
    EXPECT_EQ(std::isnan(got_notes[block].scaled_sum), is_nan[block]) << block;
    const bool zeros = is_nan[block] || block == 4 || block == 5;
    EXPECT_TRUE(!zeros || got_notes[block].sum == 0) << block;
    for (std::size_t i = 0; zeros && i < 32; ++i) ASSERT_EQ(got_q8[block * 32 + i], 0);
  }
}

TEST_P(KernelTest, RowsDoNotDependOnTheOtherRowsOfTheCall) {
  constexpr std::size_t kWidth = 384;
  const auto x = random_floats(80 * kWidth, 11), weight = random_floats(kWidth, 12);
  DeviceArray<float> device_x(x), w(weight), all(x.size()), one(kWidth);
  ASSERT_EQ(rms_norm({80, kWidth, device_x.data(), w.data(), all.data()}, nullptr), cudaSuccess);
  ASSERT_EQ(rms_norm({1, kWidth, device_x.data() + 71 * kWidth, w.data(), one.data()}, nullptr),
            cudaSuccess);
  const auto got_all = all.download(), got_one = one.download();
  for (std::size_t i = 0; i < kWidth; ++i) ASSERT_EQ(got_all[71 * kWidth + i], got_one[i]);
}

TEST_P(KernelTest, PreparationRefusesContradictions) {
  DeviceArray<float> x(64);
  DeviceArray<std::int8_t> q8(64);
  DeviceArray<Q8Note> notes(2);
  RowPreparation good;
  good.rows = 1;
  good.width = 64;
  good.x = x.data();
  good.to.f32 = x.data();
  EXPECT_EQ(prepare_rows(good, nullptr), cudaSuccess);
  RowPreparation job = good;
  job.function = RowFunction::kRmsNorm;  // without a weight
  EXPECT_EQ(prepare_rows(job, nullptr), cudaErrorInvalidValue);
  job = good;
  job.up = x.data();  // without a gate
  EXPECT_EQ(prepare_rows(job, nullptr), cudaErrorInvalidValue);
  job = good;
  job.to.q8 = q8.data();  // without notes
  EXPECT_EQ(prepare_rows(job, nullptr), cudaErrorInvalidValue);
  job.to.q8_notes = notes.data();
  job.width = 48;
  EXPECT_EQ(prepare_rows(job, nullptr), cudaErrorInvalidValue);
  job = good;
  job.sum = x.data();  // of what?
  EXPECT_EQ(prepare_rows(job, nullptr), cudaErrorInvalidValue);
  job = good;
  job.rows = -1;
  EXPECT_EQ(prepare_rows(job, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
