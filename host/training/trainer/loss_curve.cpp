// SPDX-License-Identifier: Apache-2.0
//
// The curve of the loss as an SVG file (declared in training_log.h), drawn from the table at the
// end of a run. At most kMostPoints points: means of steps beside each other.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "common/error.h"
#include "training/trainer/training_log.h"

namespace tandem::training {
namespace {

constexpr std::size_t kMostPoints = 600;
constexpr double kWidth = 720, kHeight = 360, kLeft = 60, kBottom = 40, kMargin = 20;

struct Point {
  double step = 0, loss = 0;
};

// A loss that is not finite has no point: as text it is no number.
std::vector<Point> read_points(const std::string& csv) {
  std::ifstream file(csv);
  std::string line;
  std::getline(file, line);
  std::vector<Point> points;
  while (std::getline(file, line)) {
    Point point;
    char comma = 0;
    if (std::istringstream(line) >> point.step >> comma >> point.loss) points.push_back(point);
  }
  return points;
}

std::vector<Point> thinned(const std::vector<Point>& points) {
  const std::size_t run = (points.size() + kMostPoints - 1) / kMostPoints;
  std::vector<Point> result;
  for (std::size_t begin = 0; begin < points.size(); begin += run) {
    const std::size_t end = std::min(begin + run, points.size());
    Point mean;
    for (std::size_t at = begin; at < end; ++at) {
      mean.step += points[at].step / static_cast<double>(end - begin);
      mean.loss += points[at].loss / static_cast<double>(end - begin);
    }
    result.push_back(mean);
  }
  return result;
}

std::string drawing(const std::vector<Point>& points) {
  const auto by_loss = [](const Point& a, const Point& b) { return a.loss < b.loss; };
  const auto [low, high] = std::minmax_element(points.begin(), points.end(), by_loss);
  const double least = low->loss, most = std::max(high->loss, least + 1e-6);
  const double first = points.front().step, last = std::max(points.back().step, first + 1);
  const auto x = [&](double step) {
    return kLeft + (step - first) / (last - first) * (kWidth - kLeft - kMargin);
  };
  const auto y = [&](double loss) {
    return kMargin + (most - loss) / (most - least) * (kHeight - kBottom - kMargin);
  };
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  for (int part = 0; part <= 4; ++part) {
    const double loss = least + (most - least) * part / 4, step = first + (last - first) * part / 4;
    text += fmt::format(
        "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.3g}</text>\n"
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.0f}</text>\n",
        kLeft, y(loss), kWidth - kMargin, kLeft - 6, y(loss) + 4, loss, x(step),
        kHeight - kBottom + 18, step);
  }
  text += "<polyline fill=\"none\" stroke=\"#1b6ac9\" stroke-width=\"1.5\" points=\"";
  for (const Point& point : points)
    text += fmt::format("{:.1f},{:.1f} ", x(point.step), y(point.loss));
  return text + fmt::format(
                    "\"/>\n<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">loss by "
                    "step</text>\n</svg>\n",
                    kWidth / 2, kHeight - 4);
}

class CurveLog final : public TrainingLog {
 public:
  CurveLog(std::string csv, std::string svg) : csv_(std::move(csv)), svg_(std::move(svg)) {}
  void step(const StepFigures&) override {}
  void end() override {
    const std::vector<Point> points = read_points(csv_);
    if (points.empty()) return;
    std::ofstream out(svg_, std::ios::trunc);
    out << drawing(thinned(points)) << std::flush;
    if (!out) throw Error("train", "cannot write '" + svg_ + "': " + std::strerror(errno));
  }

 private:
  std::string csv_, svg_;
};

}  // namespace

std::unique_ptr<TrainingLog> make_curve_log(const std::string& csv, const std::string& svg) {
  return std::make_unique<CurveLog>(csv, svg);
}

}  // namespace tandem::training
