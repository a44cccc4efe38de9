// SPDX-License-Identifier: Apache-2.0
//
// One matrix stands for all of a layer: the product's time grows with the matrix.
#include "apps/compute_split.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "apps/memory_plan.h"
#include "common/available_memory.h"
#include "common/error.h"
#include "device/compute_unit.h"
#include "tensor/quantize.h"

namespace tandem::apps {
namespace {

constexpr int kPromptRows = 64;
constexpr std::int64_t kMostProbeBytes = std::int64_t{64} << 20;
// As a float of 16 or 32 bits a small number; as a code of any type a common one.
constexpr std::byte kProbeByte{0x2c};

double per_layer(const model::ModelConfig& config, double num_experts) {
  const double q = static_cast<double>(config.q_heads) * config.head_dim;
  const double kv = static_cast<double>(config.kv_heads) * config.head_dim;
  const double width = config.width;
  const double dense = width * (2 * q + 2 * kv);
  if (config.experts.count == 0) return dense + 3 * width * config.ffn_width;
  return dense + 3 * width * config.experts.ffn_width * num_experts;
}

double table_parameters(const model::ModelConfig& config) {
  return static_cast<double>(config.vocab_size) * config.width;
}

// The type of most matrices; f16 where its blocks do not fit the rows of the probe.
DType probe_type(const model::ModelConfig& config, const std::string& quantize) {
  const std::string& name = quantize == "none" ? config.quantization : quantize;
  DType type = DType::kF16;
  if (name == "f32") type = DType::kF32;
  if (name == "bf16") type = DType::kBF16;
  for (const DType each : quantizable_types()) {
    if (name == dtype_name(each)) type = each;
  }
  return config.width % dtype_block_values(type) == 0 ? type : DType::kF16;
}

class ProductProbe {
 public:
  ProductProbe(device::Device& device, const model::ModelConfig& config, DType type)
      : id_(device.info().id), unit_(device.make_compute_unit()), width_(config.width) {
    const std::size_t row_bytes = dtype_row_bytes(type, static_cast<std::size_t>(width_));
    const auto most = kMostProbeBytes / static_cast<std::int64_t>(row_bytes);
    const auto layer = std::llround(per_layer(config, config.experts.used) / config.width);
    outputs_ = std::clamp<std::int64_t>(layer, 1, std::max<std::int64_t>(1, most));
    data_.assign(static_cast<std::size_t>(outputs_) * row_bytes, kProbeByte);
    weight_ = unit_->load({.dtype = type,
                           .out_features = outputs_,
                           .in_features = width_,
                           .data = data_.data(),
                           .layer = 0});
    x_ = unit_->allocate(static_cast<std::size_t>(kPromptRows * width_) * sizeof(float),
                         device::MemoryKind::kDevice);
    y_ = unit_->allocate(static_cast<std::size_t>(kPromptRows * outputs_) * sizeof(float),
                         device::MemoryKind::kDevice);
    zero_input();
  }

  double parameters() const { return static_cast<double>(outputs_) * static_cast<double>(width_); }

  // The least of some products with so many rows.
  double seconds(int rows) {
    constexpr int kRepetitions = 4;
    double least = 0;
    for (int i = 0; i < kRepetitions; ++i) {
      const double each = one(rows);
      least = i == 0 ? each : std::min(least, each);
    }
    return least;
  }

