// SPDX-License-Identifier: Apache-2.0
//
// Curve: a time as a function of one amount (rows, tokens), linear between given points.
//
// Below the first point it is constant. Beyond the last point it continues the last segment.
// Threads: values. Errors: Error("cost model", ...) for points that are negative, not finite or
// descending.
#pragma once

#include <span>
#include <vector>

namespace tandem::planner {

struct CurvePoint {
  double x = 0;  // the amount
  double y = 0;  // seconds
  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

class Curve {
 public:
  Curve() = default;  // empty: 0 everywhere
  // x ascends, y does not descend, both are finite and not negative.
  explicit Curve(std::vector<CurvePoint> points);
  static Curve line(double at_zero, double per_unit);

  double operator()(double x) const;
  // Returns the curve with the times near `x` multiplied by `factor`. At x the factor applies
  // fully; its effect fades out towards x / 2 and 2 x. If no point is in that range, the nearest
  // point changes. Other points change only as far as needed to keep the curve from falling.
  Curve corrected_at(double x, double factor) const;
  bool empty() const { return points_.empty(); }
  std::span<const CurvePoint> points() const { return points_; }
  friend bool operator==(const Curve&, const Curve&) = default;

 private:
  std::vector<CurvePoint> points_;
};

}  // namespace tandem::planner
