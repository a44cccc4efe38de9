// SPDX-License-Identifier: Apache-2.0
//
// The slope is pulled towards the assumed one while the numbers of rows hardly differ.
#include "engine/speculation/row_pace.h"

#include <algorithm>

namespace tandem::engine {
namespace {

constexpr double kKept = 0.97;           // factor for the weight of earlier steps, per step
constexpr double kAssumedRows = 7;       // a step takes the time of its rows and of this many more
constexpr double kAssumedWeight = 0.02;  // in rows squared
constexpr double kMostTimesMean = 3;

}  // namespace

void RowPace::record(double rows, double seconds) {
  if (weight_ > 0) seconds = std::min(seconds, kMostTimesMean * seconds_ / weight_);
  for (double* sum : {&weight_, &rows_, &seconds_, &squares_, &products_}) *sum *= kKept;
  weight_ += 1;
  rows_ += rows;
  seconds_ += seconds;
  squares_ += rows * rows;
  products_ += rows * seconds;
}

double RowPace::row_seconds() const {
  const double mean_rows = rows_ / weight_, mean_seconds = seconds_ / weight_;
  const double variance = std::max(0.0, squares_ / weight_ - mean_rows * mean_rows);
  const double covariance = products_ / weight_ - mean_rows * mean_seconds;
  const double assumed = mean_seconds / (kAssumedRows + mean_rows);
  // A row costs something, and never more than the mean row.
  return std::clamp((covariance + kAssumedWeight * assumed) / (variance + kAssumedWeight),
                    0.01 * mean_seconds, mean_seconds / std::max(1.0, mean_rows));
}

double RowPace::step_seconds(double rows) const {
  if (weight_ <= 0) return 0;
  const double row = row_seconds();
  return std::max(seconds_ / weight_ + row * (rows - rows_ / weight_), row * rows);
}

double RowPace::share_of_row(double rows) const {
  if (weight_ <= 0 || seconds_ <= 0) return 1 / (kAssumedRows + rows);
  return std::min(1.0, row_seconds() / step_seconds(rows));
}

}  // namespace tandem::engine
