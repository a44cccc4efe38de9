// SPDX-License-Identifier: Apache-2.0
//
// Assembles model, devices and engine; see runtime.h.
#include "apps/runtime.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "apps/attention_choice.h"
#include "apps/backend_options.h"
#include "apps/compute_choice.h"
#include "apps/emulated_cards.h"
#include "apps/idle_options.h"
#include "apps/load_messages.h"
#include "apps/memory_plan.h"
#include "common/available_memory.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr int kPageTokens = 16;
constexpr std::uint64_t kLeastPages = 8;  // for one short request
constexpr std::uint64_t kUsualParkingBytes = 512ull << 20;
constexpr const char* kDemoModel = "models/tandem-stories-q8_0.gguf";

// Whether the device works in host memory, like the CPU: it takes host memory and needs no
// fallback.
bool works_in_host_memory(const device::DeviceInfo& info) {
  return info.link_bandwidth_bytes_per_s == 0;
}

// The model's files are mapped, so a timeline must not be written to one of them.
void require_not_of_model(const std::string& trace_file, const std::string& model_path) {
  std::error_code none;  // a path that does not exist is another file
  bool is_part = fs::equivalent(trace_file, model_path, none);
  if (fs::is_directory(model_path, none)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(model_path, none)) {
      is_part |= fs::equivalent(trace_file, entry.path(), none);
    }
  }
  if (!is_part) return;
  throw Error("trace", "--trace names '" + trace_file +
                           "', which belongs to the model; give the timeline another file");
}

}  // namespace

std::string shared_file(const std::string& name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path path = self.parent_path().parent_path() / "share" / "tandem" / name;
  return fs::exists(path, error) ? path.string() : std::string();
}

Assembly::Assembly(const RuntimeOptions& options) : options_(options) {
  model_path_ = options.model_path.empty() ? shared_file(kDemoModel) : options.model_path;
  if (model_path_.empty()) {
    throw Error("model",
                "the demo model is not installed; name a GGUF file or a directory with --model");
  }
  if (!options.trace_file.empty()) require_not_of_model(options.trace_file, model_path_);
  device_options_.num_threads = options.threads;
  device_options_.pin = pin_of(options.pin);
  device_options_.values = options.backend;
  device_options_.note = [](const std::string& line) { spdlog::info("{}", line); };
  device_options_.warn = [](const std::string& line) { spdlog::warn("{}", line); };
  if (!options.trace_file.empty()) device_options_.activity = activity_sink();
  check_limits(options.compute, options.split);
  provide_cards(named_devices(), device_options_.warn);
  require_devices();
  if (!options.trace_file.empty()) {
    timeline_ = std::make_unique<trace::Timeline>(options.trace_file);
    device_timeline_ = timeline_.get();
  }
  if (names_draft_model(options.draft)) draft_ = std::make_unique<DraftChoice>(options_);
  model_ = model::load_model(model_path_, load_progress(model_path_),
                             [this](const model::ModelConfig& config) { accept(config); });
  const model::ModelConfig& config = model_->config();
  spdlog::info(
      "model {}: {} {} layers, width {}, {} / {} heads of {}, {:.1f} M parameters, {:.1f} MiB",
      config.name, config.architecture, config.num_layers, config.width, config.q_heads,
      config.kv_heads, config.head_dim, static_cast<double>(config.parameters) / 1e6,
      static_cast<double>(config.weight_bytes) / (1 << 20));
  if (draft_) require_same_tokens(draft_->model().tokenizer(), model_->tokenizer(), options.draft);
}

std::vector<std::string> Assembly::named_devices() const {
  std::vector<std::string> ids = compute_ids(options_.compute);
  if (options_.attention == "auto") return ids;
  for (const ListedDevice& listed : listed_devices(options_.attention)) ids.push_back(listed.id);
  return ids;
}

// Refuses everything that cannot work with this model, before its weights are read.
void Assembly::accept(const model::ModelConfig& config) {
  config_ = &config;
  if (options_.context_length > config.context_length && !options_.clips_context) {
    throw Error("model", fmt::format("--context {} exceeds the model's {} tokens; leave it out or "
                                     "lower it",
                                     options_.context_length, config.context_length));
  }
  const std::vector<ListedDevice> attending = attention_devices();
  const UsedDevices used = used_devices(attending);
  host_units_ = used.num_attending - used.num_behind_link;
  HostDemand demand;
  if (!used.computes_apart) {
    demand.weights = least_weight_bytes(config, options_.quantize);
    demand.computing = compute_bytes(1);
  }
  const auto units = static_cast<std::uint64_t>(host_units_);
  const std::uint64_t page = kv_page_bytes(geometry());
  demand.kv_asked = units * std::min(options_.kv_bytes, max_pages() * page);
  demand.kv_least = units * page * kLeastPages;
  const std::uint64_t kv = host_kv_bytes(available_memory(), demand);
  host_kv_bytes_ =
      options_.kv_bytes > 0 ? options_.kv_bytes : kv / std::max<std::uint64_t>(units, 1);
  std::vector<std::string> ids = compute_ids(options_.compute);
  for (const ListedDevice& choice : attending) ids.push_back(choice.id);
  for (const std::string& option : unused_options(device::backends(), options_.backend, ids)) {
    spdlog::warn("--{} has no effect: no device of its kind is used; see `tandem devices`", option);
  }
  for (const std::string& line : idle_options(options_, used)) spdlog::warn("{}", line);
}

