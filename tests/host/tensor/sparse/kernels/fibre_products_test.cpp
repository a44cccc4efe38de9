// SPDX-License-Identifier: Apache-2.0
//
// Tensors times vectors and matrices against naive loops over all entries in double precision.
#include "tensor/sparse/kernels/fibre_products.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "../random_tensor.h"
#include "common/error.h"

namespace tandem::sparse {
namespace {

using test::Index;

template <typename Value>
FactorMatrix<Value> drawn_matrix(std::uint64_t rows, std::size_t columns) {
  std::mt19937_64 engine(23);
  FactorMatrix<Value> matrix(rows, columns);
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::size_t c = 0; c < columns; ++c) {
      matrix.row(row)[c] = static_cast<Value>(static_cast<double>(engine() % 2001) / 1000 - 1);
    }
  }
  return matrix;
}

// A sum and the sum of magnitudes at each place that a product may have.
struct Sums {
  double sum = 0, magnitude = 0;
};

// is_vector: of ttv, whose places have no index of `mode`; a scalar's place is {0}.
template <typename Value>
std::map<Index, Sums> naive_product(const CooTensor& tensor, std::size_t mode,
                                    const FactorMatrix<Value>& matrix, bool is_vector) {
  std::map<Index, Sums> sums;
  for (std::size_t e = 0; e < tensor.num_entries(); ++e) {
    Index place = test::index_of_entry(tensor, e);
    const std::uint64_t row = place[mode];
    for (std::size_t c = 0; c < matrix.columns; ++c) {
      place[mode] = c;
      Index at = place;
      if (is_vector) at.erase(at.begin() + static_cast<std::ptrdiff_t>(mode));
      if (at.empty()) at.push_back(0);
      const double term = tensor.values[e] * static_cast<double>(matrix.row(row)[c]);
      sums[at].sum += term;
      sums[at].magnitude += std::abs(term);
    }
  }
  return sums;
}

void expect_sums(const CooTensor& got, const std::map<Index, Sums>& want, double epsilon) {
  const std::map<Index, double> entries = test::entries_of(got);
  ASSERT_EQ(got.num_entries(), want.size());
  ASSERT_EQ(entries.size(), want.size()) << "a place occurs twice";
  for (const auto& [place, sums] : want) {
    const auto found = entries.find(place);
    ASSERT_NE(found, entries.end()) << testing::PrintToString(place);
    ASSERT_NEAR(found->second, sums.sum, epsilon * sums.magnitude + 1e-300)
        << testing::PrintToString(place);
  }
}

template <typename Value, typename Stored = Value>
void expect_naive_ttv(const CooTensor& tensor, std::size_t mode, ThreadPool& pool) {
  const auto fibres = fibre_tensor<Value, Stored>(tensor, mode, pool);
  const auto x = drawn_matrix<Value>(tensor.sizes[mode], 1);
  std::vector<Value> vector(x.rows), out(fibres.num_fibres(), Value{7});
  for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = x.row(i)[0];
  ttv<Value, Stored>(fibres, vector, out, pool);
  auto want = naive_product(tensor, mode, x, true);
  if (tensor.order() == 1) want.try_emplace(Index{0});  // a scalar is there without entries too
  const double epsilon = sizeof(Stored) == 2 ? 0x1p-7 : 64 * std::numeric_limits<Value>::epsilon();
  const CooTensor got = to_coo<Value, Stored>(fibres, out);
  ASSERT_EQ(got.order(), std::max<std::size_t>(tensor.order() - 1, 1));
  expect_sums(got, want, epsilon);
}

template <typename Value, typename Stored = Value>
void expect_naive_ttm(const CooTensor& tensor, std::size_t mode, std::size_t columns,
                      ThreadPool& pool) {
  const auto fibres = fibre_tensor<Value, Stored>(tensor, mode, pool);
  const auto matrix = drawn_matrix<Value>(tensor.sizes[mode], columns);
  FactorMatrix<Value> out(fibres.num_fibres(), columns);
  std::ranges::fill(out.values, Value{7});  // overwritten
  ttm<Value, Stored>(fibres, matrix, out, pool);
  auto want = naive_product(tensor, mode, matrix, false);
  if (tensor.order() == 1) {
    for (std::uint64_t c = 0; c < columns; ++c) want.try_emplace(Index{c});
  }
  const double epsilon = sizeof(Stored) == 2 ? 0x1p-7 : 64 * std::numeric_limits<Value>::epsilon();
  const CooTensor got = to_coo<Value, Stored>(fibres, out);
  Index sizes = tensor.sizes;
  sizes[mode] = columns;
  ASSERT_EQ(got.sizes, sizes);
  expect_sums(got, want, epsilon);
  for (std::uint64_t f = 0; f < out.rows; ++f) {
    for (std::size_t c = columns; c < out.stride; ++c) ASSERT_EQ(out.row(f)[c], 0) << "padding";
  }
}

