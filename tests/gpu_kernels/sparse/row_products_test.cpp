// SPDX-License-Identifier: Apache-2.0
//
// Products over rows against loops in double precision: rows without entries, with one, with many;
// every number of factors and columns, every type of values, parts of rows, and ends.
#include "sparse/row_products.h"

#include <cmath>
#include <memory>
#include <random>

#include "gpu_kernels/device_array.h"
#include "tensor/dtype.h"

namespace tandem::gpu_kernels {
namespace {

constexpr unsigned kInputs = 37;

// Rows 0, 5, 10, ... are empty, others have 1 to 9 entries, row 7 has many.
struct SparseRows {
  explicit SparseRows(unsigned num_rows, int factors) : rows(num_rows) {
    std::mt19937 random(7);
    begins.push_back(0);
    for (unsigned row = 0; row < rows; ++row) {
      const unsigned count = row % 5 == 0 ? 0 : row == 7 ? 300 : 1 + random() % 9;
      begins.push_back(begins.back() + count);
    }
    indices.resize(static_cast<std::size_t>(factors));
    for (auto& each : indices) {
      for (RowBegin e = 0; e < begins.back(); ++e) each.push_back(random() % kInputs);
    }
    for (RowBegin e = 0; e < begins.back(); ++e) {
      values.push_back(static_cast<float>(static_cast<int>(random() % 33) - 16) / 8);
    }
  }
  unsigned rows;
  std::vector<RowBegin> begins;
  std::vector<std::vector<unsigned>> indices;
  std::vector<float> values;  // every type holds them
};

std::vector<float> drawn(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 1000 - 1;
  return values;
}

std::vector<std::uint16_t> halves(const std::vector<float>& values, ValueType type) {
  std::vector<std::uint16_t> narrow;
  for (const float value : values) {
    narrow.push_back(type == ValueType::kF16 ? f32_to_f16(value) : f32_to_bf16(value));
  }
  return narrow;
}

struct SumCase {
  int factors = 1, columns = 16;
  ValueType type = ValueType::kF32;
  unsigned parts = 1;
  RowEnd end = RowEnd::kNone;
};

double ended_sum(RowEnd end, double sum, double bias) {
  if (end != RowEnd::kNone) sum += bias;
  if (end == RowEnd::kBiasRelu) return std::max(sum, 0.0);
  return end == RowEnd::kBiasSilu ? sum / (1 + std::exp(-sum)) : sum;
}

std::vector<double> naive_sums(const SparseRows& matrix,
                               const std::vector<std::vector<float>>& factors,
                               const std::vector<float>& bias, const SumCase& c) {
  const auto columns = static_cast<std::size_t>(c.columns);
  std::vector<double> sums(matrix.rows * columns);
  for (unsigned row = 0; row < matrix.rows; ++row) {
    for (RowBegin e = matrix.begins[row]; e < matrix.begins[row + 1]; ++e) {
      for (std::size_t i = 0; i < columns; ++i) {
        double product = matrix.values[e];
        for (std::size_t f = 0; f < factors.size(); ++f) {
          product *= static_cast<double>(factors[f][matrix.indices[f][e] * columns + i]);
        }
        sums[row * columns + i] += product;
      }
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = ended_sum(c.end, sums[i], bias[i / columns]);
  return sums;
}

void expect_naive_sums(const SumCase& c) {
  SCOPED_TRACE(testing::Message() << c.factors << " factors, " << c.columns << " columns, type "
                                  << static_cast<int>(c.type) << ", " << c.parts << " parts");
  const SparseRows matrix(19, c.factors);
  const auto columns = static_cast<std::size_t>(c.columns);
  const std::vector<float> bias = drawn(matrix.rows, 5);
  std::vector<std::vector<float>> factors;
  std::vector<std::unique_ptr<DeviceArray<float>>> device_factors;
  std::vector<std::unique_ptr<DeviceArray<unsigned>>> device_indices;
  DeviceArray<RowBegin> begins(matrix.begins);
  DeviceArray<float> values(matrix.values), device_bias(bias), out(matrix.rows * columns);
  DeviceArray<std::uint16_t> narrow(halves(matrix.values, c.type));
  DeviceArray<float> partial(std::max<std::size_t>(1, partial_bytes(19, c.columns, c.parts) / 4));
  RowSums job;
  for (int f = 0; f < c.factors; ++f) {
    factors.push_back(drawn(kInputs * columns, 20 + static_cast<unsigned>(f)));
    device_factors.push_back(std::make_unique<DeviceArray<float>>(factors.back()));
    device_indices.push_back(
        std::make_unique<DeviceArray<unsigned>>(matrix.indices[static_cast<std::size_t>(f)]));
    job.factors[f] = device_factors.back()->data();
    job.indices[f] = device_indices.back()->data();
  }
  job.begins = begins.data();
  job.values = c.type == ValueType::kF32 ? static_cast<void*>(values.data()) : narrow.data();
  job.bias = c.end == RowEnd::kNone ? nullptr : device_bias.data();
  job.rows = matrix.rows;
  job.parts = c.parts;
  job.partial = c.parts > 1 ? partial.data() : nullptr;
  job.out = out.data();
  job.end = c.end;
  ASSERT_EQ(sum_rows(job, c.factors, c.columns, c.type, nullptr), cudaSuccess);
  const std::vector<float> got = out.download();
  partial.download();
  const std::vector<double> want = naive_sums(matrix, factors, bias, c);
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], 1e-4) << "row " << i / columns;
  }
}

TEST_P(KernelTest, SumsOfRowsAreTheNaiveLoops) {
  for (const int factors : {1, 2, 3, 4}) {
    for (const int columns : {16, 32, 64, 128}) {
      expect_naive_sums({factors, columns, ValueType::kF32, 1, RowEnd::kNone});
    }
  }
  expect_naive_sums({1, 16, ValueType::kF16, 1, RowEnd::kNone});
  expect_naive_sums({1, 64, ValueType::kBF16, 1, RowEnd::kNone});
}

TEST_P(KernelTest, PartsOfRowsAddUpAndEndOnce) {
  for (const RowEnd end : {RowEnd::kNone, RowEnd::kBias, RowEnd::kBiasRelu, RowEnd::kBiasSilu}) {
    expect_naive_sums({1, 32, ValueType::kF32, 1, end});
    expect_naive_sums({2, 16, ValueType::kF32, 5, end});
  }
}

TEST_P(KernelTest, AMatrixTimesAVectorIsTheNaiveLoop) {
  const SparseRows matrix(19, 1);
  const std::vector<float> x = drawn(kInputs, 9), bias = drawn(matrix.rows, 5);
  for (const ValueType type : {ValueType::kF32, ValueType::kF16, ValueType::kBF16}) {
    DeviceArray<RowBegin> begins(matrix.begins);
    DeviceArray<unsigned> indices(matrix.indices[0]);
    DeviceArray<float> values(matrix.values), device_x(x), device_bias(bias), out(matrix.rows);
    DeviceArray<std::uint16_t> narrow(halves(matrix.values, type));
    RowSums job;
    job.begins = begins.data();
    job.indices[0] = indices.data();
    job.values = type == ValueType::kF32 ? static_cast<void*>(values.data()) : narrow.data();
    job.factors[0] = device_x.data();
    job.bias = device_bias.data();
    job.rows = matrix.rows;
    job.out = out.data();
    job.end = RowEnd::kBiasRelu;
    ASSERT_EQ(dot_rows(job, type, nullptr), cudaSuccess);
    const std::vector<double> want =
        naive_sums(matrix, {x}, bias, {1, 1, type, 1, RowEnd::kBiasRelu});
    const std::vector<float> got = out.download();
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << i;
  }
}

// Fibres of `length` entries each, or of any number.
struct FibreCase {
  FibreCase(unsigned fibres, int each) : matrix(fibres, 1), length(each) {
    if (length == 0) return;
    const std::size_t entries = std::size_t{fibres} * static_cast<unsigned>(length);
    for (unsigned f = 0; f <= fibres; ++f)
      matrix.begins[f] = std::size_t{f} * static_cast<unsigned>(length);
    std::mt19937 random(3);
    matrix.indices[0].clear();
    matrix.values.clear();
    for (std::size_t e = 0; e < entries; ++e) {
      matrix.indices[0].push_back(random() % kInputs);
      matrix.values.push_back(static_cast<float>(static_cast<int>(random() % 33) - 16) / 8);
    }
  }
  SparseRows matrix;
  int length;
};

// More fibres than a block has threads; the first 100 are of another class.
TEST_P(KernelTest, ATensorTimesAVectorIsTheNaiveLoop) {
  constexpr unsigned kFibres = 400, kFirst = 100;
  const std::vector<float> x = drawn(kInputs, 9), bias = drawn(kFibres, 5);
  for (const int length : {0, 1, 2, 3, 4}) {
    for (const ValueType type : {ValueType::kF32, ValueType::kF16, ValueType::kBF16}) {
      const FibreCase c(kFibres, length);
      DeviceArray<RowBegin> begins(c.matrix.begins);
      DeviceArray<unsigned> indices(c.matrix.indices[0]);
      DeviceArray<float> values(c.matrix.values), device_x(x), out(kFibres);
      DeviceArray<std::uint16_t> narrow(halves(c.matrix.values, type));
      RowSums job;
      job.begins = begins.data() + kFirst;
      job.indices[0] = indices.data();
      job.values = type == ValueType::kF32 ? static_cast<void*>(values.data()) : narrow.data();
      job.factors[0] = device_x.data();
      job.rows = kFibres - kFirst;
      job.out = out.data() + kFirst;
      ASSERT_EQ(dot_fibres(job, length, type, nullptr), cudaSuccess);
      const std::vector<double> want =
          naive_sums(c.matrix, {x}, bias, {1, 1, type, 1, RowEnd::kNone});
      const std::vector<float> got = out.download();
      for (std::size_t i = kFirst; i < kFibres; ++i) {
        ASSERT_NEAR(got[i], want[i], 1e-4) << i << " of length " << length;
      }
    }
  }
}

// left, right and mixed rows on the device, and the naive scores.
struct DotCase {
  explicit DotCase(int width)
      : columns(static_cast<std::size_t>(width)),
        matrix(19, 1),
        left(drawn(matrix.rows * columns, 1)),
        right(drawn(kInputs * columns, 2)),
        mixed(drawn(kInputs * columns, 3)),
        begins(matrix.begins),
        indices(matrix.indices[0]),
        device{DeviceArray<float>(matrix.values), DeviceArray<float>(left),
               DeviceArray<float>(right), DeviceArray<float>(mixed)} {}

