// SPDX-License-Identifier: Apache-2.0
//
// Values by the names of nodes.
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "common/error.h"
#include "planner/graph/dot_file.h"
#include "planner/graph/graph_files.h"
#include "planner/graph/named_values.h"

namespace tandem::planner {
namespace {

constexpr std::string_view kDotFile = "graph.dot", kTimesFile = "durations.txt",
                           kSizesFile = "sizes.txt";

std::ifstream opened(const std::string& folder, std::string_view name) {
  const std::string path = folder + "/" + std::string(name);
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error("graph-triple", "cannot read '" + path + "': " + std::strerror(errno) +
                                    "; a triple is a folder with graph.dot, durations.txt and "
                                    "sizes.txt");
  }
  std::error_code ignored;  // a folder opens like a file and reads as an empty one
  if (std::filesystem::is_directory(path, ignored)) {
    throw Error("graph-triple", "cannot read '" + path + "': it is a folder, not a file");
  }
  return file;
}

// The values of nodes in the graph; other nodes are ignored. [nodes]; nothing if a node has no
// value.
std::vector<std::optional<double>> values_of(std::istream& in, std::string_view file,
                                             const NamedGraph& graph) {
  std::vector<std::optional<double>> values(graph.nodes.size());
  const NamedValuesSource source{"graph-triple", std::string(file)};
  read_named_values(in, source, [&](const std::string& name, double value, std::int64_t line) {
    const auto found = graph.ids.find(name);
    if (found == graph.ids.end()) return;
    auto& place = values[static_cast<std::size_t>(found->second)];
    if (place && *place != value) {
      source.refuse(line, "node '" + name + "' has another value above");
    }
    place = value;
  });
  return values;
}

void check_most(std::string_view file, const OperatorNode& node, double value, double most) {
  if (value <= most) return;
  throw Error("graph-triple",
              std::string(file) + ": the value of node '" + node.name + "' is too large");
}

// `src` and `snk`, which such files add around the graph, take no time.
bool is_bracket(const std::string& name) { return name == "src" || name == "snk"; }

}  // namespace

TripleGraph read_triple(std::istream& dot, std::istream& durations, std::istream& node_sizes) {
  NamedGraph graph = read_dot(std::string(std::istreambuf_iterator<char>(dot), {}));
  const auto times = values_of(durations, kTimesFile, graph);
  const auto sizes = values_of(node_sizes, kSizesFile, graph);
  std::vector<bool> has_consumers(graph.nodes.size());
  for (const OperatorEdge& edge : graph.edges)
    has_consumers[static_cast<std::size_t>(edge.from)] = true;
  int num_without_size = 0;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    OperatorNode& node = graph.nodes[id];
    if (!times[id] && !is_bracket(node.name)) {
      throw Error("graph-triple", std::string(kTimesFile) + ": node '" + node.name +
                                      "' of graph.dot has no duration; add a line name::us");
    }
    const double us = times[id].value_or(0), bytes = sizes[id].value_or(0);
    check_most(kTimesFile, node, us * kPicosecondsPerMicrosecond,
               static_cast<double>(kMostGraphPs));
    check_most(kSizesFile, node, bytes, static_cast<double>(kMostGraphBytes));
    node.time_ps = std::llround(us * kPicosecondsPerMicrosecond);
    node.output_bytes = std::llround(std::ceil(bytes));
    if (!sizes[id] && has_consumers[id] && !is_bracket(node.name)) ++num_without_size;
  }
  return {OperatorGraph(std::move(graph.nodes), std::move(graph.edges)), num_without_size};
}

TripleGraph read_graph_triple(const std::string& folder) {
  std::ifstream dot = opened(folder, kDotFile), times = opened(folder, kTimesFile),
                sizes = opened(folder, kSizesFile);
  return read_triple(dot, times, sizes);
}

}  // namespace tandem::planner
