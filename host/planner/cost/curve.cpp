// SPDX-License-Identifier: Apache-2.0
//
// Linear interpolation between measured or computed points.
#include "planner/cost/curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/error.h"

namespace tandem::planner {
namespace {

void check(const std::vector<CurvePoint>& points) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    const CurvePoint& point = points[i];
    const bool is_finite = std::isfinite(point.x) && std::isfinite(point.y);
    const bool is_good = is_finite && point.x >= 0 && point.y >= 0;
    const bool follows = i == 0 || (point.x > points[i - 1].x && point.y >= points[i - 1].y);
    if (!is_good || !follows) {
      throw Error("cost model", "point " + std::to_string(i) +
                                    " of a curve: amounts must ascend, and times must not descend");
    }
  }
}

}  // namespace

Curve::Curve(std::vector<CurvePoint> points) : points_(std::move(points)) { check(points_); }

Curve Curve::line(double at_zero, double per_unit) {
  return Curve({{0, at_zero}, {1, at_zero + per_unit}});
}

double Curve::operator()(double x) const {
  if (points_.empty()) return 0;
  if (points_.size() == 1 || x <= points_.front().x) return points_.front().y;
  auto right = std::ranges::upper_bound(points_, x, {}, &CurvePoint::x);
  if (right == points_.end()) --right;
  const CurvePoint& a = *(right - 1);
  const CurvePoint& b = *right;
  return a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x);
}

}  // namespace tandem::planner
