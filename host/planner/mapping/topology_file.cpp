// SPDX-License-Identifier: Apache-2.0
//
// Text, and the choice of the reader by the first element.
#include "planner/mapping/topology_file.h"

#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/number.h"
#include "common/text_parts.h"
#include "planner/mapping/quadratic_assignment.h"

namespace tandem::planner {
namespace {

constexpr std::int64_t kMostLinkCost = 1'000'000;

[[noreturn]] void refuse_topology_line(int line, const std::string& what) {
  throw Error("topology", "line " + std::to_string(line) + ": " + what);
}

struct NamedLink {
  std::string from, to;
  std::int64_t cost = 1;
};

class TopologyText {
 public:
  void add_line(const std::string& text, int line) {
    std::istringstream in(text.substr(0, text.find('#')));
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    if (words.empty()) return;
    if (words[0] == "place") {
      add_place(words, line);
    } else if (words[0] == "link") {
      add_link(words, line);
    } else {
      refuse_topology_line(line, "'" + words[0] + "' is neither 'place' nor 'link'");
    }
  }

  Topology topology() {
    Topology& result = topology_;
    const auto vertex = [&](const std::string& name) {
      const auto [at, is_new] = vertices_.try_emplace(name, 0);
      if (is_new) at->second = result.add_switch();
      return at->second;
    };
    for (const NamedLink& link : links_) {
      const int from = vertex(link.from), to = vertex(link.to);
      result.links.push_back({.from = from, .to = to, .cost = link.cost});
    }
    result.mark_slowest();
    return result;
  }

 private:
  void add_place(const std::vector<std::string>& words, int line) {
    if (words.size() < 2 || words.size() > 4) {
      refuse_topology_line(line, "a place is 'place NAME [HOST [SLOT]]'");
    }
    const int number = topology_.num_places();
    if (number == kMostTasks) {
      refuse_topology_line(line, "more than " + std::to_string(kMostTasks) + " places");
    }
    if (!vertices_.try_emplace(words[1], number).second) {
      refuse_topology_line(line, "the place '" + words[1] + "' exists already");
    }
    TopologyPlace place{.name = words[1], .host = "+n" + std::to_string(number)};
    if (words.size() > 2) place.host = words[2];
    if (words.size() > 3) place.slot = words[3];
    topology_.places.push_back(std::move(place));
  }

  void add_link(const std::vector<std::string>& words, int line) {
    if (words.size() < 3 || words.size() > 4) {
      refuse_topology_line(line, "a link is 'link A B [COST]'");
    }
    if (words[1] == words[2]) {
      refuse_topology_line(line, "the link joins '" + words[1] + "' with itself");
    }
    NamedLink link{words[1], words[2]};
    if (words.size() > 3) {
      const auto cost = number_of<std::int64_t>(words[3]);
      if (!cost || *cost < 1 || *cost > kMostLinkCost) {
        refuse_topology_line(line, "the cost '" + words[3] + "' is not a whole number from 1 to " +
                                       std::to_string(kMostLinkCost));
      }
      link.cost = *cost;
    }
    links_.push_back(std::move(link));
  }

  Topology topology_;
  std::map<std::string, int> vertices_;
  std::vector<NamedLink> links_;
};

}  // namespace

Topology read_topology_text(std::istream& in) {
  TopologyText text;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) text.add_line(line, number);
  return text.topology();
}

void name_hosts(Topology& topology, std::istream& in) {
  constexpr std::string_view kSlots = "slots=";
  std::string text;
  std::size_t next = 0;
  for (int line = 1; std::getline(in, text); ++line) {
    std::istringstream words(text.substr(0, text.find('#')));
    std::string host, slots, more;
    if (!(words >> host)) continue;
    int count = 1;
    if (words >> slots) {
      const auto value = slots.starts_with(kSlots)
                             ? number_of<int>(std::string_view(slots).substr(kSlots.size()))
                             : std::nullopt;
      if (!value || *value < 1 || words >> more) {
        refuse_topology_line(line, "a host is 'NAME [slots=N]'");
      }
      count = *value;
    }
    for (int slot = 0; slot < count && next < topology.places.size(); ++slot) {
      TopologyPlace& place = topology.places[next++];
      place.host = host;
      place.slot = std::to_string(slot);
    }
  }
  if (next < topology.places.size()) {
    throw Error("topology", "the hosts have " + std::to_string(next) + " slots; the topology has " +
                                std::to_string(topology.places.size()) + " places");
  }
}

Topology read_topology(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream whole;
  const bool is_empty = in.is_open() && in.peek() == std::ifstream::traits_type::eof();
  // A folder can be opened, but not read.
  if (!in.is_open() || in.bad() || (!is_empty && !(whole << in.rdbuf()))) {
    throw Error("topology", "cannot read '" + path + "'");
  }
  const std::string text = whole.str();
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  try {
    std::istringstream lines(text);
    if (first == std::string::npos || text[first] != '<') return read_topology_text(lines);
    if (text.find("<topology") == std::string::npos) return read_nccl_topology(lines);
    ProcessorSource source;
    source.xml_path = path;
    return topology_of_processors(read_processors(source));
  } catch (const Error& error) {
    throw Error("topology", "'" + path + "': " + std::string(without_tag(error.what())));
  }
}

Topology topology_of_processors(const ProcessorLayout& processors) {
  constexpr std::int64_t kBetweenNodes = 4;
  Topology topology;
  std::vector<Processor> cores;  // the first thread of each
  for (const Processor& each : processors.processors) {
    if (each.core < topology.num_places()) continue;
    if (topology.num_places() == kMostTasks) {
      throw Error("topology", "more than " + std::to_string(kMostTasks) + " cores");
    }
    const std::string core = std::to_string(each.core);
    topology.places.push_back({.name = "core " + core, .slot = core});
    cores.push_back(each);
  }
  // Where the system tells of no caches, all nodes have the number of one.
  std::map<std::pair<int, int>, int> caches;
  for (const Processor& each : cores) caches[{each.node, each.cache}] = -1;
  const int nodes = topology.num_places();
  topology.num_switches = processors.num_nodes;
  const bool many_nodes = processors.num_nodes > 1, many_caches = caches.size() > 1;
  for (std::size_t core = 0; core < cores.size(); ++core) {
    int& cache = caches[{cores[core].node, cores[core].cache}];
    if (cache < 0) {
      cache = topology.add_switch();
      topology.links.push_back({cache, nodes + cores[core].node, 1, !many_nodes && many_caches});
    }
    topology.links.push_back({static_cast<int>(core), cache, 1, !many_nodes && !many_caches});
  }
  for (int node = 0; node < processors.num_nodes; ++node) {
    for (int other = 0; other < node; ++other) {
      topology.links.push_back({nodes + other, nodes + node, kBetweenNodes, true});
    }
  }
  return topology;
}

}  // namespace tandem::planner
