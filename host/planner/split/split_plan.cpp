// SPDX-License-Identifier: Apache-2.0
//
// The placement of the chain gives numbers of layers; moves of single layers end the search.
#include "planner/split/split_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "common/error.h"
#include "planner/partition/place_graph.h"

namespace tandem::planner {
namespace {

constexpr double kPicoseconds = 1e12;
constexpr double kCopyBandwidth = 10e9;  // assumed between devices in host memory
// Orders of so many devices are all tried; more keep the order in which they were named.
constexpr std::size_t kMostOrdered = 6;

std::int64_t picoseconds(double seconds) {
  return std::max<std::int64_t>(1, std::llround(seconds * kPicoseconds));
}

// A number of layers per device, in an order.
struct Shares {
  std::vector<int> order;   // devices; those without layers are left out when a plan is made
  std::vector<int> layers;  // [num_devices]
};

class SplitSearch {
 public:
  SplitSearch(const SplitModel& model, const std::vector<SplitDevice>& devices,
              const SplitLoad& load)
      : model_(model), devices_(devices), load_(load) {
    double to_latency = 0, from_latency = 0;
    double bandwidth = 0;
    for (const SplitDevice& device : devices) {
      to_latency = std::max(to_latency, device.cost.to_device.latency_s);
      from_latency = std::max(from_latency, device.cost.from_device.latency_s);
      for (const LinkCost* link : {&device.cost.to_device, &device.cost.from_device}) {
        if (link->bytes_per_s <= 0) continue;
        bandwidth = bandwidth > 0 ? std::min(bandwidth, link->bytes_per_s) : link->bytes_per_s;
      }
    }
    latency_s_ = to_latency + from_latency;
    bandwidth_ = bandwidth > 0 ? bandwidth : kCopyBandwidth;
  }

  std::size_t num_devices() const { return devices_.size(); }
  int num_steps() const { return load_.answers + 1; }
  // The dense time of the load on one device.
  double dense_s(std::size_t device) const {
    const DeviceCost& cost = devices_[device].cost;
    return load_.answers * cost.dense_s(1) + cost.dense_s(load_.prompt);
  }
  double layer_s(std::size_t device) const {
    return dense_s(device) * (1 - model_.output_share) / model_.num_layers;
  }
  double output_s(std::size_t device) const { return dense_s(device) * model_.output_share; }
  std::int64_t load_bytes() const { return model_.row_bytes * (load_.answers + load_.prompt); }
  // All rows of the load once between two devices.
  double border_s() const {
    return latency_s_ * num_steps() + static_cast<double>(load_bytes()) / bandwidth_;
  }
  std::int64_t room(std::size_t device) const {
    return devices_[device].memory_bytes - model_.fixed_bytes;
  }
  std::int64_t model_bytes() const {
    return model_.layer_bytes * model_.num_layers + model_.embedding_bytes + model_.output_bytes;
  }

  double seconds(const Shares& shares) const;
  std::int64_t overflow(const Shares& shares) const;  // bytes beyond the devices' memories
  std::vector<Shares> starts() const;
  Shares improve(Shares shares) const;
  double matrix_seconds() const;

 private:
  std::optional<Shares> placed() const;
  Shares filled() const;
  Shares ordered(std::vector<int> layers) const;
  std::vector<int> used(const Shares& shares) const;
  OperatorGraph chain() const;

