// SPDX-License-Identifier: Apache-2.0
//
// Fields of squares and bars.
#include "apps/planner/simulate/study_drawings.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "common/xml_text.h"

namespace tandem::apps {
namespace {

using simulation::MapCell;

constexpr int kSquare = 46, kLeft = 64, kTop = 56, kGap = 40;
constexpr double kLargestGain = 4;  // darkest

std::string drawing(int width, int height, const std::string& title, const std::string& inner) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n<text x=\"12\" y=\"20\" font-size=\"14\">{}</text>\n{}</svg>\n",
      width, height, xml_text(title), inner);
}

std::string words(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     xml_text(text));
}

// White if there is no gain, dark blue from kLargestGain on, grey if nothing fits.
std::string colour_of(const MapCell& cell) {
  if (cell.tokens_per_s == 0) return "#bbb";
  const double gain = cell.gain == 0 ? kLargestGain : std::clamp(cell.gain, 1.0, kLargestGain);
  const double share = std::log(gain) / std::log(kLargestGain);
  const auto between = [share](int from, int to) {
    return static_cast<int>(std::lround(from + share * (to - from)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", between(255, 60), between(255, 120), between(255, 210));
}

std::string gain_text(const MapCell& cell) {
  if (cell.tokens_per_s == 0) return "-";
  return cell.gain == 0 ? "only so" : fmt::format("{:.2f}", cell.gain);
}

std::string square_of(const MapCell& cell, int x, int y) {
  return fmt::format(
             "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"{}\" "
             "stroke-width=\"{}\"/>\n",
             x + 1, y + 1, kSquare - 3, kSquare - 3, colour_of(cell), cell.pays ? "#000" : "#ddd",
             cell.pays ? 2 : 1) +
         words(x + kSquare / 2.0, y + kSquare / 2.0 + 4, "middle", gain_text(cell));
}

template <typename Value>
std::vector<Value> values_of(const std::vector<MapCell>& cells, Value MapCell::*member) {
  std::vector<Value> values;
  for (const MapCell& cell : cells) {
    if (std::ranges::find(values, cell.*member) == values.end()) values.push_back(cell.*member);
  }
  return values;
}

template <typename Value>
int place_of(const std::vector<Value>& values, Value value) {
  return static_cast<int>(std::ranges::find(values, value) - values.begin());
}

}  // namespace

std::string map_svg(const std::string& title, const simulation::GainMap& map) {
  const std::vector<int> batches = values_of(map.cells, &MapCell::batch);
  const std::vector<int> contexts = values_of(map.cells, &MapCell::context);
  const std::vector<int> groups = values_of(map.cells, &MapCell::head_group);
  const std::vector<DType> types = values_of(map.cells, &MapCell::kv_dtype);
  const int width = kLeft + static_cast<int>(contexts.size()) * kSquare + kGap;
  const int height = kTop + static_cast<int>(batches.size()) * kSquare + kGap;
  std::string inner;
  for (const MapCell& cell : map.cells) {
    const int left = kLeft + place_of(groups, cell.head_group) * width;
    const int top = kTop + place_of(types, cell.kv_dtype) * height;
    const int column = place_of(contexts, cell.context), row = place_of(batches, cell.batch);
    const int x = left + column * kSquare, y = top + row * kSquare;
    inner += square_of(cell, x, y);
    if (row == 0) {
      inner += words(x + kSquare / 2.0, y - 4, "middle", std::to_string(cell.context));
    }
    if (column == 0)
      inner += words(x - 6, y + kSquare / 2.0 + 4, "end", std::to_string(cell.batch));
    if (row == 0 && column == 0) {
      inner +=
          words(left, top - 20, "start",
                fmt::format("{} KV, {} heads per KV head; batch by context",
                            cell.kv_dtype == DType::kI8 ? "8-bit" : "16-bit", cell.head_group));
    }
  }
  const auto fields = [](std::size_t count, int side) { return static_cast<int>(count) * side; };
  return drawing(
      fields(groups.size(), width) + kGap, fields(types.size(), height) + kGap,
      title + fmt::format("; framed: more than the ratio of prices, {:.2f}", map.price_ratio),
      inner);
}

std::string design_svg(const std::string& title, const std::vector<simulation::DesignRow>& rows) {
  constexpr int kBars = 320, kBar = 360, kLine = 26;
  double most = 0;
  for (const simulation::DesignRow& row : rows) most = std::max(most, row.tokens_per_s);
  std::string inner;
  int y = kTop;
  for (const simulation::DesignRow& row : rows) {
    const double length = most > 0 ? kBar * row.tokens_per_s / most : 0;
    inner += words(kBars - 8, y, "end", row.what);
    inner += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"16\" fill=\"#36c\"/>\n",
                         kBars, y - 13, length);
    const std::string figure = row.impossible.empty() ? fmt::format("{:.1f} tokens/s, {:.2f}",
                                                                    row.tokens_per_s, row.of_all)
                                                      : "impossible";
    inner += words(kBars + length + 6, y, "start", figure);
    y += kLine;
  }
  return drawing(kBars + kBar + 180, y + kLine, title, inner);
}

}  // namespace tandem::apps
