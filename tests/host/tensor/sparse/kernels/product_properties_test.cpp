// SPDX-License-Identifier: Apache-2.0
//
// All products against naive loops in double precision, over random tensors of awkward shapes:
// modes of length 1, empty rows, a dense row, duplicates, more threads than rows, indices of 64
// bits, and numbers of columns beside those of vectors. Values kept in bf16 are rounded by the
// reference too.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <type_traits>

#include "../random_tensor.h"
#include "tensor/sparse/kernels/fibre_products.h"
#include "tensor/sparse/kernels/mttkrp.h"
#include "tensor/sparse/kernels/row_matrix.h"

namespace tandem::sparse {
namespace {

using test::Index;

constexpr std::size_t kWidths[] = {1, 3, 33, 257};
constexpr int kThreads[] = {1, 2, 9};

// To 8 bits, ties to even.
double in_bf16(double value) {
  int exponent = 0;
  const double part = std::frexp(static_cast<double>(static_cast<float>(value)), &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(part, 8)), exponent - 8);
}

template <typename Stored>
double kept(double value) {
  if constexpr (std::is_same_v<Stored, Bf16>) {
    return in_bf16(value);
  } else {
    return static_cast<double>(static_cast<Stored>(value));
  }
}

// A sum, and what its terms weigh: rounding is relative to that.
struct Total {
  double sum = 0, weight = 0;
  void add(double term) {
    sum += term;
    weight += std::abs(term);
  }
};

template <typename Value>
void expect_total(Value got, const Total& want, std::size_t terms) {
  const double bound = static_cast<double>(std::numeric_limits<Value>::epsilon()) *
                       static_cast<double>(terms + 4) * want.weight;
  ASSERT_NEAR(static_cast<double>(got), want.sum, bound);
}

template <typename Value>
FactorMatrix<Value> drawn_dense(std::uint64_t rows, std::size_t columns, std::mt19937_64& engine) {
  FactorMatrix<Value> dense(rows, columns);
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::size_t c = 0; c < columns; ++c) {
      dense.row(row)[c] = static_cast<Value>(static_cast<double>(engine() % 2001) / 1000 - 1);
    }
  }
  return dense;
}

// Every second row is empty, one is dense, and a third of the entries come twice.
CooTensor awkward_matrix(std::uint64_t rows, std::uint64_t columns, std::mt19937_64& engine) {
  CooTensor matrix({rows, columns});
  const auto append = [&](std::uint64_t row, std::uint64_t column) {
    const double value = static_cast<double>(engine() % 1999) / 997 - 1;
    for (int times = engine() % 3 == 0 ? 2 : 1; times > 0; --times) {
      matrix.append(Index{row, column}, value);
    }
  };
  for (std::uint64_t column = 0; column < columns; ++column) append(rows / 2, column);
  for (std::uint64_t entry = 0; entry < rows * columns / 5; ++entry) {
    append(engine() % rows / 2 * 2, engine() % columns);
  }
  return matrix;
}

template <typename Value, typename Stored>
struct Products {
  void run(std::uint64_t rows, std::uint64_t columns, std::size_t width, int threads,
           unsigned seed) {
    SCOPED_TRACE(testing::Message()
                 << rows << " x " << columns << ", width " << width << ", threads " << threads);
    std::mt19937_64 engine(seed);
    ThreadPool pool(threads);
    const CooTensor tensor = awkward_matrix(rows, columns, engine);
    entries.clear();
    for (const auto& [index, value] : test::entries_of(tensor)) {
      entries.emplace_back(index, kept<Stored>(value));
    }
    const auto matrix = row_matrix<Value, Stored>(tensor, pool);
    ASSERT_EQ(matrix.values.size(), entries.size());
    const auto left = drawn_dense<Value>(rows, width, engine),
               right = drawn_dense<Value>(columns, width, engine);
    spmv_of(matrix, right, pool);
    spmm_of(matrix, right, pool);
    sddmm_of(matrix, left, right, pool);
  }

  void spmv_of(const RowMatrix<Value, Stored>& matrix, const FactorMatrix<Value>& right,
               ThreadPool& pool) {
    std::vector<Value> x, y(matrix.rows, Value{7});
    for (std::uint64_t row = 0; row < right.rows; ++row) x.push_back(right.row(row)[0]);
    spmv<Value, Stored>(matrix, x, y, pool);
    std::vector<Total> want(matrix.rows);
    for (const auto& [index, value] : entries) {
      want[index[0]].add(value * static_cast<double>(x[index[1]]));
    }
    for (std::size_t row = 0; row < y.size(); ++row) expect_total(y[row], want[row], right.rows);
  }

  void spmm_of(const RowMatrix<Value, Stored>& matrix, const FactorMatrix<Value>& right,
               ThreadPool& pool) {
    FactorMatrix<Value> out(matrix.rows, right.columns);
    std::ranges::fill(out.values, Value{7});
    row_spmm<Value, Stored>(matrix, right, out, pool);
    std::vector<Total> want(matrix.rows * right.columns);
    for (const auto& [index, value] : entries) {
      for (std::size_t c = 0; c < right.columns; ++c) {
        want[index[0] * right.columns + c].add(value * static_cast<double>(right.row(index[1])[c]));
      }
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
      expect_total(out.row(i / right.columns)[i % right.columns], want[i], right.rows);
    }
  }

