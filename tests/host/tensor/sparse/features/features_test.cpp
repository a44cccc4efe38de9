// SPDX-License-Identifier: Apache-2.0
//
// Features against naive loops over maps, and the forms in which they are written.
#include "tensor/sparse/features/features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "../random_tensor.h"
#include "common/error.h"
#include "tensor/sparse/features/features_text.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::sparse {
namespace {

using test::Index;
using testing::HasSubstr;
using testing::ThrowsMessage;

// The entry's indices in all modes that are not free.
Index fixed_index(const Index& index, const std::vector<std::size_t>& free) {
  Index fixed;
  for (std::size_t mode = 0; mode < index.size(); ++mode) {
    if (std::find(free.begin(), free.end(), mode) == free.end()) fixed.push_back(index[mode]);
  }
  return fixed;
}

// Counts of the groups that have an entry.
std::vector<double> naive_counts(const CooTensor& tensor, const FeatureRow& row) {
  std::map<Index, std::map<Index, int>> groups;  // members of each group
  for (const auto& [index, value] : test::entries_of(tensor)) {
    Index member = index;
    if (row.kind == CountKind::kFibersPerSlice) member = fixed_index(index, {row.modes.back()});
    groups[fixed_index(index, row.modes)][member] = 1;
  }
  std::vector<double> counts;
  for (const auto& [group, members] : groups) counts.push_back(static_cast<double>(members.size()));
  return counts;
}

double naive_all(const CooTensor& tensor, const std::vector<std::size_t>& free) {
  double all = 1;
  for (const std::uint64_t size : fixed_index(tensor.sizes, free)) all *= static_cast<double>(size);
  return all;
}

void expect_close(double is, double expected) {
  EXPECT_NEAR(is, expected, 1e-9 * std::max(1.0, std::abs(expected)));
}

void expect_row(const CooTensor& tensor, const FeatureRow& row) {
  const std::vector<double> counts = naive_counts(tensor, row);
  const double all = naive_all(tensor, row.modes), nonempty = static_cast<double>(counts.size());
  const double max = *std::max_element(counts.begin(), counts.end());
  const double min = *std::min_element(counts.begin(), counts.end());
  double sum = 0;
  for (const double count : counts) sum += count;
  const double average = sum / all, average_nonempty = sum / nonempty;
  double squares = (all - nonempty) * average * average, squares_nonempty = 0;
  for (const double count : counts) {
    squares += (count - average) * (count - average);
    squares_nonempty += (count - average_nonempty) * (count - average_nonempty);
  }
  const CountSummary& c = row.counts;
  EXPECT_EQ(c.all, all);
  EXPECT_EQ(static_cast<double>(c.nonempty), nonempty);
  EXPECT_DOUBLE_EQ(c.density, nonempty / all);
  EXPECT_EQ(static_cast<double>(c.max), max);
  EXPECT_EQ(static_cast<double>(c.min), min);
  EXPECT_EQ(static_cast<double>(c.deviation), max - min);
  EXPECT_EQ(static_cast<double>(c.sum), sum);
  EXPECT_DOUBLE_EQ(c.average, average);
  expect_close(c.imbalance, max / average - 1);
  expect_close(c.standard_deviation, std::sqrt(squares / all));
  expect_close(c.cv, std::sqrt(squares / all) / average);
  EXPECT_DOUBLE_EQ(c.average_nonempty, average_nonempty);
  expect_close(c.imbalance_nonempty, max / average_nonempty - 1);
  expect_close(c.standard_deviation_nonempty, std::sqrt(squares_nonempty / nonempty));
  expect_close(c.cv_nonempty, std::sqrt(squares_nonempty / nonempty) / average_nonempty);
}

CooTensor summed(CooTensor tensor) {
  ThreadPool pool(2);
  sum_duplicates(tensor, pool);
  return tensor;
}

TensorFeatures features_with(const CooTensor& tensor, int threads) {
  ThreadPool pool(threads);
  return features_of(tensor, pool);
}

// Arrays count the fibres of small tensors, sorted keys those of the last three.
const std::vector<Index>& shapes() {
  static const std::vector<Index> all{{50},
                                      {7, 9},
                                      {1, 1},
                                      {5, 1, 6},
                                      {9, 8, 7},
                                      {3, 4, 5, 6},
                                      Index(12, 2),
                                      {100'000, 90'000, 80'000},
                                      {3, 1u << 31, 2, 1u << 30},
                                      {~std::uint64_t{0}, 4, 90'000'000'000}};
  return all;
}

TEST(Features, AreThoseOfNaiveLoopsForEveryOrder) {
  for (const Index& sizes : shapes()) {
    const CooTensor tensor = summed(test::random_tensor(sizes, 400, 21));
    const TensorFeatures features = features_with(tensor, 2);
    const std::size_t order = sizes.size();
    ASSERT_EQ(features.rows.size(), order + order * (order - 1));
    for (const FeatureRow& row : features.rows) {
      SCOPED_TRACE(testing::PrintToString(sizes) + count_kind_name(row.kind) +
                   testing::PrintToString(row.modes));
      expect_row(tensor, row);
    }
  }
}

TEST(Features, OfClusteredEntriesAreThoseOfNaiveLoops) {
  // Long fibres: each of few pairs of indices has many entries, among 10^14 possible fibres.
  CooTensor tensor(Index{10'000'000, 10'000'000, 100});
  for (std::uint64_t i = 0; i < 900; ++i) {
    tensor.append(Index{i * i % 7 * 1'000'000, i % 5 * 999'999, i * i % 97}, 1);
  }
  const CooTensor once = summed(tensor);
  for (const FeatureRow& row : features_with(once, 3).rows) expect_row(once, row);
}

TEST(Features, OfTheWholeAreSumsOverModesAndPairs) {
  CooTensor tensor(Index{2, 3, 4});
  tensor.append(Index{0, 0, 0}, 1);
  tensor.append(Index{0, 0, 1}, 1);
  tensor.append(Index{1, 2, 1}, 1);
  const TensorFeatures features = features_with(tensor, 1);
  EXPECT_EQ(features.num_entries, 3u);
  EXPECT_DOUBLE_EQ(features.density, 3.0 / 24);
  EXPECT_EQ(features.slices, 2 + 3 + 4);
  EXPECT_EQ(features.fibers, 6 + 8 + 12);
  EXPECT_EQ(features.nonempty_slices, 2u + 2 + 2);
  EXPECT_EQ(features.nonempty_fibers, 2u + 3 + 3);
  EXPECT_DOUBLE_EQ(features.slice_density, 6.0 / 9);
  EXPECT_DOUBLE_EQ(features.fiber_density, 8.0 / 26);
}

TEST(Features, DoNotDependOnTheNumberOfThreads) {
  for (const Index& sizes : shapes()) {
    const CooTensor tensor = summed(test::random_tensor(sizes, 300, 22));
    const std::string one = features_json(features_with(tensor, 1)).dump();
    EXPECT_EQ(features_json(features_with(tensor, 4)).dump(), one);
  }
}

TEST(Features, OfATensorWithoutEntriesAreZero) {
  const TensorFeatures features = features_with(CooTensor(Index{4, 5, 6}), 2);
  EXPECT_EQ(features.nonempty_fibers, 0u);
  for (const FeatureRow& row : features.rows) {
    EXPECT_GT(row.counts.all, 0);
    EXPECT_EQ(row.counts.max, 0u);
    EXPECT_EQ(row.counts.min, 0u);
    EXPECT_EQ(row.counts.cv, 0);
  }
}

TEST(FeaturesText, JsonLeadsBackToTheSameFeatures) {
  for (const Index& sizes : {Index{7, 9}, Index(18, ~std::uint64_t{0})}) {
    const TensorFeatures features = features_with(summed(test::random_tensor(sizes, 40, 23)), 1);
    const std::string text = features_json(features).dump();
    EXPECT_EQ(text.find("null"), text.npos) << "2^1152 cells are beyond f64";
    EXPECT_EQ(features_json(features_from_json(nlohmann::json::parse(text))).dump(), text);
  }
}

TEST(FeaturesText, NamesAFieldThatIsMissingOrOfAnotherType) {
  const nlohmann::json whole =
      features_json(features_with(summed(test::random_tensor({7, 9}, 40, 23)), 1));
  const auto expect_refused = [](const nlohmann::json& json, const std::string& words) {
    EXPECT_THAT([&] { features_from_json(json); }, ThrowsMessage<Error>(HasSubstr(words)));
  };
  nlohmann::json json = whole;
  json.erase("nnz");
  expect_refused(json, "the field 'nnz' is missing");
  json = whole;
  json["rows"][1]["max"] = "many";
  expect_refused(json, "the field 'max' is missing or has another type");
  json = whole;
  json["rows"][0]["kind"] = "holes";
  expect_refused(json, "'holes' is not a kind of row");
  json = whole;
  json["nnz"] = -5;
  expect_refused(json, "the field 'nnz'");
  json = whole;
  json["sizes"][0] = 2.5;
  expect_refused(json, "the field 'sizes'");
  json = whole;
  json["order"] = 3u;
  expect_refused(json, "the order is 3, and there are 2 sizes");
  expect_refused(nlohmann::json::array(), "the field 'sizes' is missing");
}

TEST(FeaturesText, CsvHasALineForEachRowAndAColumnForEachField) {
  const TensorFeatures features = features_with(summed(test::random_tensor({7, 9, 3}, 40, 24)), 1);
  const std::string csv = features_csv(features);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2 + 1 + 1 + 9);
  EXPECT_THAT(csv, HasSubstr("order,sizes,nnz,density,slices,"));
  EXPECT_THAT(csv, HasSubstr("\n3,7x9x3,"));
  EXPECT_THAT(csv, HasSubstr("\nkind,modes,all,nonempty,density,max,min,deviation,sum,average,"));
  EXPECT_THAT(csv, HasSubstr("\nfibers_per_slice,0-2,9.0,"));
}

TEST(FeaturesText, HtmlKeepsTitlesAsTextAndDrawingsAsTheyAre) {
  const TensorFeatures features = features_with(summed(test::random_tensor({7, 9}, 40, 25)), 1);
  const std::string drawings[] = {"<svg>1</svg>"};
  const std::string html = features_html("a<b>.tns", features, drawings);
  EXPECT_THAT(html, HasSubstr("<h1>a&lt;b>.tns</h1>"));
  EXPECT_THAT(html, HasSubstr("<svg>1</svg>\n</body>"));
  EXPECT_THAT(html, HasSubstr("<td>nonzeros_per_fiber</td><td>1</td>"));
}

}  // namespace
}  // namespace tandem::sparse
