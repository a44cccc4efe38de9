// SPDX-License-Identifier: Apache-2.0
//
// The heat map's scale runs from white to a dark blue; squares shrink as the world grows.
#include "trace/communication_matrix.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "common/xml_text.h"

namespace tandem::trace {
namespace {

constexpr int kMargin = 72;
constexpr int kLargestSide = 720;   // of the field of squares
constexpr double kNarrowest = 420;  // the page, so that the caption fits

double imbalance(const std::vector<std::uint64_t>& sums) {
  const auto total = std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  if (total == 0) return 1;
  const auto busiest = *std::max_element(sums.begin(), sums.end());
  return static_cast<double>(busiest) * static_cast<double>(sums.size()) /
         static_cast<double>(total);
}

std::string human(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string colour(double share) {
  const auto between = [share](int from, int to) {
    return static_cast<int>(std::lround(from + share * (to - from)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", between(255, 8), between(255, 48), between(255, 107));
}

// The positions on the page.
class Drawing {
 public:
  explicit Drawing(int world)
      : side_(std::clamp(static_cast<double>(kLargestSide) / world, 3.0, 48.0)),
        field_(side_ * world) {}

  std::string head(const std::string& title, std::uint64_t largest) const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{0:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {0:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        "<text x=\"{1}\" y=\"20\" font-size=\"14\">{2}</text>\n"
        "<text x=\"{1}\" y=\"38\">rows send, columns receive; darkest = {3}</text>\n",
        std::max(field_ + 2 * kMargin, kNarrowest), kMargin, xml_text(title), human(largest));
  }

  // The rank's number at its row and column, and, if there is room, the bytes that it sent and
  // received.
  std::string margins(int rank, std::uint64_t sent, std::uint64_t received) const {
    const double middle = kMargin + side_ * rank + side_ / 2;
    std::string out;
    if (rank % std::max(1, static_cast<int>(std::ceil(12 / side_))) == 0) {
      out += fmt::format(
          "<text x=\"{0}\" y=\"{1:.1f}\" text-anchor=\"end\">{2}</text>"
          "<text x=\"{3:.1f}\" y=\"{0}\" text-anchor=\"middle\">{2}</text>\n",
          kMargin - 6, middle + 4, rank, middle);
    }
    if (side_ >= 24) {
      out += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>"
          "<text transform=\"translate({:.1f},{:.1f}) rotate(60)\">{}</text>\n",
          kMargin + field_ + 4, middle + 4, human(sent), middle - 3, kMargin + field_ + 8,
          human(received));
    }
    return out;
  }

  std::string square(int from, int to, const std::string& fill, const std::string& tip) const {
    return fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
        "stroke=\"#ddd\" stroke-width=\"0.5\"><title>{}</title></rect>\n",
        kMargin + side_ * to, kMargin + side_ * from, side_, side_, fill, tip);
  }

 private:
  double side_;
  double field_;
};

}  // namespace

CommunicationMatrix::CommunicationMatrix(int world)
    : world_(world), cells_(static_cast<std::size_t>(world) * static_cast<std::size_t>(world)) {}

void CommunicationMatrix::add(int from, int to, std::uint64_t bytes, std::uint64_t messages) {
  Cell& at = cells_[cell(from, to)];
  at.bytes += bytes;
  at.messages += messages;
}

std::vector<std::uint64_t> CommunicationMatrix::sums(bool by_sender) const {
  std::vector<std::uint64_t> totals(static_cast<std::size_t>(world_));
  for (int from = 0; from < world_; ++from) {
    for (int to = 0; to < world_; ++to) {
      totals[static_cast<std::size_t>(by_sender ? from : to)] += bytes(from, to);
    }
  }
  return totals;
}

double CommunicationMatrix::send_imbalance() const { return imbalance(sums(true)); }
double CommunicationMatrix::receive_imbalance() const { return imbalance(sums(false)); }

std::string CommunicationMatrix::to_csv() const {
  std::string csv = "from,to,bytes,messages\n";
  for (int from = 0; from < world_; ++from) {
    for (int to = 0; to < world_; ++to) {
      csv += fmt::format("{},{},{},{}\n", from, to, bytes(from, to), messages(from, to));
    }
  }
  return csv;
}

std::string CommunicationMatrix::to_svg(const std::string& title) const {
  const Drawing drawing(world_);
  std::uint64_t largest = 0;
  for (const Cell& each : cells_) largest = std::max(largest, each.bytes);
  std::string svg = drawing.head(title, largest);
  const auto sent = sums(true);
  const auto received = sums(false);
  for (int rank = 0; rank < world_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    svg += drawing.margins(rank, sent[index], received[index]);
  }
  for (int from = 0; from < world_; ++from) {
    for (int to = 0; to < world_; ++to) {
      const double share = static_cast<double>(bytes(from, to)) /
                           static_cast<double>(std::max<std::uint64_t>(largest, 1));
      svg += drawing.square(from, to, colour(share),
                            fmt::format("{} to {}: {} bytes, {} messages", from, to,
                                        bytes(from, to), messages(from, to)));
    }
  }
  return svg + "</svg>\n";
}

}  // namespace tandem::trace
