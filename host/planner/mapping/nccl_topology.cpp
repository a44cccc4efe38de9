// SPDX-License-Identifier: Apache-2.0
//
// GPUs, PCI bridges and CPUs of NCCL's XML. Elements that carry no GPU are switches without effect.
#include <algorithm>
#include <iterator>
#include <map>
#include <pugixml.hpp>
#include <string>

#include "common/error.h"
#include "common/number.h"
#include "planner/mapping/quadratic_assignment.h"
#include "planner/mapping/topology_file.h"

namespace tandem::planner {
namespace {

constexpr std::int64_t kSingleNvlinkCost = 12, kPciCost = 24, kBetweenCpusCost = 48;
constexpr int kMostDepth = 64;

[[noreturn]] void refuse_nccl(const std::string& what) {
  throw Error("topology", "NCCL's topology: " + what);
}

class NcclGraph {
 public:
  Topology topology(const pugi::xml_node& system) {
    find_gpus(system, 0);
    std::vector<int> cpus;
    for (const pugi::xml_node& cpu : system.children("cpu")) {
      const int vertex = topology_.add_switch();
      for (const int other : cpus) topology_.links.push_back({other, vertex, kBetweenCpusCost});
      cpus.push_back(vertex);
      add_children(cpu, vertex);
    }
    for (const auto& [busid, gpu] : gpus_) add_nvlinks(busid, gpu);
    for (TopologyLink& link : topology_.links) link.is_slow = link.cost == kBetweenCpusCost;
    if (cpus.size() == 1) topology_.mark_slowest();
    return topology_;
  }

 private:
  // Places come first, in the order of their device numbers.
  void find_gpus(const pugi::xml_node& system, int depth) {
    std::map<int, std::pair<std::string, pugi::xml_node>> by_number;
    collect(system, depth, by_number);
    for (const auto& [number, gpu] : by_number) {
      if (topology_.num_places() == kMostTasks) refuse_nccl("too many GPUs");
      const int place = topology_.num_places();
      if (!gpus_.try_emplace(gpu.first, place).second) {
        refuse_nccl("two GPUs have the bus number '" + gpu.first + "'");
      }
      nodes_.push_back(gpu.second);
      topology_.places.push_back({.name = "gpu " + std::to_string(number), .slot = ""});
    }
    if (gpus_.empty()) refuse_nccl("it has no <gpu>");
  }

  void collect(const pugi::xml_node& parent, int depth,
               std::map<int, std::pair<std::string, pugi::xml_node>>& by_number) {
    if (depth > kMostDepth) refuse_nccl("elements are nested too deeply");
    for (const pugi::xml_node& child : parent.children()) {
      if (std::string_view(child.name()) == "gpu") {
        const std::string word = child.attribute("dev").value();
        const auto number = number_of<int>(word);
        if (!number || *number < 0) refuse_nccl("a <gpu> has the dev '" + word + "'");
        const std::string busid = parent.attribute("busid").value();
        if (busid.empty()) refuse_nccl("the <pci> of gpu " + word + " has no busid");
        if (!by_number.try_emplace(*number, busid, child).second) {
          refuse_nccl("two GPUs have the dev " + word);
        }
      } else {
        collect(child, depth + 1, by_number);
      }
    }
  }

  // A <pci> with a GPU is the GPU; another is a bridge.
  void add_children(const pugi::xml_node& parent, int vertex) {
    for (const pugi::xml_node& pci : parent.children("pci")) {
      const auto gpu = gpus_.find(pci.attribute("busid").value());
      const int below = gpu == gpus_.end() ? topology_.add_switch() : gpu->second;
      topology_.links.push_back({vertex, below, kPciCost});
      add_children(pci, below);
    }
  }

  void add_nvlinks(const std::string& busid, int gpu) {
    for (const pugi::xml_node& link : nodes_[static_cast<std::size_t>(gpu)].children("nvlink")) {
      const std::string word = link.attribute("count").value();
      const auto count = number_of<int>(word);
      if (!count || *count < 1) refuse_nccl("an <nvlink> of '" + busid + "' counts '" + word + "'");
      const std::int64_t cost = std::max<std::int64_t>(1, kSingleNvlinkCost / *count);
      const std::string target = link.attribute("target").value();
      const std::string_view kind = link.attribute("tclass").value();
      if (const auto peer = gpus_.find(target); peer != gpus_.end()) {
        topology_.links.push_back({gpu, peer->second, cost});
      } else if (kind.starts_with("0x0680")) {  // all NVSwitches act as one
        if (nvswitch_ < 0) nvswitch_ = topology_.add_switch();
        topology_.links.push_back({gpu, nvswitch_, cost});
      } else {
        refuse_nccl("an <nvlink> of '" + busid + "' leads to '" + target + "', which is not a GPU");
      }
    }
  }

  Topology topology_;
  std::map<std::string, int> gpus_;    // by bus number: the place
  std::vector<pugi::xml_node> nodes_;  // [places] <gpu>
  int nvswitch_ = -1;
};

}  // namespace

Topology read_nccl_topology(std::istream& in) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load(in);
  if (!parsed) {
    throw Error("topology", "the XML is malformed at byte " + std::to_string(parsed.offset) + ": " +
                                parsed.description());
  }
  const pugi::xml_node system = document.child("system");
  if (!system) {
    refuse_nccl("the first element is neither <system> (NCCL) nor <topology> (lstopo)");
  }
  return NcclGraph().topology(system);
}

}  // namespace tandem::planner
