// SPDX-License-Identifier: Apache-2.0
//
// Assembles model, devices and engine; see runtime.h.
#include "apps/runtime.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "apps/attention_choice.h"
#include "apps/compute_choice.h"
#include "common/error.h"
#include "tensor/quantize.h"

namespace tandem::apps {
namespace {

namespace fs = std::filesystem;

constexpr int kPageTokens = 16;
constexpr std::uint64_t kMaxLogitRows = 64;  // as the engine's
constexpr const char* kDemoModel = "models/tandem-stories-q8_0.gguf";
constexpr const char* kKernelImage = "bitstreams/attention_decode.xclbin";

std::uint64_t host_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
}

// A line that counts up on a terminal; elsewhere a log entry every tenth of the way.
std::function<void(double)> load_progress(const std::string& path) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  return [path, terminal, last = 0](double fraction) mutable {
    const int percent =
        static_cast<int>(fraction * 100) / (terminal ? 1 : 10) * (terminal ? 1 : 10);
    if (percent <= last) return;
    last = percent;
    if (!terminal) {
      if (percent < 100) spdlog::info("loading {}: {} %", path, percent);
      return;
    }
    std::fprintf(stderr, "\rloading %s: %3d %%%s", path.c_str(), percent,
                 fraction >= 1 ? "\n" : "");
    std::fflush(stderr);
  };
}

engine::EngineOptions engine_options(const RuntimeOptions& options) {
  engine::EngineOptions result;
  result.max_running = options.max_running;
  result.max_waiting = options.max_waiting;
  result.max_step_tokens = options.max_step_tokens;
  result.context_length = options.context_length;
  result.num_sub_batches = options.sub_batches;
  result.placement = placement_of(options.placement);
  result.prefix_cache = !options.no_prefix_cache;
  result.kv_moves = options.kv_moves;
  result.device_timeout = std::chrono::milliseconds(options.device_timeout_ms);
  result.weights = weight_options(options);
  result.early_query = early_query_of(options.early_query);
  return result;
}

// "none", f32 and every type that has a quantiser.
std::vector<std::string> quantize_words() {
  std::vector<std::string> words = {"none", "f32"};
  for (const DType dtype : quantizable_types()) words.emplace_back(dtype_name(dtype));
  return words;
}

void log_weights(const engine::LoadedWeights& weights) {
  if (weights.quantised == 0) return;
  std::string types;
  for (const auto& [dtype, values] : weights.values) {
    types += fmt::format("{}{} {:.1f} M", types.empty() ? "" : ", ", dtype_name(dtype),
                         static_cast<double>(values) / 1e6);
  }
  constexpr double kMiB = 1 << 20;
  spdlog::info("converted {} matrices in {:.1f} s, {:.1f} MiB to {:.1f}: now {:.1f} MiB ({})",
               weights.quantised, weights.quantise_seconds,
               static_cast<double>(weights.quantised_from_bytes) / kMiB,
               static_cast<double>(weights.quantised_to_bytes) / kMiB,
               static_cast<double>(weights.bytes) / kMiB, types);
}

}  // namespace

engine::WeightOptions weight_options(const RuntimeOptions& options) {
  engine::WeightOptions weights;
  weights.num_threads = options.threads;
  if (options.quantize == "f32") weights.quantize = DType::kF32;
  for (const DType dtype : quantizable_types()) {
    if (dtype_name(dtype) == options.quantize) weights.quantize = dtype;
  }
  return weights;
}

// CLI11 would turn a negative number into a huge one.
std::string refuse_negative(const std::string& text) {
  return !text.empty() && text.front() == '-' ? "must not be negative" : std::string();
}

std::string shared_file(const std::string& name) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path path = self.parent_path().parent_path() / "share" / "tandem" / name;
  return fs::exists(path, error) ? path.string() : std::string();
}