  const SplitModel& model_;
  const std::vector<SplitDevice>& devices_;
  const SplitLoad& load_;
  double latency_s_ = 0, bandwidth_ = 0;
};

std::vector<int> SplitSearch::used(const Shares& shares) const {
  std::vector<int> used;
  for (const int device : shares.order) {
    if (shares.layers[static_cast<std::size_t>(device)] > 0) used.push_back(device);
  }
  return used;
}

double SplitSearch::seconds(const Shares& shares) const {
  const std::vector<int> used = this->used(shares);
  double sum = border_s() * static_cast<double>(used.size() - 1);
  for (const int device : used) {
    const auto index = static_cast<std::size_t>(device);
    sum += layer_s(index) * shares.layers[index];
  }
  const bool returns = model_.output_bytes == 0 && used.size() > 1;  // to the embedding
  const int last = model_.output_bytes == 0 ? used.front() : used.back();
  return sum + output_s(static_cast<std::size_t>(last)) + (returns ? border_s() : 0);
}

std::int64_t SplitSearch::overflow(const Shares& shares) const {
  const std::vector<int> used = this->used(shares);
  std::int64_t sum = 0;
  for (const int device : used) {
    const auto index = static_cast<std::size_t>(device);
    std::int64_t bytes = model_.layer_bytes * shares.layers[index];
    if (device == used.front()) bytes += model_.embedding_bytes;
    if (device == used.back()) bytes += model_.output_bytes;
    sum += std::max<std::int64_t>(0, bytes - room(index));
  }
  return sum;
}

// The best order for these numbers.
Shares SplitSearch::ordered(std::vector<int> layers) const {
  Shares shares{std::vector<int>(num_devices()), std::move(layers)};
  std::iota(shares.order.begin(), shares.order.end(), 0);
  if (num_devices() > kMostOrdered) return shares;
  const auto value = [this](const Shares& each) {
    return std::pair(overflow(each), seconds(each));
  };
  Shares best = shares;
  while (std::next_permutation(shares.order.begin(), shares.order.end())) {
    if (value(shares) < value(best)) best.order = shares.order;
  }
  return best;
}

// The output projection on the embedding's device is a node of its own there.
OperatorGraph SplitSearch::chain() const {
  const bool is_tied = model_.output_bytes == 0;
  std::vector<OperatorNode> nodes;
  std::vector<OperatorEdge> edges;
  const auto add = [&](const std::string& name, std::int64_t bytes) -> OperatorNode& {
    if (!nodes.empty()) {
      const int last = static_cast<int>(nodes.size()) - 1;
      edges.push_back({.from = last, .to = last + 1});
    }
    OperatorNode& node = nodes.emplace_back();
    node.name = name;
    node.resident_bytes = bytes;
    node.output_bytes = load_bytes();
    return node;
  };
  for (int layer = 0; layer < model_.num_layers; ++layer) {
    const bool is_last = layer + 1 == model_.num_layers;
    OperatorNode& node = add("layer " + std::to_string(layer),
                             model_.layer_bytes + (layer == 0 ? model_.embedding_bytes : 0) +
                                 (is_last ? model_.output_bytes : 0));
    for (std::size_t device = 0; device < num_devices(); ++device) {
      const double output = is_last && !is_tied ? output_s(device) : 0;
      node.kind_ps.push_back(picoseconds(layer_s(device) + output));
    }
  }
  if (!is_tied) return OperatorGraph(std::move(nodes), std::move(edges));
  OperatorNode& node = add("output", 0);
  for (std::size_t device = 0; device < num_devices(); ++device) {
    node.kind_ps.push_back(picoseconds(output_s(device)));
  }
  node.group = "table";
  nodes.front().group = "table";
  return OperatorGraph(std::move(nodes), std::move(edges));
}

std::optional<Shares> SplitSearch::placed() const {
  DeviceLinks links;
  links.num_devices = static_cast<int>(num_devices());
  links.latency_ps = picoseconds(latency_s_ * num_steps());
  links.bytes_per_us = bandwidth_ * 1e-6;
  for (std::size_t device = 0; device < num_devices(); ++device) {
    links.kinds.push_back(static_cast<int>(device));
    // The rows between layers are among the fixed bytes already.
    links.memories.push_back(std::max<std::int64_t>(0, room(device)) + 4 * load_bytes());
  }
  std::vector<int> layers(num_devices());
  try {
    const PlacedGraph placed = place_graph(chain(), links, PlaceMethod::kAuto);
    for (int layer = 0; layer < model_.num_layers; ++layer) {
      ++layers[static_cast<std::size_t>(placed.placement[static_cast<std::size_t>(layer)])];
    }
  } catch (const Error&) {
    return std::nullopt;  // found() says what does not fit
  }
  return ordered(std::move(layers));
}

// The fastest devices are filled first; what fits nowhere goes to the last.
Shares SplitSearch::filled() const {
  std::vector<std::size_t> by_speed(num_devices());
  std::iota(by_speed.begin(), by_speed.end(), std::size_t{0});
  std::ranges::stable_sort(by_speed, {}, [this](std::size_t device) { return dense_s(device); });
  std::vector<int> layers(num_devices());
  int left = model_.num_layers;
  for (const std::size_t device : by_speed) {
    const std::int64_t bytes = std::max<std::int64_t>(1, model_.layer_bytes);
    const auto fit = static_cast<int>(std::clamp<std::int64_t>(room(device) / bytes, 0, left));
    layers[device] = fit;
    left -= fit;
  }
  layers[by_speed.back()] += left;
  return ordered(std::move(layers));
}

std::vector<Shares> SplitSearch::starts() const {
  std::vector<Shares> starts = {filled()};
  if (auto shares = placed()) starts.push_back(std::move(*shares));
  return starts;
}

// Moves one layer from a device to another, as long as that helps.
Shares SplitSearch::improve(Shares shares) const {
  const auto value = [this](const Shares& each) {
    return std::pair(overflow(each), seconds(each));
  };
  for (bool found = true; found;) {
    found = false;
    Shares best = shares;
    for (std::size_t from = 0; from < num_devices(); ++from) {
      for (std::size_t to = 0; to < num_devices() && shares.layers[from] > 0; ++to) {
        if (from == to) continue;
        for (const int count : {1, shares.layers[from]}) {
          std::vector<int> layers = shares.layers;
          layers[from] -= count;
          layers[to] += count;
          Shares moved = ordered(std::move(layers));
          if (value(moved) < value(best)) best = std::move(moved);
        }
      }
    }
    found = value(best) < value(shares);
    shares = std::move(best);
  }
  return shares;
}

double SplitSearch::matrix_seconds() const {
  if (!model_.divides || num_devices() < 2) return 0;
  const auto count = static_cast<double>(num_devices());
  double apart = 0, inside_calls = 0;
  for (std::size_t device = 0; device < num_devices(); ++device) {
    if (static_cast<double>(model_bytes()) / count > static_cast<double>(room(device))) return 0;
    double& sum = devices_[device].computes_apart ? apart : inside_calls;
    sum = devices_[device].computes_apart ? std::max(sum, dense_s(device)) : sum + dense_s(device);
  }
  // Two sums per layer, each there and back.
  return std::max(apart, inside_calls) / count + 2 * 2 * model_.num_layers * border_s();
}

SplitPlan plan_of(const SplitSearch& search, const Shares& shares) {
  SplitPlan plan;
  for (const int device : shares.order) {
    const int layers = shares.layers[static_cast<std::size_t>(device)];
    if (layers == 0) continue;
    plan.devices.push_back(device);
    plan.layers_per_device.push_back(layers);
  }
  plan.seconds = search.seconds(shares);
  return plan;
}

std::string mebibytes(std::int64_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

[[noreturn]] void refuse_memory(const SplitModel& model, const std::vector<SplitDevice>& devices,
                                std::int64_t overflow) {
  std::string memories;
  for (const SplitDevice& device : devices) {
    memories += (memories.empty() ? "" : ", ") + device.cost.id + " has " +
                mebibytes(std::max<std::int64_t>(0, device.memory_bytes));
  }
  throw Error("compute",
              "--split auto: the model does not fit: " + mebibytes(overflow) +
                  " of it have no device (a layer takes " + mebibytes(model.layer_bytes) +
                  ", embedding and output " +
                  mebibytes(model.embedding_bytes + model.output_bytes) + ", activations " +
                  mebibytes(model.fixed_bytes) + " on each device; " + memories +
                  "); name more devices, or use smaller --max-step-tokens, --context or weights");
}

}  // namespace

double split_seconds(const SplitModel& model, const std::vector<SplitDevice>& devices,
                     const SplitLoad& load, const SplitPlan& plan) {
  const SplitSearch search(model, devices, load);
  if (!plan.by_layers) return search.matrix_seconds();
  Shares shares{plan.devices, std::vector<int>(devices.size())};
  for (std::size_t at = 0; at < plan.devices.size(); ++at) {
    shares.layers[static_cast<std::size_t>(plan.devices[at])] = plan.layers_per_device[at];
  }
  return search.seconds(shares);
}

SplitPlan plan_split(const SplitModel& model, const std::vector<SplitDevice>& devices,
                     const SplitLoad& load) {
  if (devices.empty() || model.num_layers < 1) {
    throw Error("compute", "--split auto needs devices, and a model with layers");
  }
  const SplitSearch search(model, devices, load);
  std::optional<Shares> best;
  for (Shares& start : search.starts()) {
    Shares shares = search.improve(std::move(start));
    const auto value = [&](const Shares& each) {
      return std::pair(search.overflow(each), search.seconds(each));
    };
    if (!best || value(shares) < value(*best)) best = std::move(shares);
  }
  const std::int64_t overflow = search.overflow(*best);
  const double matrices = search.matrix_seconds();
  if (overflow > 0 && matrices == 0) refuse_memory(model, devices, overflow);
  SplitPlan plan = plan_of(search, *best);
  plan.matrix_seconds = matrices;
  Shares equal{{}, std::vector<int>(devices.size())};
  const auto count = static_cast<int>(devices.size());
  for (int device = 0; device < count; ++device) {
    equal.order.push_back(device);
    equal.layers[static_cast<std::size_t>(device)] =
        model.num_layers * (device + 1) / count - model.num_layers * device / count;
  }
  plan.equal_seconds = search.seconds(equal);
  if (matrices == 0 || (overflow == 0 && plan.seconds <= matrices)) return plan;
  plan.by_layers = false;
  plan.devices = equal.order;
  plan.layers_per_device.clear();
  plan.seconds = matrices;
  return plan;
}

}  // namespace tandem::planner
