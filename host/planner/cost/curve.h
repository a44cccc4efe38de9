// SPDX-License-Identifier: Apache-2.0
//
// Curve: a time that grows with one amount (rows, tokens), by points between which it is linear.
//
// Below the first point it is constant; beyond the last one it goes on as the last piece does.
// Threads: values. Errors: Error("cost model", ...) for points that are no such time.
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
  // With the times near `x` multiplied by `factor`: fully at x, by less as far as x / 2 and 2 x.
  // Where no point is so near, the nearest one moves. Others follow only as far as the curve must
  // not fall.
  Curve corrected_at(double x, double factor) const;
  bool empty() const { return points_.empty(); }
  std::span<const CurvePoint> points() const { return points_; }
  friend bool operator==(const Curve&, const Curve&) = default;

 private:
  std::vector<CurvePoint> points_;
};

}  // namespace tandem::planner