Pin pin_of(const std::string& name) {
  if (name == "on") return Pin::kOn;
  return name == "off" ? Pin::kOff : Pin::kAuto;
}

engine::Placement placement_of(const std::string& name) {
  if (name == "pages") return engine::Placement::kPages;
  if (name == "interleave") return engine::Placement::kInterleave;
  return engine::Placement::kSequences;
}

engine::EarlyQuery early_query_of(const std::string& name) {
  if (name == "on") return engine::EarlyQuery::kOn;
  return name == "off" ? engine::EarlyQuery::kOff : engine::EarlyQuery::kAuto;
}

namespace {

void add_model_options(CLI::App& command, RuntimeOptions& o) {
  command
      .add_option("-m,--model", o.model_path,
                  "GGUF file, or directory of safetensors files as published on model hubs "
                  "(default: the demo model)")
      ->group("Model");
  command
      .add_option("--context", o.context_length,
                  "longest prompt + output, in tokens (0: the model's)")
      ->check(CLI::NonNegativeNumber)
      ->group("Model");
  command
      .add_option("--quantize", o.quantize,
                  "make the matrices smaller while loading: a type, or none (K types need rows of "
                  "256 n; others get q4_1, q5_1, q8_0); f32 widens them instead, so that products "
                  "round no activations")
      ->check(CLI::IsMember(quantize_words()))
      ->capture_default_str()
      ->group("Model");
}

void add_device_options(CLI::App& command, RuntimeOptions& o) {
  command
      .add_option("--compute", o.compute,
                  "device of the dense layers (see `tandem devices`), or several that share them: "
                  "cuda:0,cuda:1; cuda:0+cuda:1 then names them in --attention")
      ->capture_default_str()
      ->group("Devices");
  command
      .add_option("--split", o.split,
                  "how several compute devices share a model: each has some layers, or a part of "
                  "every layer")
      ->check(CLI::IsMember({"layers", "tensor"}))
      ->capture_default_str()
      ->group("Devices");
  command
      .add_option("--attention", o.attention,
                  "devices that hold KV and attend: auto, or ids such as cpu,xrt:0,xrt:1; with "
                  "shares of the sequences or pages: cuda=0.5,xrt:0=0.3,cpu=0.2")
      ->capture_default_str()
      ->group("Devices");
  command
      .add_option("--placement", o.placement,
                  "sequences: each lives on one device; pages: each is dealt over all devices by "
                  "bandwidth; interleave: in equal shares")
      ->check(CLI::IsMember({"sequences", "pages", "interleave"}))
      ->capture_default_str()
      ->group("Devices");
  command
      .add_option("--xclbin", o.kernel_image,
                  "attention kernel for cards (default: the one built here)")
      ->group("Devices");
  command.add_option("--threads", o.threads, "CPU threads (0: one per core)")
      ->check(CLI::Range(0, 1024))
      ->group("Devices");
  command
      .add_option("--pin", o.pin,
                  "bind CPU threads to cores; auto: when they take all cores, and to NUMA nodes")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->capture_default_str()
      ->group("Devices");
  command
      .add_option("--device-timeout-ms", o.device_timeout_ms,
                  "a device silent for so long counts as lost")
      ->check(CLI::Range(1, 3600000))
      ->capture_default_str()
      ->group("Devices");
}

void add_kv_options(CLI::App& command, RuntimeOptions& o) {
  command.add_option("--kv-dtype", o.kv_dtype, "type of keys and values in the cache")
      ->check(CLI::IsMember({"f16", "bf16", "i8", "f8"}))
      ->capture_default_str()
      ->group("KV cache");
  command
      .add_option("--kv-memory", o.kv_bytes,
                  "most KV memory per device, e.g. 2GiB (default: 1/4 of host memory, all of a "
                  "card's; never more than --max-running sequences of --context tokens need)")
      ->transform(CLI::AsSizeValue(false))
      ->transform(CLI::Validator(refuse_negative, ""))
      ->group("KV cache");
  command
      .add_flag("--no-prefix-cache", o.no_prefix_cache,
                "do not reuse KV of equal prompt beginnings")
      ->group("KV cache");
  command
      .add_flag("--kv-moves", o.kv_moves,
                "between steps move KV from devices that are full or slow to others with room")
      ->group("KV cache");
}

void add_scheduling_options(CLI::App& command, RuntimeOptions& o) {
  command.add_option("--max-running", o.max_running, "sequences decoded together")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str()
      ->group("Scheduling");
  command.add_option("--max-waiting", o.max_waiting, "requests queued before new ones are refused")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option("--max-step-tokens", o.max_step_tokens, "rows per step; bounds a prefill chunk")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str()
      ->group("Scheduling");
  command.add_option("--sub-batches", o.sub_batches, "2 overlaps attention with dense layers")
      ->check(CLI::Range(1, 2))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option("--early-query", o.early_query,
                  "devices behind a link attend to the past while k and v are projected; auto: "
                  "where projecting takes longer than submitting once more")
      ->check(CLI::IsMember({"on", "off", "auto"}))
      ->capture_default_str()
      ->group("Scheduling");
  command
      .add_option("--trace", o.trace_file,
                  "write a timeline of steps, operations, copies, device runs and waits, for "
                  "ui.perfetto.dev")
      ->group("Scheduling");
}

}  // namespace

