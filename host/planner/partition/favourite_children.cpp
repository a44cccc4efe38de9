// SPDX-License-Identifier: Apache-2.0
//
// Columns of the programme: the end, the starts of the nodes, and the shares of the edges.
#include "planner/partition/favourite_children.h"

#include <Clp_C_Interface.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/error.h"

namespace tandem::planner {
namespace {

// Several tensors between two nodes are one edge, which takes as long as the longest.
struct PairEdge {
  int from = 0, to = 0;
  double us = 0;
};

double microseconds(std::int64_t ps) {
  return static_cast<double>(ps) / static_cast<double>(kPicosecondsPerMicrosecond);
}

std::vector<PairEdge> pair_edges(const OperatorGraph& graph, const DeviceLinks& links) {
  std::map<std::pair<int, int>, double> pairs;
  for (int id = 0; id < graph.num_edges(); ++id) {
    const OperatorEdge& edge = graph.edge(id);
    double& us = pairs[{edge.from, edge.to}];
    us = std::max(us, microseconds(links.edge_ps(graph.edge_bytes(id))));
  }
  std::vector<PairEdge> edges;
  for (const auto& [ends, us] : pairs) edges.push_back({ends.first, ends.second, us});
  return edges;
}

// A programme by columns, as Clp takes it. Every row has an upper bound.
class LinearProgramme {
 public:
  explicit LinearProgramme(std::size_t num_rows) : upper_(num_rows, 0) {}

  void limit(std::size_t row, double upper) { upper_[row] = upper; }
  void add_column(double cost, double most, const std::vector<std::pair<int, double>>& entries) {
    costs_.push_back(cost);
    most_.push_back(most);
    for (const auto& [row, value] : entries) {
      rows_.push_back(row);
      values_.push_back(value);
    }
    begins_.push_back(static_cast<CoinBigIndex>(rows_.size()));
  }

  // The values of the columns at the optimum.
  std::vector<double> solve() const {
    constexpr double kMostSeconds = 60;
    const std::unique_ptr<Clp_Simplex, void (*)(Clp_Simplex*)> model(Clp_newModel(),
                                                                     &Clp_deleteModel);
    const std::vector<double> row_lower(upper_.size(), -std::numeric_limits<double>::max());
    const std::vector<double> least(costs_.size(), 0);
    Clp_setLogLevel(model.get(), 0);
    Clp_setMaximumSeconds(model.get(), kMostSeconds);
    Clp_loadProblem(model.get(), static_cast<int>(costs_.size()), static_cast<int>(upper_.size()),
                    begins_.data(), rows_.data(), values_.data(), least.data(), most_.data(),
                    costs_.data(), row_lower.data(), upper_.data());
    Clp_initialSolve(model.get());
    if (Clp_status(model.get()) != 0) {
      throw Error("place", "Clp found no optimum for the method msct in a minute (status " +
                               std::to_string(Clp_status(model.get())) +
                               "); choose another method");
    }
    const double* columns = Clp_primalColumnSolution(model.get());
    return {columns, columns + costs_.size()};
  }

 private:
  std::vector<double> upper_, costs_, most_, values_;
  std::vector<int> rows_;
  std::vector<CoinBigIndex> begins_ = {0};
};

// Rows: the end of every node, the order of every edge, consumers and producers of every node.
LinearProgramme programme_of(const OperatorGraph& graph, const std::vector<PairEdge>& edges) {
  const int nodes = graph.num_nodes(), num_edges = static_cast<int>(edges.size());
  const int order = nodes, consumers = nodes + num_edges, producers = consumers + nodes;
  LinearProgramme programme(static_cast<std::size_t>(producers + nodes));
  std::vector<std::vector<std::pair<int, double>>> starts(static_cast<std::size_t>(nodes));
  std::vector<std::pair<int, double>> end;
  for (int node = 0; node < nodes; ++node) {
    const double us = microseconds(graph.node(node).time_ps);
    programme.limit(static_cast<std::size_t>(node), -us);  // start - end <= -time
    starts[static_cast<std::size_t>(node)].emplace_back(node, 1);
    end.emplace_back(node, -1);
  }
  programme.add_column(1, std::numeric_limits<double>::max(), end);
  for (int id = 0; id < num_edges; ++id) {
    const PairEdge& edge = edges[static_cast<std::size_t>(id)];
    starts[static_cast<std::size_t>(edge.from)].emplace_back(order + id, 1);
    starts[static_cast<std::size_t>(edge.to)].emplace_back(order + id, -1);
  }
  for (const auto& entries : starts) {
    programme.add_column(0, std::numeric_limits<double>::max(), entries);
  }
  // The columns are y = 1 - x: start + time + (1 - y) us <= start of the consumer.
  for (int node = 0; node < nodes; ++node) {
    programme.limit(static_cast<std::size_t>(consumers + node), 1);
    programme.limit(static_cast<std::size_t>(producers + node), 1);
  }
  for (int id = 0; id < num_edges; ++id) {
    const PairEdge& edge = edges[static_cast<std::size_t>(id)];
    const double us = microseconds(graph.node(edge.from).time_ps);
    programme.limit(static_cast<std::size_t>(order + id), -us - edge.us);
    programme.add_column(
        0, 1, {{order + id, -edge.us}, {consumers + edge.from, 1}, {producers + edge.to, 1}});
  }
  return programme;
}

}  // namespace

bool has_linear_solver() { return true; }

std::vector<int> favourite_children(const OperatorGraph& graph, const DeviceLinks& links) {
  constexpr double kHalf = 0.5 + 1e-6;
  const std::vector<PairEdge> edges = pair_edges(graph, links);
  if (edges.size() > kMostFavouriteEdges) {
    throw Error("place", "the method msct solves a linear programme, for at most " +
                             std::to_string(kMostFavouriteEdges) + " edges; this graph has " +
                             std::to_string(edges.size()) + "; choose another method");
  }
  std::vector<int> favourites(static_cast<std::size_t>(graph.num_nodes()), kNoFavourite);
  if (edges.empty()) return favourites;
  const std::vector<double> columns = programme_of(graph, edges).solve();
  const std::size_t first = 1 + static_cast<std::size_t>(graph.num_nodes());
  for (std::size_t id = 0; id < edges.size(); ++id) {
    if (columns[first + id] < kHalf) continue;
    favourites[static_cast<std::size_t>(edges[id].from)] = edges[id].to;
  }
  return favourites;
}

}  // namespace tandem::planner