UsedDevices Assembly::used_devices(const std::vector<ListedDevice>& attention) {
  UsedDevices used;
  used.num_computing = static_cast<int>(compute_ids(options_.compute).size());
  device::Device& compute = compute_device();
  used.computes_apart = !works_in_host_memory(compute.info());
  used.are_all_the_cpu = compute.info().kind == "cpu";
  used.num_attending = static_cast<int>(attention.size());
  for (const ListedDevice& choice : attention) {
    const device::Device& attending = device(choice.id);
    used.num_behind_link += works_in_host_memory(attending.info()) ? 0 : 1;
    used.num_outside += &attending == &compute ? 0 : 1;
    used.are_all_the_cpu = used.are_all_the_cpu && attending.info().kind == "cpu";
  }
  return used;
}

// Errors of the chosen devices are reported before a large model is loaded.
void Assembly::require_devices() {
  require_files(device::backends(), options_.backend);
  const std::vector<std::string> computing = compute_ids(options_.compute);
  if (computing.size() == 1) device(computing.front());
  if (options_.attention == "auto") return;
  for (const ListedDevice& listed : attention_devices()) {
    if (computing.size() == 1 || !names_group(computing, listed.id)) device(listed.id);
  }
}

device::ActivitySink Assembly::activity_sink() {
  return [this](const device::DeviceActivity& activity) {
    trace::Timeline* timeline = device_timeline_;
    if (timeline == nullptr) return;
    const trace::SpanDetails details{.bytes = activity.bytes};
    timeline->span(timeline->track(activity.device, activity.track), activity.name, activity.begin,
                   activity.end, details);
  };
}

Assembly::~Assembly() {
  if (timeline_ == nullptr) return;
  group_.reset();  // devices report the last of their work when they are destroyed
  devices_.clear();
  if (timeline_->is_full()) {
    spdlog::warn("the timeline in '{}' has reached its limit of {} MiB; later spans are missing",
                 timeline_->path(), trace::Timeline::kMostBytes >> 20);
  }
  if (timeline_->close()) return;
  spdlog::warn("the timeline in '{}' is incomplete: it could not be written to the end",
               timeline_->path());
}

device::AttentionGeometry Assembly::geometry() const {
  const model::ModelConfig& config = *config_;
  device::AttentionGeometry geometry;
  geometry.num_layers = config.num_layers;
  geometry.q_heads = config.q_heads;
  geometry.kv_heads = config.kv_heads;
  geometry.head_dim = config.head_dim;
  geometry.page_tokens = kPageTokens;
  geometry.kv_dtype = options_.kv_dtype == "i8"     ? DType::kI8
                      : options_.kv_dtype == "bf16" ? DType::kBF16
                      : options_.kv_dtype == "f8"   ? DType::kF8E4M3
                                                    : DType::kF16;
  return geometry;
}

int Assembly::context_length() const {
  const int most = config_->context_length;
  return options_.context_length > 0 ? std::min(options_.context_length, most) : most;
}

std::vector<ListedDevice> Assembly::attention_devices() {
  if (options_.attention == "auto") {
    return automatic_devices(attention_needs(*config_, context_length()), compute_device().info(),
                             device::enumerate_devices(device_options_));
  }
  std::vector<ListedDevice> devices = listed_devices(options_.attention);
  if (devices.front().share > 0 && options_.placement == "interleave") {
    throw Error("attention",
                "--placement interleave deals equal shares; with shares of your own use pages or "
                "sequences");
  }
  return devices;
}

// KV in host memory has no better place to wait.
std::uint64_t Assembly::parking_bytes() {
  if (options_.park_bytes) return *options_.park_bytes;
  const std::vector<ListedDevice> choices = attention_devices();
  const bool has_link = std::ranges::any_of(choices, [this](const ListedDevice& choice) {
    return !works_in_host_memory(device(choice.id).info());
  });
  return has_link ? kUsualParkingBytes : 0;
}

std::uint64_t Assembly::max_pages() const {
  const auto pages_per_request =
      static_cast<std::uint64_t>((context_length() + kPageTokens - 1) / kPageTokens);
  return pages_per_request * static_cast<std::uint64_t>(options_.max_running);
}

engine::NamedUnit Assembly::make_unit(const ListedDevice& choice) {
  return make_unit(choice, device(choice.id));
}

engine::NamedUnit Assembly::remake_unit(const ListedDevice& choice) {
  const auto is_it = [&](const auto& open) {
    return device::full_id(open->info().id) == device::full_id(choice.id);
  };
  for (const std::string& id : compute_ids(options_.compute)) {
    if (device::full_id(id) == device::full_id(choice.id)) return make_unit(choice);
  }
  {
    const std::lock_guard lock(devices_mutex_);
    std::erase_if(devices_, is_it);
  }
  // Not under the lock: a device that hangs may take long to open.
  std::unique_ptr<device::Device> opened = device::open_device(choice.id, device_options_);
  engine::NamedUnit unit = make_unit(choice, *opened);
  const std::lock_guard lock(devices_mutex_);
  devices_.push_back(std::move(opened));
  return unit;
}