// Every mode of a random tensor with duplicates.
void expect_naive(const Index& sizes, std::size_t entries, int threads) {
  ThreadPool pool(threads);
  const CooTensor tensor = test::random_tensor(sizes, entries, 3);
  for (std::size_t mode = 0; mode < sizes.size(); ++mode) {
    SCOPED_TRACE(testing::PrintToString(sizes) + " mode " + std::to_string(mode) + " threads " +
                 std::to_string(threads));
    expect_naive_ttv<float>(tensor, mode, pool);
    expect_naive_ttv<double>(tensor, mode, pool);
    expect_naive_ttv<float, Bf16>(tensor, mode, pool);
    expect_naive_ttm<float>(tensor, mode, 5, pool);
    expect_naive_ttm<double>(tensor, mode, 5, pool);
    expect_naive_ttm<float, Bf16>(tensor, mode, 5, pool);
  }
}

TEST(FibreProducts, AreTheNaiveLoopsForEveryOrderModeAndNumberOfThreads) {
  const std::vector<Index> shapes{{40},
                                  {1},
                                  {30, 20},
                                  {1, 50},
                                  {9, 80, 7},
                                  {1, 1, 60},
                                  {12, 3, 10, 6},
                                  {15, 25, 35},
                                  {4, 3, 5, 2, 6},
                                  {3, 2, 4, 2, 3, 5},
                                  Index(12, 2)};
  for (const Index& sizes : shapes) {
    for (const int threads : {1, 3}) expect_naive(sizes, 200, threads);
  }
}

// Rows of one vector, of two, of three, of whole tiles and a rest.
TEST(FibreProducts, OfEveryNumberOfColumnsAreTheNaiveLoops) {
  ThreadPool pool(2);
  const CooTensor tensor = test::random_tensor({20, 9, 6}, 300, 3);
  for (const std::size_t columns : {1, 16, 17, 32, 48, 64, 112}) {
    expect_naive_ttm<float>(tensor, 0, columns, pool);
    expect_naive_ttm<double>(tensor, 1, columns, pool);
    expect_naive_ttm<float, Bf16>(tensor, 2, columns, pool);
  }
}

TEST(FibreProducts, OfATensorWithoutEntriesHaveNone) {
  for (const int threads : {1, 3}) {
    for (const Index& sizes : {Index{5}, Index{5, 4}, Index{3, 1, 2}}) {
      expect_naive(sizes, 0, threads);
    }
  }
}

// A fibre of each number of entries from 1 to 40, at places that the length does not order.
CooTensor ladder() {
  CooTensor tensor({50, 64});
  for (std::uint64_t fibre = 0; fibre < 40; ++fibre) {
    const std::uint64_t length = 1 + fibre * 7 % 40;
    for (std::uint64_t e = 0; e < length; ++e) {
      tensor.append(Index{fibre, (fibre + e) % 64}, static_cast<double>(e) + 0.25);
    }
  }
  return tensor;
}

TEST(FibreTensor, HasClassesByTheNumberOfEntries) {
  ThreadPool pool(3);
  const CooTensor tensor = ladder();
  const auto fibres = fibre_tensor<float>(tensor, 1, pool);
  EXPECT_EQ(fibres.num_fibres(), 40u);
  EXPECT_THAT(fibres.bounds, testing::ElementsAre(0, 1, 2, 3, 4, 40));
  for (std::uint64_t f = 0; f < 40; ++f) {
    const std::uint64_t length = fibres.rows.begins[f + 1] - fibres.rows.begins[f];
    EXPECT_EQ(length, 1 + fibres.places[0][f] * 7 % 40);
    if (f < 4) {
      EXPECT_EQ(length, f + 1);
    }
    if (f > 4) {
      EXPECT_LT(fibres.places[0][f - 1], fibres.places[0][f]) << "by place in a class";
    }
  }
  expect_naive_ttv<double>(tensor, 1, pool);
  expect_naive_ttm<double>(tensor, 1, 32, pool);
}

TEST(FibreTensor, SumsDuplicatesAndKeepsZeros) {
  ThreadPool pool(2);
  CooTensor tensor({4, 3, 5});
  tensor.append(Index{1, 2, 3}, 2);
  tensor.append(Index{1, 0, 3}, 3);
  tensor.append(Index{1, 2, 3}, -2);
  tensor.append(Index{3, 1, 0}, 0);
  const auto fibres = fibre_tensor<double>(tensor, 1, pool);
  EXPECT_EQ(fibres.rows.values.size(), 3u);
  EXPECT_THAT(fibres.bounds, testing::ElementsAre(0, 1, 2, 2, 2, 2));
  const std::vector<double> vector{1, 10, 100};
  std::vector<double> out(2);
  ttv<double>(fibres, vector, out, pool);
  const CooTensor got = to_coo<double, double>(fibres, out);
  EXPECT_EQ(got.sizes, (Index{4, 5}));
  const auto entries = test::entries_of(got);
  EXPECT_EQ(entries.at({1, 3}), 3);
  EXPECT_EQ(entries.at({3, 0}), 0) << "a sum of 0 stays";
}

