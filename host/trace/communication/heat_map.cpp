// SPDX-License-Identifier: Apache-2.0
//
// Shades are 32 steps between a light and a dark blue, so that runs of one shade can be joined.
#include "trace/communication/heat_map.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>

#include "common/xml_text.h"

namespace tandem::trace {
namespace {

constexpr int kShades = 32;
constexpr int kMostSquares = 64;  // a side, with tooltips
constexpr double kLargestField = 720, kLeast = 460, kLeft = 96, kTop = 84;

std::string shade_colour(int shade) {
  const double share = static_cast<double>(shade) / (kShades - 1);
  const auto between = [share](int from, int to) {
    return static_cast<int>(std::lround(from + share * (to - from)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", between(222, 8), between(235, 48), between(247, 107));
}

void add_number(std::string& path, char before, int number) {
  std::array<char, 12> digits;
  path += before;
  path.append(digits.data(), std::to_chars(digits.begin(), digits.end(), number).ptr);
}

void add_run(std::string& path, int column, int row, int length) {
  add_number(path, 'M', column);
  add_number(path, ' ', row);
  add_number(path, 'h', length);
  path += "v1";
  add_number(path, 'h', -length);
  path += 'z';
}

// The extremes of the cells with traffic.
struct Extremes {
  std::uint64_t least = 0, most = 0;
};

Extremes extremes_of(const CommunicationMatrix& matrix) {
  Extremes found{std::numeric_limits<std::uint64_t>::max(), 0};
  for (int from = 0; from < matrix.world(); ++from) {
    for (int to = 0; to < matrix.world(); ++to) {
      const std::uint64_t bytes = matrix.bytes(from, to);
      if (bytes == 0) continue;
      found.least = std::min(found.least, bytes);
      found.most = std::max(found.most, bytes);
    }
  }
  if (found.most == 0) found.least = 0;
  return found;
}

class HeatDrawing {
 public:
  HeatDrawing(const CommunicationMatrix& matrix, const HeatMapOptions& options)
      : matrix_(matrix),
        options_(options),
        extremes_(extremes_of(matrix)),
        side_(std::clamp(kLargestField / std::max(matrix.world(), 1), 0.7, 44.0)),
        field_(side_ * matrix.world()) {}

  std::string svg() const {
    std::string out = head();
    out += matrix_.world() <= kMostSquares ? squares() : runs();
    return out + labels() + group_lines() + legend() + "</svg>\n";
  }

 private:
  // -1: no traffic.
  int shade(int from, int to) const {
    const std::uint64_t bytes = matrix_.bytes(from, to);
    if (bytes == 0) return -1;
    double share = static_cast<double>(bytes) / static_cast<double>(extremes_.most);
    if (options_.scale == HeatScale::kLogarithmic) {
      const double range = std::log(static_cast<double>(extremes_.most)) -
                           std::log(static_cast<double>(extremes_.least));
      share = range > 0 ? 1 + std::log(share) / range : 1;
    }
    return static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * (kShades - 1)));
  }

  std::string label(int party) const {
    const auto at = static_cast<std::size_t>(party);
    return at < options_.labels.size() ? options_.labels[at] : std::to_string(party);
  }

  std::string head() const {
    const double width = std::max(field_ + kLeft + 24, kLeast), height = field_ + kTop + 64;
    const bool is_log = options_.scale == HeatScale::kLogarithmic;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"11\">\n<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"white\"/>\n<text x=\"12\" y=\"20\" font-size=\"14\">{2}</text>\n"
        "<text x=\"12\" y=\"37\">columns send, rows receive; {3} scale</text>\n"
        "<rect x=\"{4}\" y=\"{5}\" width=\"{6:.2f}\" height=\"{6:.2f}\" fill=\"white\" "
        "stroke=\"#999\"/>\n",
        width, height, xml_text(options_.title), is_log ? "logarithmic" : "linear", kLeft, kTop,
        field_);
  }

  std::string squares() const {
    std::string out;
    for (int to = 0; to < matrix_.world(); ++to) {
      for (int from = 0; from < matrix_.world(); ++from) {
        const int at = shade(from, to);
        out += fmt::format(
            "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
            "stroke=\"#ddd\" stroke-width=\"0.5\"><title>{} to {}: {} bytes, {} "
            "messages</title></rect>\n",
            kLeft + side_ * from, kTop + side_ * to, side_, side_,
            at < 0 ? "white" : shade_colour(at), xml_text(label(from)), xml_text(label(to)),
            matrix_.bytes(from, to), matrix_.messages(from, to));
      }
    }
    return out;
  }

  // One path per shade, in units of a cell: "M column row h length v 1 h -length z" per run.
  std::string runs() const {
    std::array<std::string, kShades> paths;
    for (int to = 0; to < matrix_.world(); ++to) {
      for (int from = 0; from < matrix_.world();) {
        const int at = shade(from, to), begin = from;
        while (from < matrix_.world() && shade(from, to) == at) ++from;
        if (at < 0) continue;
        add_run(paths[static_cast<std::size_t>(at)], begin, to, from - begin);
      }
    }
    std::string out =
        fmt::format("<g transform=\"translate({},{}) scale({:.4f})\">\n", kLeft, kTop, side_);
    for (int at = 0; at < kShades; ++at) {
      const std::string& path = paths[static_cast<std::size_t>(at)];
      if (!path.empty()) {
        out += fmt::format("<path fill=\"{}\" d=\"{}\"/>\n", shade_colour(at), path);
      }
    }
    return out + "</g>\n";
  }

  std::string labels() const {
    std::string out;
    const int step = std::max(1, static_cast<int>(std::ceil(12 / side_)));
    for (int party = 0; party < matrix_.world(); party += step) {
      const double middle = side_ * party + side_ / 2;
      out += fmt::format(
          "<text x=\"{0:.1f}\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text><text "
          "transform=\"translate({3:.1f},{4:.1f}) rotate(-60)\">{2}</text>\n",
          kLeft - 6, kTop + middle + 4, xml_text(label(party)), kLeft + middle, kTop - 4);
    }
    return out;
  }

  std::string group_lines() const {
    std::string out;
    for (std::size_t i = 1; i < options_.groups.size(); ++i) {
      if (options_.groups[i] == options_.groups[i - 1]) continue;
      const double at = side_ * static_cast<double>(i);
      out += fmt::format(
          "<path class=\"group\" d=\"M{0} {1:.2f}h{2:.2f}M{3:.2f} {4}v{2:.2f}\" "
          "stroke=\"#c33\" fill=\"none\"><title>{5} | {6}</title></path>\n",
          kLeft, kTop + at, field_, kLeft + at, kTop, xml_text(options_.groups[i - 1]),
          xml_text(options_.groups[i]));
    }
    return out;
  }

  std::string legend() const {
    constexpr double kBox = 6;
    const double y = kTop + field_ + 20;
    std::string out;
    for (int at = 0; at < kShades; ++at) {
      out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"12\" fill=\"{}\"/>",
                         kLeft + kBox * at, y, kBox, shade_colour(at));
    }
    const bool is_log = options_.scale == HeatScale::kLogarithmic;
    return out + fmt::format(
                     "\n<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text><text x=\"{:.1f}\" "
                     "y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                     kLeft, y + 26, is_log ? readable_bytes(extremes_.least) : "0 B",
                     kLeft + kBox * kShades, y + 26, readable_bytes(extremes_.most));
  }

  const CommunicationMatrix& matrix_;
  const HeatMapOptions& options_;
  const Extremes extremes_;
  const double side_, field_;
};

}  // namespace

std::string heat_map_svg(const CommunicationMatrix& matrix, const HeatMapOptions& options) {
  return HeatDrawing(matrix, options).svg();
}

std::string readable_bytes(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

}  // namespace tandem::trace
