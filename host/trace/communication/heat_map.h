// SPDX-License-Identifier: Apache-2.0
//
// heat_map_svg(): draws a communication matrix as SVG.
//
// Rows receive and columns send, as in the JSON ([dst][src]). A cell without traffic is white. The
// shade follows the bytes, or their logarithm between the smallest and the largest cell. With up to
// 64 parties each cell is a square with a tooltip. With more, neighbouring cells of one shade are
// one shape, so that viewers can open the file even with a thousand parties. Cost: one pass over
// the cells. Threads: pure.
#pragma once

#include <string>
#include <vector>

#include "trace/communication_matrix.h"

namespace tandem::trace {

enum class HeatScale { kLinear, kLogarithmic };

struct HeatMapOptions {
  std::string title;
  HeatScale scale = HeatScale::kLinear;
  std::vector<std::string> labels;  // [world]; empty: numbers
  std::vector<std::string> groups;  // [world] machines; a line is drawn where they change
};

std::string heat_map_svg(const CommunicationMatrix& matrix, const HeatMapOptions& options);

// "1.5 MB": three digits, powers of 1000.
std::string readable_bytes(std::uint64_t bytes);

}  // namespace tandem::trace
