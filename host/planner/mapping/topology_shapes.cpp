// SPDX-License-Identifier: Apache-2.0
//
// Vertices are numbered by formula; places come first.
#include "planner/mapping/topology_shapes.h"

#include <algorithm>
#include <string>

#include "common/error.h"
#include "common/number.h"
#include "planner/mapping/quadratic_assignment.h"

namespace tandem::planner {
namespace {

[[noreturn]] void refuse_shape(std::string_view name, const std::string& what) {
  throw Error("topology", "'" + std::string(name) + "': " + what);
}

// "4x3" -> {4, 3}. `name` is for messages.
std::vector<int> sizes_of(std::string_view name, std::string_view text) {
  std::vector<int> sizes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    const auto size = number_of<int>(text.substr(at, end - at));
    if (!size || *size < 1 || *size > kMostTasks) {
      refuse_shape(name, "'" + std::string(text.substr(at, end - at)) +
                             "' is not a size from 1 to " + std::to_string(kMostTasks) +
                             "; write sizes as 4x4");
    }
    sizes.push_back(*size);
    at = end + 1;
  }
  return sizes;
}

Topology with_places(std::string_view name, std::int64_t count) {
  if (count > kMostTasks) {
    refuse_shape(name, std::to_string(count) + " places; at most " + std::to_string(kMostTasks) +
                           " can be searched");
  }
  Topology topology;
  for (int i = 0; i < count; ++i) {
    topology.places.push_back({.name = std::to_string(i), .host = "+n" + std::to_string(i)});
  }
  return topology;
}

std::int64_t product_of(std::string_view name, const std::vector<int>& sizes) {
  std::int64_t product = 1;
  for (const int size : sizes) {
    product *= size;
    if (product > kMostTasks) with_places(name, product);
  }
  return product;
}

Topology grid(std::string_view name, const std::vector<int>& sizes, bool is_torus) {
  Topology topology = with_places(name, product_of(name, sizes));
  int stride = 1;  // between neighbours along the axis
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    const int size = sizes[axis];
    for (int place = 0; place < topology.num_places(); ++place) {
      const int coordinate = place / stride % size;
      if (coordinate + 1 < size) {
        topology.links.push_back({.from = place, .to = place + stride});
      } else if (is_torus && size > 2) {
        topology.links.push_back({.from = place, .to = place - (size - 1) * stride});
      }
    }
    stride *= size;
  }
  topology.mark_slowest();
  return topology;
}

Topology fat_tree(std::string_view name, int ports) {
  if (ports % 2 != 0) refuse_shape(name, "the switches need an even number of ports");
  const std::int64_t half = ports / 2;
  Topology topology = with_places(name, half * half * ports);
  const int edges = topology.num_places();             // [ports, half]
  const int aggregations = edges + ports * ports / 2;  // [ports, half]
  const int tops = aggregations + ports * ports / 2;   // [half, half]
  const int width = ports / 2;
  topology.num_switches = ports * ports + width * width;
  for (int place = 0; place < topology.num_places(); ++place) {
    topology.links.push_back({.from = place, .to = edges + place / width});
  }
  for (int pod = 0; pod < ports; ++pod) {
    for (int i = 0; i < width; ++i) {
      const int aggregation = aggregations + pod * width + i;
      for (int j = 0; j < width; ++j) {
        topology.links.push_back({.from = edges + pod * width + j, .to = aggregation});
        topology.links.push_back(
            {.from = aggregation, .to = tops + i * width + j, .cost = 1, .is_slow = true});
      }
    }
  }
  return topology;
}

Topology dragonfly(std::string_view name, const std::vector<int>& sizes) {
  constexpr std::int64_t kGlobalCost = 3;
  const int groups = sizes[0], routers = sizes[1], places = sizes[2];
  Topology topology = with_places(name, product_of(name, sizes));
  const int first = topology.num_places();
  topology.num_switches = groups * routers;
  for (int place = 0; place < topology.num_places(); ++place) {
    topology.links.push_back({.from = place, .to = first + place / places});
  }
  const int per_router = std::max(1, (groups - 1 + routers - 1) / routers);
  // The router of `group` that holds the link to the group `apart` further.
  const auto router = [&](int group, int apart) {
    return first + group * routers + (apart - 1) / per_router;
  };
  for (int group = 0; group < groups; ++group) {
    for (int i = 0; i < routers; ++i) {
      for (int j = 0; j < i; ++j) {
        topology.links.push_back(
            {.from = first + group * routers + j, .to = first + group * routers + i});
      }
    }
    for (int other = group + 1; other < groups; ++other) {
      topology.links.push_back({.from = router(group, other - group),
                                .to = router(other, groups - (other - group)),
                                .cost = kGlobalCost,
                                .is_slow = true});
    }
  }
  return topology;
}

}  // namespace

bool is_topology_shape(std::string_view name) {
  constexpr std::string_view kKinds[] = {"mesh:", "torus:", "fat-tree:", "dragonfly:"};
  return std::ranges::any_of(kKinds, [&](std::string_view kind) { return name.starts_with(kind); });
}

Topology topology_of_shape(std::string_view name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string_view kind = name.substr(0, colon);
  if (!is_topology_shape(name)) {
    refuse_shape(name, "shapes are mesh:AxB, torus:AxB, fat-tree:K and dragonfly:GxAxP");
  }
  const std::vector<int> sizes = sizes_of(name, name.substr(colon + 1));
  if (kind == "mesh" || kind == "torus") return grid(name, sizes, kind == "torus");
  if (kind == "fat-tree") {
    if (sizes.size() != 1) refuse_shape(name, "a fat tree has one size, the ports of a switch");
    return fat_tree(name, sizes[0]);
  }
  if (sizes.size() != 3) {
    refuse_shape(name,
                 "a dragonfly has three sizes: groups, routers of a group, places of a router");
  }
  return dragonfly(name, sizes);
}

}  // namespace tandem::planner
