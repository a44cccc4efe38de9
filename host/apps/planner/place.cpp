// SPDX-License-Identifier: Apache-2.0
//
// `tandem place`: a device for every operator of a graph.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "apps/command_words.h"
#include "apps/json_text.h"
#include "apps/planner/command.h"
#include "apps/planner/place_onnx.h"
#include "apps/planner/planner_files.h"
#include "common/error.h"
#include "common/number.h"
#include "planner/graph/device_list.h"
#include "planner/graph/graph_files.h"
#include "planner/graph/schedule_picture.h"
#include "planner/partition/levels.h"
#include "planner/partition/place_graph.h"

namespace tandem::apps {
namespace {

using nlohmann::json;

struct PlaceOptions {
  std::string format, path, method = "auto", devices, svg, dot;
  double latency_us = 25, bandwidth_gbps = 140;
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();
  OnnxFileOptions onnx;
  bool as_json = false;
};

std::int64_t bytes_of(const std::string& text) {
  std::string bytes = text;
  const std::string error = size_value()(bytes);
  const auto number = number_of<std::int64_t>(bytes);
  if (!error.empty()) throw Error("place", "--devices: " + error);
  if (!number) throw Error("place", "--devices: '" + text + "' is too large");
  return *number;
}

planner::OperatorGraph read_graph(const PlaceOptions& options,
                                  const std::vector<std::string>& kinds) {
  if (options.format != "onnx") refuse_onnx_options(options.onnx);
  if (options.format == "json") {
    return read_named("place", options.path,
                      [&](std::istream& file) { return planner::read_graph_json(file, kinds); });
  }
  if (options.format == "onnx") {
    return read_onnx_file(options.path, kinds, options.onnx);
  }
  if (kinds.size() > 1) {
    throw Error("place",
                "a triple has one time per node: give --devices as a number, or --format "
                "json with times by kind");
  }
  planner::TripleGraph triple = planner::read_graph_triple(options.path);
  if (triple.num_without_size > 0) {
    spdlog::warn("{} nodes with consumers have no line in sizes.txt: their outputs count 0 bytes",
                 triple.num_without_size);
  }
  return std::move(triple.graph);
}

planner::DeviceLinks links_of(const PlaceOptions& options, const planner::DeviceList& devices) {
  planner::DeviceLinks links;
  links.num_devices = devices.num_devices;
  links.kinds = devices.kind_of;
  links.memories = devices.memories;
  links.latency_ps = std::llround(options.latency_us * planner::kPicosecondsPerMicrosecond);
  links.bytes_per_us = options.bandwidth_gbps * 1000;
  links.memory_bytes = options.memory;
  return links;
}

json members_json(const planner::PlacedGraph& placed) {
  json members = json::object();
  for (const auto& [name, makespan_ps] : placed.members) {
    members[name] = makespan_ps ? us_json(*makespan_ps) : json();
  }
  return members;
}

json place_json(const planner::OperatorGraph& graph, const planner::PlacedGraph& placed) {
  json placement = json::object();
  for (int node = 0; node < graph.num_nodes(); ++node) {
    placement[graph.node(node).name] = placed.placement[static_cast<std::size_t>(node)];
  }
  return {{"makespan_us", us_json(placed.makespan_ps)},
          {"peak_bytes", placed.peak_bytes},
          {"placement", std::move(placement)},
          {"method", placed.method},
          {"members_us", members_json(placed)},
          {"num_nodes", graph.num_nodes()},
          {"num_edges", graph.num_edges()},
          {"work_us", us_json(graph.work_ps())},
          {"critical_path_us", us_json(planner::critical_path_ps(graph))}};
}

json devices_json(const planner::DeviceList& devices, std::int64_t memory) {
  json list = json::array();
  for (std::size_t i = 0; i < devices.kind_of.size(); ++i) {
    json device = {{"kind", devices.kinds[static_cast<std::size_t>(devices.kind_of[i])]}};
    const std::int64_t bytes = devices.memories.empty() ? memory : devices.memories[i];
    if (bytes != planner::kNoMemoryLimit) device["memory_bytes"] = bytes;
    list.push_back(std::move(device));
  }
  return list;
}

void print_placement(const planner::OperatorGraph& graph, const planner::DeviceLinks& links,
                     const planner::PlacedGraph& placed) {
  fmt::print("{} us by {}; work {} us, longest way {} us, {} nodes, {} edges\n",
             us_json(placed.makespan_ps).dump(), placed.method, us_json(graph.work_ps()).dump(),
             us_json(planner::critical_path_ps(graph)).dump(), graph.num_nodes(),
             graph.num_edges());
  std::vector<std::int64_t> nodes(placed.peak_bytes.size()), work_ps(placed.peak_bytes.size());
  for (int node = 0; node < graph.num_nodes(); ++node) {
    const int number = placed.placement[static_cast<std::size_t>(node)];
    const auto device = static_cast<std::size_t>(number);
    ++nodes[device];
    work_ps[device] += links.time_ps(graph, node, number);
  }
  fmt::print("{:<8} {:>10} {:>16} {:>16}\n", "device", "nodes", "us", "peak bytes");
  for (std::size_t device = 0; device < nodes.size(); ++device) {
    fmt::print("{:<8} {:>10} {:>16} {:>16}\n", device, nodes[device],
               us_json(work_ps[device]).dump(), placed.peak_bytes[device]);
  }
}

void run_place(const PlaceOptions& options) {
  const planner::DeviceList devices =
      planner::read_device_list(options.devices, options.memory, bytes_of);
  const planner::OperatorGraph graph = read_graph(options, devices.kinds);
  const planner::DeviceLinks links = links_of(options, devices);
  const planner::PlacedGraph placed =
      planner::place_graph(graph, links, planner::place_method_of(options.method));
  const planner::PictureOfPlacement picture{graph, links, devices.kinds, placed.placement};
  if (!options.svg.empty()) write_whole("place", options.svg, planner::schedule_svg(picture));
  if (!options.dot.empty()) write_whole("place", options.dot, planner::placement_dot(picture));
  if (options.as_json) {
    json result = place_json(graph, placed);
    if (!devices.kinds.empty()) result["devices"] = devices_json(devices, options.memory);
    fmt::print("{}\n", json_text(result));
  } else {
    print_placement(graph, links, placed);
  }
}

}  // namespace

void add_place(CLI::App& app) {
  CLI::App* command = app.add_subcommand("place", "Place the operators of a graph onto devices");
  auto options = std::make_shared<PlaceOptions>();
  PlaceOptions& o = *options;
  command->add_option("path", o.path, "the graph: a file, or with --format triple a folder")
      ->required();
  command
      ->add_option(
          "--format", o.format,
          "form of the graph; triple: a folder with graph.dot, durations.txt and sizes.txt")
      ->required()
      ->check(CLI::IsMember({"json", "triple", "onnx"}));
  command
      ->add_option(
          "--devices", o.devices,
          "how many equal devices, or kinds with their memory, such as 2xgpu=16GiB,cpu=64GiB; "
          "every device is linked to every other one")
      ->required();
  command->add_option("--latency-us", o.latency_us, "latency of a link, in microseconds")
      ->check(in_range(0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--bandwidth-gbps", o.bandwidth_gbps,
                   "bandwidth of a link, in gigabytes per second")
      ->check(in_range(1e-3, 1e6))
      ->capture_default_str();
  command
      ->add_option("--memory", o.memory,
                   "memory of each device for which --devices states none, such as 16GiB")
      ->transform(size_value())
      ->default_str("no limit");
  command
      ->add_option(
          "--method", o.method,
          "auto: tries all and takes the best; pardnn, metis, scotch: partitions of the graph; "
          "etf: "
          "each operator goes where it starts earliest; msct: as etf, but some consumers stay with "
          "their producer (chosen by a linear program); chain: the optimum for a chain of "
          "operators")
      ->check(CLI::IsMember({"auto", "pardnn", "metis", "scotch", "etf", "msct", "chain"}))
      ->capture_default_str();
  command->add_option("--svg", o.svg,
                      "write a picture of the timeline of devices and links to this file");
  command->add_option("--dot", o.dot, "write the placed graph to this file, for Graphviz");
  command->add_flag("--json", o.as_json, "print JSON");
  add_onnx_options(*command, o.onnx);
  command->callback([options] { run_place(*options); });
}

}  // namespace tandem::apps
