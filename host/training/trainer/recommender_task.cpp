// SPDX-License-Identifier: Apache-2.0
//
// Bags: [batch, tables, width]; indices: [batch, tables, bag].
#include "training/trainer/recommender_task.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "collectives/collective.h"
#include "common/error.h"
#include "training/trainer/mixing.h"
#include "training/trainer/run_with_heartbeat.h"
#include "training/trainer/score.h"

namespace tandem::training {
namespace {

std::vector<float> gathered(collectives::Group* group, std::span<const float> own,
                            std::chrono::milliseconds timeout) {
  std::vector<float> all;
  if (group == nullptr) return {own.begin(), own.end()};
  for (const auto& bytes :
       collectives::allgatherv(*group, std::as_bytes(own), {.timeout = timeout})) {
    const auto* values = reinterpret_cast<const float*>(bytes.data());
    all.insert(all.end(), values, values + bytes.size() / sizeof(float));
  }
  return all;
}

}  // namespace

RecommenderTask::RecommenderTask(const RecommenderParts& parts, int batch)
    : parts_(parts), batch_(batch) {
  const RecommenderConfig& config = parts.config;
  const auto rows = static_cast<std::size_t>(batch), tables = config.rows.size();
  const auto width = static_cast<std::size_t>(config.width);
  for (int table = 0; table < config.tables(); ++table) {
    auto& weights = weights_.emplace_back();
    weights.resize(static_cast<std::size_t>(config.rows[weights_.size() - 1]) * width);
    std::ranges::fill(weights, 0.0f);
    tables_.push_back({table_name(table), static_cast<std::uint32_t>(width), weights});
  }
  gradients_.resize(tables);
  indices_.resize(rows * tables * static_cast<std::size_t>(config.bag));
  dense_.resize(rows * static_cast<std::size_t>(config.dense));
  bags_.resize(rows * tables * width);
  bag_gradient_.resize(bags_.size());
  labels_.resize(rows);
}

void RecommenderTask::draw(std::uint64_t seed) {
  for (std::size_t table = 0; table < weights_.size(); ++table) {
    const double deviation = std::sqrt(1.0 / (3.0 * parts_.config.rows[table]));
    draw_normal(weights_[table], deviation, mixed(seed + 1, table));
  }
}

void RecommenderTask::require(std::uint64_t samples) const {
  const std::uint64_t there = parts_.samples.size();
  if (there == 0 || there >= samples) return;
  throw Error("train", "the data have " + std::to_string(there) +
                           " samples; a step of all ranks takes " + std::to_string(samples) +
                           "; give more, or lower --batch or --accumulate");
}

void RecommenderTask::begin_step() {
  for (Rows& rows : gradients_) {
    rows.rows.clear();
    rows.values.clear();
  }
}

RecommenderSample RecommenderTask::sample(int row) {
  const auto at = static_cast<std::size_t>(row);
  const auto numbers = static_cast<std::size_t>(parts_.config.dense);
  const std::size_t rows = indices_.size() / static_cast<std::size_t>(batch_);
  return {std::span(dense_).subspan(at * numbers, numbers),
          std::span(indices_).subspan(at * rows, rows), 0};
}

void RecommenderTask::sum_bags(int rows) {
  const auto width = static_cast<std::size_t>(parts_.config.width);
  const auto bag = static_cast<std::size_t>(parts_.config.bag);
  const std::size_t bags = static_cast<std::size_t>(rows) * tables_.size();
  std::fill_n(bags_.begin(), bags * width, 0.0f);
  for (std::size_t at = 0; at < bags * bag; ++at) {
    const RawVector<float>& table = weights_[at / bag % tables_.size()];
    const float* row = table.data() + indices_[at] * width;
    float* sum = bags_.data() + at / bag * width;
    for (std::size_t value = 0; value < width; ++value) sum[value] += row[value];
  }
}

void RecommenderTask::keep_rows() {
  const auto width = static_cast<std::size_t>(parts_.config.width);
  const auto bag = static_cast<std::size_t>(parts_.config.bag);
  for (std::size_t at = 0; at < indices_.size(); ++at) {
    Rows& rows = gradients_[at / bag % tables_.size()];
    const float* gradient = bag_gradient_.data() + at / bag * width;
    rows.rows.push_back(indices_[at]);
    rows.values.insert(rows.values.end(), gradient, gradient + width);
  }
}

RecommenderBatch RecommenderTask::batch(int rows) const {
  return {rows, dense_.data(), bags_.data(), labels_.data()};
}

double RecommenderTask::backward(std::uint64_t first, float scale, GradientListener* listener) {
  for (int row = 0; row < batch_; ++row) {
    RecommenderSample to = sample(row);
    parts_.samples.read(first + static_cast<std::uint64_t>(row), to);
    labels_[static_cast<std::size_t>(row)] = to.label;
  }
  sum_bags(batch_);
  const double loss =
      parts_.computation.backward(batch(batch_), scale, bag_gradient_.data(), listener);
  keep_rows();
  const bool finite =
      std::ranges::all_of(bag_gradient_, [](float value) { return std::isfinite(value); });
  return finite ? loss : std::numeric_limits<double>::quiet_NaN();
}

TableGradient RecommenderTask::table_gradient(std::size_t table) const {
  return {gradients_[table].rows, gradients_[table].values};
}

std::vector<float> RecommenderTask::score(const RecommenderSamples& samples, std::uint64_t begin,
                                          std::uint64_t end) {
  std::vector<float> pairs;  // pairs of log odds and label
  std::vector<float> odds(labels_.size());
  while (begin < end) {
    const int rows = static_cast<int>(std::min<std::uint64_t>(end - begin, labels_.size()));
    for (int row = 0; row < rows; ++row) {
      RecommenderSample to = sample(row);
      samples.read_in_order(begin + static_cast<std::uint64_t>(row), to);
      labels_[static_cast<std::size_t>(row)] = to.label;
    }
    sum_bags(rows);
    parts_.computation.scores(batch(rows), odds.data());
    for (int row = 0; row < rows; ++row) {
      const auto at = static_cast<std::size_t>(row);
      pairs.insert(pairs.end(), {odds[at], labels_[at]});
    }
    begin += static_cast<std::uint64_t>(rows);
  }
  return pairs;
}

std::optional<EvaluationFigures> RecommenderTask::evaluate(collectives::Group* group,
                                                           const Patience& patience) {
  if (parts_.evaluated == nullptr) return {};
  const auto rank = static_cast<std::uint64_t>(group == nullptr ? 0 : group->rank());
  const auto world = static_cast<std::uint64_t>(group == nullptr ? 1 : group->world());
  const std::uint64_t there = parts_.evaluated->size();
  const std::uint64_t all = there > 0 ? there : kSyntheticScored;
  std::vector<float> own;
  run_with_heartbeat(group, patience, [&] {
    own = score(*parts_.evaluated, all * rank / world, all * (rank + 1) / world);
    return "";
  });
  const std::vector<float> pairs = gathered(group, own, patience.timeout);
  if (rank != 0) return {};
  std::vector<float> odds, labels;
  for (std::size_t at = 0; at < pairs.size(); at += 2) {
    odds.push_back(pairs[at]);
    labels.push_back(pairs[at + 1]);
  }
  EvaluationFigures figures;
  figures.mean_nll = mean_log_loss(odds, labels);
  figures.tokens = odds.size();
  figures.auc = area_under_curve(odds, labels);
  return figures;
}

void RecommenderTask::describe(nlohmann::ordered_json& fields) const {
  fields["family"] = "recommender";
  fields["recommender"] = to_json(parts_.config);
}

}  // namespace tandem::training