void add_runtime_options(CLI::App& command, RuntimeOptions& o) {
  command.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add_model_options(command, o);
  add_device_options(command, o);
  add_kv_options(command, o);
  add_scheduling_options(command, o);
}

Assembly::Assembly(const RuntimeOptions& options) : options_(options) {
  model_path_ = options.model_path.empty() ? shared_file(kDemoModel) : options.model_path;
  if (model_path_.empty()) {
    throw Error("model",
                "the demo model is not installed; name a GGUF file or a directory with --model");
  }
  model_ = model::load_model(model_path_, load_progress(model_path_));
  const model::ModelConfig& config = model_->config();
  spdlog::info(
      "model {}: {} {} layers, width {}, {} / {} heads of {}, {:.1f} M parameters, {:.1f} MiB",
      config.name, config.architecture, config.num_layers, config.width, config.q_heads,
      config.kv_heads, config.head_dim, static_cast<double>(config.parameters) / 1e6,
      static_cast<double>(config.weight_bytes) / (1 << 20));
  if (!options.trace_file.empty()) {
    timeline_ = std::make_unique<trace::Timeline>(options.trace_file);
  }
  device_options_.num_threads = options.threads;
  device_options_.pin = pin_of(options.pin);
  device_options_.kernel_image =
      options.kernel_image.empty() ? shared_file(kKernelImage) : options.kernel_image;
}

device::AttentionGeometry Assembly::geometry() const {
  const model::ModelConfig& config = model_->config();
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
  const int most = model_->config().context_length;
  return options_.context_length > 0 ? std::min(options_.context_length, most) : most;
}

