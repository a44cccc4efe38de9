// SPDX-License-Identifier: Apache-2.0
//
// Counts in fields, and their two drawings.
#include "tensor/sparse/features/spy.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "common/error.h"

namespace tandem::sparse {
namespace {

constexpr std::string_view kInk = " .:-=+*#%@";

std::size_t field_of(std::uint64_t index, std::uint64_t size, std::size_t fields) {
  return static_cast<std::size_t>(static_cast<unsigned __int128>(index) * fields / size);
}

// 0 for none, else in (0, 1] by the logarithm.
double darkness(std::uint64_t count, std::uint64_t max) {
  return std::log2(1 + static_cast<double>(count)) / std::log2(1 + static_cast<double>(max));
}

void check_mode(const CooTensor& tensor, std::size_t mode) {
  if (mode < tensor.order()) return;
  throw Error("tensor", "there is no mode " + std::to_string(mode) +
                            "; the tensor has the modes 0 to " +
                            std::to_string(tensor.order() - 1));
}

std::string range_text(std::size_t mode, std::uint64_t size) {
  return "mode " + std::to_string(mode) + " (1.." + std::to_string(size) + ")";
}

}  // namespace

std::uint64_t SpyPlot::max() const {
  return counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
}

SpyPlot spy(const CooTensor& tensor, std::size_t row_mode, std::size_t column_mode,
            std::size_t most_rows, std::size_t most_columns) {
  check_mode(tensor, row_mode);
  check_mode(tensor, column_mode);
  SpyPlot plot;
  plot.row_mode = row_mode;
  plot.column_mode = column_mode;
  plot.row_size = tensor.sizes[row_mode];
  plot.column_size = tensor.sizes[column_mode];
  plot.rows = static_cast<std::size_t>(std::min<std::uint64_t>(most_rows, plot.row_size));
  plot.columns = static_cast<std::size_t>(std::min<std::uint64_t>(most_columns, plot.column_size));
  plot.counts.assign(plot.rows * plot.columns, 0);
  for (std::size_t entry = 0; entry < tensor.num_entries(); ++entry) {
    const std::size_t row = field_of(tensor.indices[row_mode][entry], plot.row_size, plot.rows);
    const std::size_t column =
        field_of(tensor.indices[column_mode][entry], plot.column_size, plot.columns);
    ++plot.counts[row * plot.columns + column];
  }
  return plot;
}

std::string spy_text(const SpyPlot& plot) {
  const std::uint64_t max = std::max<std::uint64_t>(plot.max(), 1);
  std::string text = "rows: " + range_text(plot.row_mode, plot.row_size) +
                     ", columns: " + range_text(plot.column_mode, plot.column_size) +
                     ", darkest: " + std::to_string(plot.max()) + " entries\n";
  const std::string border = '+' + std::string(plot.columns, '-') + "+\n";
  text += border;
  for (std::size_t row = 0; row < plot.rows; ++row) {
    text += '|';
    for (std::size_t column = 0; column < plot.columns; ++column) {
      const double dark = darkness(plot.counts[row * plot.columns + column], max);
      text +=
          kInk[static_cast<std::size_t>(std::ceil(dark * static_cast<double>(kInk.size() - 1)))];
    }
    text += "|\n";
  }
  return text + border;
}

std::string spy_svg(const SpyPlot& plot) {
  constexpr std::size_t kFieldPixels = 6, kTitlePixels = 20;
  const std::uint64_t max = std::max<std::uint64_t>(plot.max(), 1);
  const std::size_t width = std::max<std::size_t>(plot.columns * kFieldPixels, 300);
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(width) +
                     "\" height=\"" + std::to_string(plot.rows * kFieldPixels + kTitlePixels) +
                     "\">\n<text x=\"0\" y=\"14\" font-size=\"12\">rows: " +
                     range_text(plot.row_mode, plot.row_size) +
                     ", columns: " + range_text(plot.column_mode, plot.column_size) + "</text>\n";
  text += "<rect x=\"0\" y=\"" + std::to_string(kTitlePixels) + "\" width=\"" +
          std::to_string(plot.columns * kFieldPixels) + "\" height=\"" +
          std::to_string(plot.rows * kFieldPixels) + "\" fill=\"#eee\"/>\n";
  for (std::size_t field = 0; field < plot.counts.size(); ++field) {
    if (plot.counts[field] == 0) continue;
    const auto grey = std::to_string(
        static_cast<int>(std::lround(200 * (1 - darkness(plot.counts[field], max)))));
    text += "<rect x=\"" + std::to_string(field % plot.columns * kFieldPixels) + "\" y=\"" +
            std::to_string(field / plot.columns * kFieldPixels + kTitlePixels) + "\" width=\"" +
            std::to_string(kFieldPixels) + "\" height=\"" + std::to_string(kFieldPixels) +
            "\" fill=\"rgb(" + grey + "," + grey + "," + grey + ")\"/>\n";
  }
  return text + "</svg>";
}

}  // namespace tandem::sparse