  EntryDots job(DeviceArray<float>& out) {
    EntryDots made;
    made.begins = begins.data();
    made.indices = indices.data();
    made.values = device[0].data();
    made.left = device[1].data();
    made.right = device[2].data();
    made.mixed = device[3].data();
    made.scale = 0.75f;
    made.rows = matrix.rows;
    made.out = out.data();
    return made;
  }
  double dot(unsigned row, RowBegin e) const {
    double sum = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      sum += static_cast<double>(left[row * columns + i]) *
             static_cast<double>(right[matrix.indices[0][e] * columns + i]);
    }
    return sum * static_cast<double>(matrix.values[e]);
  }

  std::size_t columns;
  SparseRows matrix;
  std::vector<float> left, right, mixed;
  DeviceArray<RowBegin> begins;
  DeviceArray<unsigned> indices;
  DeviceArray<float> device[4];
};

TEST_P(KernelTest, DotsOfEntriesAreTheNaiveOnes) {
  for (const int columns : {32, 64, 128}) {
    DotCase c(columns);
    DeviceArray<float> out(c.matrix.values.size());
    ASSERT_EQ(dot_entries(c.job(out), columns, nullptr), cudaSuccess);
    const std::vector<float> got = out.download();
    for (unsigned row = 0; row < c.matrix.rows; ++row) {
      for (RowBegin e = c.matrix.begins[row]; e < c.matrix.begins[row + 1]; ++e) {
        ASSERT_NEAR(got[e], c.dot(row, e), 1e-4) << e;
      }
    }
  }
}