std::vector<ListedDevice> Assembly::attention_devices() const {
  if (options_.attention == "auto") {
    return automatic_devices(attention_needs(model_->config(), context_length()),
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

device::Device& Assembly::device(const std::string& id) {
  const std::vector<std::string> group = compute_ids(options_.compute);
  if (group.size() > 1 && (id == options_.compute || id == group_id(group))) {
    if (!group_) {
      group_ = open_compute_group(group, options_.split, model_->config(), device_options_);
    }
    return *group_;
  }
  for (const auto& open : devices_) {
    if (open->info().id == id || open->info().id == id + ":0") return *open;
  }
  devices_.push_back(device::open_device(id, device_options_));
  return *devices_.back();
}

// From above: what quantising saves is not counted, nor which buffers a family lacks.
std::uint64_t Assembly::compute_bytes() const {
  const model::ModelConfig& config = model_->config();
  const auto wide = static_cast<std::uint64_t>(config.parameters) * sizeof(float);
  const auto stored = static_cast<std::uint64_t>(config.weight_bytes);
  const std::uint64_t weights = options_.quantize == "f32" ? std::max(stored, wide) : stored;
  const auto q_width = static_cast<std::uint64_t>(config.q_heads) * config.head_dim;
  const auto kv_width = static_cast<std::uint64_t>(config.kv_heads) * config.head_dim;
  // Residual, product and normed rows; the gated pair; q, k, v; results, merged and partial.
  constexpr std::uint64_t kWidths = 3, kResults = 4;
  const std::uint64_t row = kWidths * static_cast<std::uint64_t>(config.width) +
                            2 * static_cast<std::uint64_t>(config.ffn_width) + q_width +
                            2 * kv_width + kResults * (q_width + config.q_heads);
  const auto rows = static_cast<std::uint64_t>(options_.max_step_tokens);
  const std::uint64_t logits =
      std::min<std::uint64_t>(rows, kMaxLogitRows) * static_cast<std::uint64_t>(config.vocab_size);
  // Units pack weights in orders of their own (a 16th more at most), may keep a table twice, and
  // need rows again on the way to units elsewhere.
  const std::uint64_t table =
      static_cast<std::uint64_t>(config.vocab_size) * static_cast<std::uint64_t>(config.width);
  return weights + weights / 16 + 2 * table + (2 * rows * row + logits) * sizeof(float);
}

engine::NamedUnit Assembly::make_unit(const ListedDevice& choice) {
  device::Device& owner = device(choice.id);
  const device::DeviceInfo& info = owner.info();
  const AttentionNeeds needs = attention_needs(model_->config(), context_length());
  if (!meets(info, needs)) require_needs(info, needs, device::enumerate_devices(device_options_));
  const bool host_memory = info.link_bandwidth_bytes_per_s == 0;
  device::AttentionUnitOptions unit;
  unit.geometry = geometry();
  unit.kv_bytes = options_.kv_bytes;
  if (unit.kv_bytes == 0 && host_memory) unit.kv_bytes = host_memory_bytes() / 4;
  unit.max_batch_rows = options_.max_step_tokens;
  if (&owner == &compute_device()) unit.kept_bytes = compute_bytes();
  const auto pages_per_request =
      static_cast<std::uint64_t>((context_length() + kPageTokens - 1) / kPageTokens);
  unit.max_pages = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      pages_per_request * static_cast<std::uint64_t>(options_.max_running), UINT32_MAX));
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
  for (const ListedDevice& choice : parts_.attention_devices()) {
    units.push_back(parts_.make_unit(choice));
  }
  engine::EngineOptions engine_options = apps::engine_options(options);
  engine_options.compute_id = compute.id;
  engine_options.compute_bandwidth_bytes_per_s = compute.memory_bandwidth_bytes_per_s;
  engine_options.timeline = parts_.timeline();
  engine_ = std::make_unique<engine::Engine>(parts_.model(), *compute_, std::move(units),
                                             engine_options, fallbacks(), metrics);
  log_weights(engine_->weights());
}

engine::Fallbacks Runtime::fallbacks() {
  engine::Fallbacks fallbacks;
  fallbacks.attention = [this] {
    spdlog::warn("every attention device is lost: host memory takes over");
    return parts_.make_unit({"cpu", 0});
  };
  if (parts_.compute_device().info().kind == "cpu") return fallbacks;
  fallbacks.compute = [this] {
    spdlog::warn("the compute device is lost: the CPU loads the weights and takes over");
    device::Device& cpu = parts_.device("cpu");
    return engine::NamedCompute{cpu.info().id, cpu.make_compute_unit(),
                                cpu.info().memory_bandwidth_bytes_per_s};
  };
  return fallbacks;
}

}  // namespace tandem::apps
