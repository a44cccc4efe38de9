// SPDX-License-Identifier: Apache-2.0
//
// Matrices, sums and lines.
#include "planner/mapping/rank_mapping.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/error.h"

namespace tandem::planner {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_traffic(const std::string& what) { throw Error("traffic", what); }

std::int64_t bytes_of(const json& cell, int to, int from) {
  const bool fits =
      cell.is_number_unsigned() && cell.get<std::uint64_t>() < (std::uint64_t{1} << 51);
  if (!fits) {
    refuse_traffic("'bytes' [" + std::to_string(to) + "][" + std::to_string(from) + "] is " +
                   cell.dump() + ", not a whole number of bytes below 2^51");
  }
  return cell.get<std::int64_t>();
}

std::size_t cell_of(int row, int column, int width) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
         static_cast<std::size_t>(column);
}

const json& array_of(const json& value, int size, const std::string& name) {
  if (!value.is_array() || value.size() != static_cast<std::size_t>(size)) {
    refuse_traffic(name + " must be an array of " + std::to_string(size) + ", one per rank");
  }
  return value;
}

// The least power of two by which bytes must be divided, for sums within the range of the search.
std::int64_t unit_bytes(const RankTraffic& traffic, const TopologyDistances& distances) {
  double most = static_cast<double>(std::ranges::max(distances.cost));
  most *= std::accumulate(traffic.bytes.begin(), traffic.bytes.end(), 0.0);
  if (most >= 0x1p62) refuse_traffic("bytes times the longest way pass 2^62");
  std::int64_t unit = 1;
  while (most / static_cast<double>(unit) >= 0x1p51) unit *= 2;
  return unit;
}

}  // namespace

RankTraffic read_rank_traffic(std::istream& in) {
  const json object = json::parse(in, nullptr, false);
  if (object.is_discarded()) refuse_traffic("the file is not complete JSON");
  if (!object.is_object() || !object.contains("ranks") || !object.contains("bytes")) {
    refuse_traffic("'ranks' and 'bytes' are missing: `tandem trace-comm --out PREFIX` writes them");
  }
  const json& ranks = object["ranks"];
  if (!ranks.is_number_unsigned() || ranks < 1 || ranks > kMostTasks) {
    refuse_traffic("'ranks' is " + ranks.dump() + ", not a number from 1 to " +
                   std::to_string(kMostTasks));
  }
  RankTraffic traffic;
  traffic.num_ranks = ranks.get<int>();
  const int n = traffic.num_ranks;
  traffic.bytes.resize(cell_of(n, 0, n));
  const json& rows = array_of(object["bytes"], n, "'bytes'");
  for (int to = 0; to < n; ++to) {
    const json& row =
        array_of(rows[static_cast<std::size_t>(to)], n, "'bytes' [" + std::to_string(to) + "]");
    for (int from = 0; from < n; ++from) {
      const std::int64_t bytes = bytes_of(row[static_cast<std::size_t>(from)], to, from);
      if (from != to) traffic.bytes[cell_of(from, to, n)] = bytes;
    }
  }
  return traffic;
}

QuadraticAssignment rank_problem(const RankTraffic& traffic, const Topology& topology,
                                 const TopologyDistances& distances) {
  const int ranks = traffic.num_ranks, places = topology.num_places();
  if (ranks > places) {
    throw Error("topology", std::to_string(ranks) + " ranks need a place each; the topology has " +
                                std::to_string(places));
  }
  const std::int64_t unit = unit_bytes(traffic, distances);
  QuadraticAssignment problem;
  problem.num_tasks = places;
  problem.distance = distances.cost;
  problem.flow.resize(cell_of(places, 0, places));
  for (int from = 0; from < ranks; ++from) {
    std::copy_n(traffic.bytes.begin() + static_cast<std::ptrdiff_t>(cell_of(from, 0, ranks)), ranks,
                problem.flow.begin() + static_cast<std::ptrdiff_t>(cell_of(from, 0, places)));
  }
  for (std::int64_t& flow : problem.flow) flow /= unit;
  problem.check_range();
  return problem;
}

std::int64_t bytes_times(const RankTraffic& traffic, const std::vector<std::int64_t>& matrix,
                         const Permutation& places) {
  const int ranks = traffic.num_ranks, width = static_cast<int>(places.size());
  std::int64_t sum = 0;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) {
      sum += traffic.bytes[cell_of(from, to, ranks)] *
             matrix[cell_of(places[static_cast<std::size_t>(from)],
                            places[static_cast<std::size_t>(to)], width)];
    }
  }
  return sum;
}

std::string rank_file_text(const Topology& topology, const Permutation& places, int num_ranks) {
  std::string text;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const TopologyPlace& place =
        topology.places[static_cast<std::size_t>(places[static_cast<std::size_t>(rank)])];
    if (place.slot.empty()) {
      throw Error("topology", "mpirun places processes on cores, and '" + place.name +
                                  "' is none; the order for NCCL says which rank takes it");
    }
    text += "rank " + std::to_string(rank) + "=" + place.host + " slot=" + place.slot + "\n";
  }
  return text;
}

std::vector<int> nccl_order(const Permutation& places, int num_ranks) {
  std::vector<int> order(static_cast<std::size_t>(num_ranks));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int rank) { return places[static_cast<std::size_t>(rank)]; });
  return order;
}

}  // namespace tandem::planner
