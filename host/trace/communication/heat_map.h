// SPDX-License-Identifier: Apache-2.0
//
// heat_map_svg(): a communication matrix as a picture.
//
// Rows receive and columns send, as in the JSON ([dst][src]). A cell without traffic is white. The
// shade goes with the bytes, or with their logarithm between the smallest and the largest cell. Up
// to 64 parties each cell is a square with a tooltip. Beyond, neighbours of one shade become one
// shape, so a thousand parties stay a file that viewers open. Cost: one pass over the cells.
// Threads: pure.
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