TEST_P(KernelTest, AttentionOverEntriesIsTheNaiveOne) {
  for (const int columns : {32, 64, 128}) {
    DotCase c(columns);
    DeviceArray<float> out(c.matrix.rows * c.columns);
    ASSERT_EQ(attend_rows(c.job(out), columns, nullptr), cudaSuccess);
    const std::vector<float> got = out.download();
    for (unsigned row = 0; row < c.matrix.rows; ++row) {
      std::vector<double> sums(c.columns);
      double all = 0;
      for (RowBegin e = c.matrix.begins[row]; e < c.matrix.begins[row + 1]; ++e) {
        const double weight = std::exp(0.75 * c.dot(row, e));
        all += weight;
        for (std::size_t i = 0; i < c.columns; ++i) {
          sums[i] += weight * static_cast<double>(c.mixed[c.matrix.indices[0][e] * c.columns + i]);
        }
      }
      for (std::size_t i = 0; i < c.columns; ++i) {
        const double want = all > 0 ? sums[i] / all : 0;
        ASSERT_NEAR(got[row * c.columns + i], want, 1e-4) << row;
      }
    }
  }
}

TEST_P(KernelTest, AttentionHidesNoNaN) {
  DotCase c(32);
  std::vector<float> query = c.left;
  query[7 * 32 + 3] = std::nanf("");
  DeviceArray<float> out(c.matrix.rows * c.columns), left(query);
  EntryDots job = c.job(out);
  job.left = left.data();
  ASSERT_EQ(attend_rows(job, 32, nullptr), cudaSuccess);
  const std::vector<float> got = out.download();
  for (std::size_t i = 0; i < 32; ++i) {
    EXPECT_TRUE(std::isnan(got[7 * 32 + i])) << i;
    EXPECT_FALSE(std::isnan(got[8 * 32 + i])) << i;
    EXPECT_EQ(got[5 * 32 + i], 0) << "a row without entries";
  }
}