 private:
  void zero_input() {
    const auto host = unit_->allocate(x_->size_bytes(), device::MemoryKind::kHost);
    std::ranges::fill(host->host(), std::byte{0});
    unit_->enqueue(device::CopyOp{x_->size_bytes(), {host.get(), 0}, {x_.get(), 0}});
    finish();
  }
  void finish() {
    constexpr auto kTimeout = std::chrono::minutes(2);
    if (unit_->wait(unit_->record(), Deadline::after(kTimeout)) == device::WaitResult::kDone) {
      return;
    }
    throw Error("compute", id_ + " gave no answer while products were measured");
  }
  double one(int rows) {
    const device::LinearTarget target{.weight = weight_.get(), .out = {y_.get(), 0}};
    const auto begin = std::chrono::steady_clock::now();
    unit_->enqueue(device::LinearOp{.rows = rows, .x = {x_.get(), 0}, .targets = {&target, 1}});
    finish();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  const std::string id_;
  const std::unique_ptr<device::ComputeUnit> unit_;
  const std::int64_t width_;
  std::int64_t outputs_ = 1;
  std::vector<std::byte> data_;
  std::unique_ptr<device::Weight> weight_;
  std::unique_ptr<device::Buffer> x_, y_;
};

bool can_divide(const std::vector<ComputeDevice>& devices, const model::ModelConfig& config) {
  const auto kind_of = [](const std::string& id) { return id.substr(0, id.find(':')); };
  const auto ids = ids_of(devices);
  for (const std::string& id : ids) {
    if (kind_of(id) != kind_of(ids.front())) return false;
  }
  return is_divisible(static_cast<int>(ids.size()), config);
}

// What each device may use: the limit that the user gave, or what it has. Devices in host memory
// divide what is left of it.
std::vector<planner::SplitDevice> measured_devices(const std::vector<ComputeDevice>& devices,
                                                   const model::ModelConfig& config,
                                                   const SplitNeeds& needs,
                                                   const device::DeviceOptions& options) {
  const device::DeviceOptions part = device::part_options(ids_of(devices), options);
  std::vector<planner::SplitDevice> measured;
  std::vector<std::size_t> sharing;
  for (const ComputeDevice& named : devices) {
    const auto device = device::open_device(named.id, part);
    const device::DeviceInfo& info = device->info();
    planner::SplitDevice& each = measured.emplace_back();
    each.cost = measured_products(*device, config, needs.quantize);
    each.cost.id = named.id;
    each.computes_apart = info.link_bandwidth_bytes_per_s > 0;
    if (each.computes_apart) {
      each.cost.to_device = each.cost.from_device = {info.link_latency_us * 1e-6 / 2,
                                                     info.link_bandwidth_bytes_per_s};
    }
    each.memory_bytes = static_cast<std::int64_t>(
        named.memory_bytes > 0 ? named.memory_bytes : info.memory_bytes / 16 * 15);
    if (named.memory_bytes == 0 && !each.computes_apart) sharing.push_back(measured.size() - 1);
  }
  const std::uint64_t left = available_memory().left_bytes / 8 * 7;
  for (const std::size_t index : sharing) {
    measured[index].memory_bytes =
        std::min(measured[index].memory_bytes, static_cast<std::int64_t>(left / sharing.size()));
  }
  return measured;
}

}  // namespace

planner::SplitModel split_model(const model::ModelConfig& config, const SplitNeeds& needs) {
  const double parameters = std::max<double>(1, static_cast<double>(config.parameters));
  double bytes = static_cast<double>(config.weight_bytes);
  if (needs.quantize == "f32") {
    bytes = std::max(bytes, parameters * sizeof(float));
  } else if (needs.quantize != "none") {
    bytes = static_cast<double>(least_weight_bytes(config, needs.quantize));
  }
  const double layers = std::max(config.num_layers, 1);
  const double table = table_parameters(config);
  const double rest = parameters - layers * per_layer(config, config.experts.count);
  const bool has_output = rest > 1.5 * table;
  const double table_bytes = table * bytes / parameters;
  const double in_layers = std::max(0.0, bytes - (has_output ? 2 : 1) * table_bytes);
  planner::SplitModel model;
  model.num_layers = config.num_layers;
  // Units pack weights in their own order: at most a 16th more.
  model.layer_bytes =
      std::llround(in_layers / layers * 17 / 16) + static_cast<std::int64_t>(needs.kv_layer_bytes);
  model.embedding_bytes = std::llround(table_bytes);
  model.output_bytes = has_output ? model.embedding_bytes : 0;
  model.fixed_bytes = static_cast<std::int64_t>(needs.activation_bytes);
  model.row_bytes = static_cast<std::int64_t>(config.width * sizeof(float));
  model.output_share = table / (table + layers * per_layer(config, config.experts.used));
  return model;
}

planner::DeviceCost measured_products(device::Device& device, const model::ModelConfig& config,
                                      const std::string& quantize) {
  if (!device.info().makes_compute) {
    throw Error("compute", device.info().id + " does not compute dense layers");
  }
  ProductProbe probe(device, config, probe_type(config, quantize));
  const double used =
      config.num_layers * per_layer(config, config.experts.used) + table_parameters(config);
  const double whole = used / probe.parameters();
  const double row = probe.seconds(1) * whole;
  planner::DeviceCost cost;
  cost.id = device.info().id;
  cost.dense_by_rows =
      planner::Curve({{1, row}, {kPromptRows, std::max(row, probe.seconds(kPromptRows) * whole)}});
  return cost;
}

std::string plan_text(const planner::SplitPlan& plan,
                      const std::vector<planner::SplitDevice>& devices) {
  std::string text;
  std::vector<bool> is_used(devices.size());
  for (std::size_t at = 0; at < plan.devices.size(); ++at) {
    const auto index = static_cast<std::size_t>(plan.devices[at]);
    is_used[index] = true;
    text += (at == 0 ? "" : ", ") + devices[index].cost.id;
    if (plan.by_layers) text += fmt::format(" has {} layers", plan.layers_per_device[at]);
  }
  if (!plan.by_layers) text += " have a part of every matrix";
  for (std::size_t index = 0; index < devices.size(); ++index) {
    if (!is_used[index]) text += fmt::format(", {} none", devices[index].cost.id);
  }
  text += fmt::format(": {:.3g} ms for 64 tokens of a prompt and 64 steps", plan.seconds * 1e3);
  text += fmt::format(" (layers in equal shares {:.3g} ms", plan.equal_seconds * 1e3);
  if (plan.matrix_seconds > 0)
    text += fmt::format(", matrices {:.3g} ms", plan.matrix_seconds * 1e3);
  return text + ")";
}

std::unique_ptr<device::Device> open_planned(const std::vector<ComputeDevice>& devices,
                                             const model::ModelConfig& config,
                                             const SplitNeeds& needs,
                                             const device::DeviceOptions& options) {
  planner::SplitModel model = split_model(config, needs);
  model.divides = can_divide(devices, config);
  const std::vector<planner::SplitDevice> measured =
      measured_devices(devices, config, needs, options);
  const planner::SplitPlan plan = planner::plan_split(model, measured, {64, kPromptRows});
  if (options.note) options.note("split auto: " + plan_text(plan, measured));
  std::vector<std::string> ids;
  for (const int index : plan.devices) ids.push_back(devices[static_cast<std::size_t>(index)].id);
  if (ids.size() == 1) return device::open_device(ids.front(), options);
  device::GroupOptions group;
  group.split = plan.by_layers ? device::GroupSplit::kLayers : device::GroupSplit::kTensor;
  group.num_layers = config.num_layers;
  group.layers_per_device = plan.layers_per_device;
  return device::open_group(ids, group, options);
}

}  // namespace tandem::apps