engine::NamedUnit Assembly::make_unit(const ListedDevice& choice, device::Device& owner) {
  const device::DeviceInfo& info = owner.info();
  const AttentionNeeds needs = attention_needs(*config_, context_length());
  if (!meets(info, needs)) require_needs(info, needs, device::enumerate_devices(device_options_));
  device::AttentionUnitOptions unit;
  unit.geometry = geometry();
  unit.kv_bytes = options_.kv_bytes;
  if (unit.kv_bytes == 0 && works_in_host_memory(info)) {
    unit.kv_bytes = std::min(host_kv_bytes_, info.memory_bytes);  // OpenCL offers less than all
  }
  unit.max_batch_rows = options_.max_step_tokens;
  const std::vector<std::string> computing = compute_ids(options_.compute);
  if (&owner == &compute_device()) {
    unit.kept_bytes = compute_bytes(1);  // a group of devices divides it
  } else if (names_member(computing, info.id)) {
    unit.kept_bytes =
        options_.split == "auto" ? planned_bytes(info.id) : compute_bytes(computing.size());
  }
  unit.max_pages = static_cast<std::uint32_t>(std::min<std::uint64_t>(max_pages(), UINT32_MAX));
  engine::NamedUnit named{info.id, owner.make_attention_unit(unit), choice.share};
  const device::AttentionCapacity capacity = named.unit->capacity();
  spdlog::info("attention {} ({}): {} KV pages of {:.1f} KiB", info.id, info.name,
               capacity.num_pages, static_cast<double>(capacity.page_bytes) / 1024);
  return named;
}

Runtime::Runtime(const RuntimeOptions& options, trace::Metrics* metrics) : parts_(options) {
  const device::DeviceInfo& compute = parts_.compute_device().info();
  compute_ = parts_.compute_device().make_compute_unit();
  std::vector<engine::NamedUnit> units;
  const std::vector<ListedDevice> choices = parts_.attention_devices();
  for (const ListedDevice& choice : choices) {
    try {
      units.push_back(parts_.make_unit(choice));
    } catch (const Error& error) {
      // Devices that the user did not name may be left out.
      if (options.attention != "auto" || units.empty()) throw;
      spdlog::warn("{} is left out: {}", choice.id, error.what());
    }
  }
  speeds_.compute[compute.id] = compute.memory_bandwidth_bytes_per_s;
  for (const engine::NamedUnit& each : units) {
    speeds_.attention[each.id] = each.unit->capacity().read_bandwidth_bytes_per_s;
  }
  engine::EngineOptions engine_options = apps::engine_options(options);
  engine_options.costs = [&](engine::StepRunner& runner, std::span<const engine::NamedUnit> made) {
    costs_ = costs_of(runner, made);
    return costs_;
  };
  engine_options.compute_id = compute.id;
  engine_options.on_warning = [](const std::string& text) { spdlog::warn("{}", text); };
  engine_options.on_notice = [](const std::string& text) { spdlog::info("{}", text); };
  engine_options.compute_bandwidth_bytes_per_s = compute.memory_bandwidth_bytes_per_s;
  engine_options.timeline = parts_.timeline();
  engine_options.parking_bytes = parts_.parking_bytes();
  if (parts_.draft() != nullptr) {
    engine_options.speculation.make_drafter = [this] {
      return parts_.draft()->make(parts_.compute_device());
    };
  }
  engine_ = std::make_unique<engine::Engine>(parts_.model(), *compute_, std::move(units),
                                             engine_options, fallbacks(), metrics);
  log_weights(engine_->weights(), options.quantize);
}

engine::Fallbacks Runtime::fallbacks() {
  engine::Fallbacks fallbacks;
  fallbacks.attention = [this] {
    spdlog::warn(
        "an attention device is lost, and the others cannot hold all accepted requests: the CPU "
        "takes over with host memory");
    return parts_.make_unit({"cpu", 0});
  };
  if (parts_.options().revive_seconds > 0) {
    fallbacks.revive = [this, choices = parts_.attention_devices()](const std::string& id) {
      const auto it = std::ranges::find_if(choices, [&](const ListedDevice& choice) {
        return device::full_id(choice.id) == device::full_id(id);
      });
      if (it == choices.end()) throw Error("attention", id + " was not requested");
      return parts_.remake_unit(*it);
    };
  }
  if (works_in_host_memory(parts_.compute_device().info())) return fallbacks;
  fallbacks.compute = [this] {
    spdlog::warn("the compute device is lost: the CPU loads the weights and takes over");
    device::Device& cpu = parts_.device("cpu");
    return engine::NamedCompute{cpu.info().id, cpu.make_compute_unit(),
                                cpu.info().memory_bandwidth_bytes_per_s};
  };
  return fallbacks;
}

}  // namespace tandem::apps
