// SPDX-License-Identifier: Apache-2.0
//
// CommunicationMatrix: the traffic between all pairs of ranks, as CSV and as an SVG heat map.
//
// Cell [from, to] holds bytes and messages; the diagonal is zero. CSV: one line per ordered pair,
// "from,to,bytes,messages", also for pairs without traffic, so that tools can pivot it. SVG: one
// square per pair, shaded by bytes on a linear scale up to the largest cell. Tooltips show the
// exact figures, the margins show the sums of rows and columns. No script, no font files. Threads:
// a plain value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::trace {

class CommunicationMatrix {
 public:
  explicit CommunicationMatrix(int world);

  int world() const { return world_; }
  void add(int from, int to, std::uint64_t bytes, std::uint64_t messages);
  std::uint64_t bytes(int from, int to) const { return cells_[cell(from, to)].bytes; }
  std::uint64_t messages(int from, int to) const { return cells_[cell(from, to)].messages; }

  // Bytes of the busiest rank over the mean of all ranks; 1 without traffic.
  double send_imbalance() const;
  double receive_imbalance() const;

  std::string to_csv() const;
  std::string to_svg(const std::string& title) const;

 private:
  struct Cell {
    std::uint64_t bytes = 0;
    std::uint64_t messages = 0;
  };

  std::size_t cell(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(world_) +
           static_cast<std::size_t>(to);
  }
  std::vector<std::uint64_t> sums(bool by_sender) const;

  int world_;
  std::vector<Cell> cells_;
};

}  // namespace tandem::trace