TEST_P(KernelTest, RefusesProductsThatItHasNoKernelFor) {
  DeviceArray<float> out(1);
  RowSums job;
  job.out = out.data();
  EXPECT_EQ(sum_rows(job, 1, 16, ValueType::kF32, nullptr), cudaSuccess) << "no rows";
  job.rows = 1;
  EXPECT_EQ(sum_rows(job, 1, 24, ValueType::kF32, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sum_rows(job, 0, 16, ValueType::kF32, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sum_rows(job, 5, 16, ValueType::kF32, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sum_rows(job, 2, 16, ValueType::kF16, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(sum_rows(job, 1, 16, ValueType::kF64, nullptr), cudaErrorInvalidValue);
  job.end = RowEnd::kBias;
  EXPECT_EQ(sum_rows(job, 1, 16, ValueType::kF32, nullptr), cudaErrorInvalidValue) << "no bias";
  job.end = RowEnd::kNone;
  job.parts = 2;
  EXPECT_EQ(sum_rows(job, 1, 16, ValueType::kF32, nullptr), cudaErrorInvalidValue) << "no partial";
  EXPECT_EQ(dot_rows(job, ValueType::kF32, nullptr), cudaErrorInvalidValue) << "parts";
  EXPECT_EQ(dot_fibres(job, 1, ValueType::kF32, nullptr), cudaErrorInvalidValue) << "parts";
  job.parts = 1;
  EXPECT_EQ(dot_fibres(job, 5, ValueType::kF32, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(dot_fibres(job, -1, ValueType::kF32, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(dot_fibres(job, 1, ValueType::kF64, nullptr), cudaErrorInvalidValue);
  EntryDots dots;
  dots.rows = 1;
  EXPECT_EQ(dot_entries(dots, 16, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(attend_rows(dots, 96, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace tandem::gpu_kernels