  void sddmm_of(const RowMatrix<Value, Stored>& matrix, const FactorMatrix<Value>& left,
                const FactorMatrix<Value>& right, ThreadPool& pool) {
    std::vector<Value> out(entries.size(), Value{7});
    sddmm<Value, Stored>(matrix, left, right, out, pool);
    for (std::size_t e = 0; e < entries.size(); ++e) {
      const auto& [index, value] = entries[e];
      Total want;
      for (std::size_t c = 0; c < left.columns; ++c) {
        want.add(value * static_cast<double>(left.row(index[0])[c]) *
                 static_cast<double>(right.row(index[1])[c]));
      }
      expect_total(out[e], want, left.columns);
    }
  }

  std::vector<std::pair<Index, double>> entries;
};

template <typename Value, typename Stored = Value>
void expect_all_products() {
  constexpr std::pair<std::uint64_t, std::uint64_t> kShapes[] = {{1, 1},  {1, 300}, {300, 1},
                                                                 {2, 65}, {5, 17},  {70, 31}};
  unsigned seed = 1;
  for (const auto& [rows, columns] : kShapes) {
    for (const std::size_t width : kWidths) {
      for (const int threads : kThreads) {
        Products<Value, Stored>().run(rows, columns, width, threads, ++seed);
      }
    }
  }
}

TEST(ProductProperties, ProductsOverRowsAreTheNaiveLoops) {
  expect_all_products<float>();
  expect_all_products<double>();
  expect_all_products<float, Bf16>();
}

TEST(ProductProperties, KeptValuesAreRoundedToNearestEven) {
  std::mt19937_64 engine(3);
  for (int draw = 0; draw < 20'000; ++draw) {
    const double value = std::ldexp(static_cast<double>(engine() % 4096) / 4096 + 1,
                                    static_cast<int>(engine() % 60) - 30);  // with ties
    ASSERT_EQ(static_cast<double>(widened(stored_as<Bf16>(value))), in_bf16(value)) << value;
    ASSERT_EQ(static_cast<double>(widened(stored_as<Bf16>(-value))), in_bf16(-value)) << value;
  }
}

template <typename Value>
void expect_naive_mttkrp(const Index& sizes, std::size_t width, int threads, unsigned seed) {
  SCOPED_TRACE(testing::Message() << testing::PrintToString(sizes) << ", width " << width
                                  << ", threads " << threads);
  std::mt19937_64 engine(seed);
  ThreadPool pool(threads);
  const CooTensor tensor = test::random_tensor(sizes, 120, seed);
  std::vector<FactorMatrix<Value>> factors;
  for (const std::uint64_t size : sizes) factors.push_back(drawn_dense<Value>(size, width, engine));
  const auto blocks = partition_blocks<Value>(tensor, pool);
  for (std::size_t mode = 0; mode < sizes.size(); ++mode) {
    FactorMatrix<Value> out(sizes[mode], width);
    std::ranges::fill(out.values, Value{7});
    mttkrp<Value>(blocks, factors, mode, out, pool);
    std::vector<Total> want(sizes[mode] * width);
    for (std::size_t e = 0; e < tensor.num_entries(); ++e) {
      const Index index = test::index_of_entry(tensor, e);
      for (std::size_t c = 0; c < width; ++c) {
        double term = tensor.values[e];
        for (std::size_t m = 0; m < sizes.size(); ++m) {
          if (m != mode) term *= static_cast<double>(factors[m].row(index[m])[c]);
        }
        want[index[mode] * width + c].add(term);
      }
    }
    for (std::size_t i = 0; i < want.size(); ++i) {
      expect_total(out.row(i / width)[i % width], want[i], tensor.num_entries());
    }
  }
}

// Random sizes; every second mode has length 1.
TEST(ProductProperties, MttkrpIsTheNaiveLoopForOrders1To5) {
  std::mt19937_64 engine(11);
  for (std::size_t order = 1; order <= 5; ++order) {
    for (const std::size_t width : kWidths) {
      for (const int threads : kThreads) {
        Index sizes;
        for (std::size_t m = 0; m < order; ++m) {
          sizes.push_back(engine() % 2 == 0 ? 1 : 1 + engine() % 40);
        }
        expect_naive_mttkrp<float>(sizes, width, threads, static_cast<unsigned>(engine()));
        expect_naive_mttkrp<double>(sizes, width, threads, static_cast<unsigned>(engine()));
      }
    }
  }
}

// A mode in the middle, between modes whose indices take 64 bits each.
TEST(ProductProperties, FibresLieAtIndicesOf64Bits) {
  std::mt19937_64 engine(13);
  const std::uint64_t wide = ~std::uint64_t{0};
  CooTensor tensor({wide, 5, 3, wide});
  for (int entry = 0; entry < 300; ++entry) {
    tensor.append(Index{wide - 1 - engine() % 7, engine() % 5, engine() % 3, engine() % 9 << 60},
                  static_cast<double>(engine() % 1999) / 997 - 1);
  }
  for (const int threads : kThreads) {
    ThreadPool pool(threads);
    const auto fibres = fibre_tensor<double>(tensor, 1, pool);
    const std::vector<double> x{1, -2, 3, 0.5, -0.25};
    std::vector<double> out(fibres.num_fibres(), 7);
    ttv<double>(fibres, x, out, pool);
    std::map<Index, Total> want;
    for (std::size_t e = 0; e < tensor.num_entries(); ++e) {
      const Index at = test::index_of_entry(tensor, e);
      want[{at[0], at[2], at[3]}].add(tensor.values[e] * x[at[1]]);
    }
    const CooTensor got = to_coo<double, double>(fibres, out);
    ASSERT_EQ(got.num_entries(), want.size());
    for (const auto& [index, value] : test::entries_of(got)) {
      ASSERT_TRUE(want.contains(index)) << testing::PrintToString(index);
      expect_total(value, want[index], 300);
    }
  }
}

}  // namespace
}  // namespace tandem::sparse
