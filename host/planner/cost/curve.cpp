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

// 1 at x, falling to 0 at x / 2 and 2 x.
double nearness(double point, double x) {
  if (point <= 0 || x <= 0) return point == x ? 1 : 0;
  return std::max(0.0, 1 - std::abs(std::log2(point / x)));
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

Curve Curve::corrected_at(double x, double factor) const {
  if (points_.empty()) return *this;
  std::vector<CurvePoint> points = points_;
  double most = 0;
  for (const CurvePoint& point : points) most = std::max(most, nearness(point.x, x));
  const auto nearest = std::ranges::min_element(
      points, {}, [&](const CurvePoint& point) { return std::abs(point.x - x); });
  for (auto point = points.begin(); point != points.end(); ++point) {
    const double weight = most > 0 ? nearness(point->x, x) : (point == nearest ? 1 : 0);
    point->y *= 1 + weight * (factor - 1);
  }
  for (auto point = nearest + 1; point < points.end(); ++point) {
    point->y = std::max(point->y, (point - 1)->y);
  }
  for (auto point = nearest; point > points.begin(); --point) {
    (point - 1)->y = std::min((point - 1)->y, point->y);
  }
  return Curve(std::move(points));
}

}  // namespace tandem::planner
