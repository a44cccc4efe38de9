// SPDX-License-Identifier: Apache-2.0
//
// RowPace: the time that one more row adds to a decode step, learned from earlier steps.
//
// A straight line through the times of recent steps, by least squares; older steps count less.
// While all steps had the same number of rows, it assumes that a step takes the time of its rows
// and of seven more. A step that took much longer than usual counts as three usual ones. Threads:
// one. Cost: O(1).
#pragma once

namespace tandem::engine {

class RowPace {
 public:
  void record(double rows, double seconds);
  // The time of one more row divided by the time of a step of `rows` rows. In (0, 1].
  double share_of_row(double rows) const;
  // The time of a step of `rows` rows; 0 while none was recorded.
  double step_seconds(double rows) const;

 private:
  double row_seconds() const;

  double weight_ = 0;
  // Weighted sums over steps, of rows, seconds, rows squared and rows times seconds.
  double rows_ = 0, seconds_ = 0, squares_ = 0, products_ = 0;
};

}  // namespace tandem::engine