TEST(FibreTensor, PlacesBeyondThirtyTwoBitsStayExact) {
  ThreadPool pool(2);
  constexpr std::uint64_t kFar = std::uint64_t{1} << 40;
  CooTensor tensor({kFar, 3, kFar});
  tensor.append(Index{kFar - 1, 2, 5}, 2);
  tensor.append(Index{kFar - 1, 1, 5}, 3);
  tensor.append(Index{0, 1, kFar - 1}, 4);
  expect_naive_ttv<double>(tensor, 1, pool);
  expect_naive_ttm<double>(tensor, 1, 3, pool);
}

// The bits must not depend on where runs of fibres are cut.
TEST(FibreProducts, HaveTheSameBitsForAnyNumberOfThreads) {
  ThreadPool one(1);
  const CooTensor tensor = test::random_tensor({100, 150, 7}, 20'000, 5);
  for (std::size_t mode = 0; mode < 3; ++mode) {
    const auto fibres = fibre_tensor<float>(tensor, mode, one);
    const auto matrix = drawn_matrix<float>(tensor.sizes[mode], 20);
    std::vector<float> vector(matrix.rows), want(fibres.num_fibres());
    for (std::size_t i = 0; i < vector.size(); ++i) vector[i] = matrix.row(i)[0];
    FactorMatrix<float> want_rows(fibres.num_fibres(), 20);
    ttv<float>(fibres, vector, want, one);
    ttm<float>(fibres, matrix, want_rows, one);
    for (const int threads : {2, 3, 7}) {
      ThreadPool pool(threads);
      const auto same = fibre_tensor<float>(tensor, mode, pool);
      std::vector<float> got(want.size());
      FactorMatrix<float> got_rows(want_rows.rows, 20);
      ttv<float>(same, vector, got, pool);
      ttm<float>(same, matrix, got_rows, pool);
      EXPECT_EQ(same.places, fibres.places) << threads;
      EXPECT_EQ(got, want) << threads;
      EXPECT_EQ(got_rows.values, want_rows.values) << threads;
    }
  }
}

// A kernel that counts how often a fibre is computed.
void count_fibres(const RowsCall* call) {
  auto* const counts = static_cast<float*>(call->out);
  for (std::uint64_t f = call->first; f < call->last; ++f) counts[f] += 1;
}

TEST(FibreProducts, ComputeEveryFibreOnce) {
  ThreadPool pool(3);
  const auto fibres = fibre_tensor<float>(test::random_tensor({40, 9, 30}, 900, 2), 1, pool);
  FibreKernels kernels;
  kernels.fill(count_fibres);
  const std::vector<float> x(9);
  std::vector<float> counts(fibres.num_fibres());
  ttv<float>(fibres, x, counts, pool, kernels);
  EXPECT_THAT(counts, testing::Each(1.0f));
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(FibreProducts, TellWhatDoesNotFit) {
  using testing::HasSubstr;
  ThreadPool pool(1);
  const CooTensor tensor = test::random_tensor({4, 5, 6}, 20, 1);
  EXPECT_THAT(refusal_of([&] { fibre_tensor<float>(tensor, 3, pool); }),
              HasSubstr("there is no mode 3; the tensor has the modes 0 to 2"));
  const CooTensor wide({(std::uint64_t{1} << 31) + 1, 2});
  EXPECT_THAT(refusal_of([&] { fibre_tensor<float>(wide, 0, pool); }),
              HasSubstr("at most 2^31 are possible"));
  EXPECT_EQ(refusal_of([&] { fibre_tensor<float>(wide, 1, pool); }), "none");
  CooTensor outside = tensor;
  outside.indices[1].set(7, 5);
  EXPECT_THAT(refusal_of([&] { fibre_tensor<float>(outside, 0, pool); }),
              HasSubstr("entry 7 has the index 5 in mode 1, which has 5"));
  const auto fibres = fibre_tensor<float>(tensor, 1, pool);
  const std::size_t count = fibres.num_fibres();
  std::vector<float> x(5), out(count);
  EXPECT_THAT(refusal_of([&] { ttv<float>(fibres, std::span(x).first(4), out, pool); }),
              HasSubstr("the vector has 4 entries, and the product needs 5"));
  EXPECT_THAT(refusal_of([&] { ttv<float>(fibres, x, std::span(out).first(count - 1), pool); }),
              HasSubstr("the result has "));
  FactorMatrix<float> rows(count, 8);
  EXPECT_THAT(refusal_of([&] {
                ttm<float>(fibres, {4, 8}, rows, pool);
              }),
              HasSubstr("the matrix has 4 entries, and the product needs 5"));
  FactorMatrix<float> fewer(count - 1, 8);
  EXPECT_THAT(refusal_of([&] { ttm<float>(fibres, FactorMatrix<float>(5, 8), fewer, pool); }),
              HasSubstr("the result has "));
  EXPECT_THAT(refusal_of([&] { to_coo<float, float>(fibres, fewer); }),
              HasSubstr("the result has "));
  EXPECT_THAT(refusal_of([&] {
                ttm<float>(fibres, {5, 9}, rows, pool);
              }),
              HasSubstr("the row of the result has 8 entries, and the product needs 9"));
  EXPECT_THAT(refusal_of([&] { to_coo<float, float>(fibres, std::span(x)); }),
              HasSubstr("the result has 5 entries"));
}

}  // namespace
}  // namespace tandem::sparse
