// SPDX-License-Identifier: Apache-2.0
//
// Drives the executor directly. The engine's KvCache allocates the pages, so --placement has the
// same meaning as for the daemon.
#include "apps/models/bench/rig.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "common/error.h"

namespace tandem::apps::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Tokens = std::vector<model::TokenId>;

constexpr int kCheckPrompt = 24, kCheckTokens = 8, kCheckCut = 7, kCheckMates = 3;
constexpr int kMaxLogitRows = 64;  // as the engine's

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

model::TokenId best_of(std::span<const float> logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); })) {
    throw DeviceError("bench", "wrong result: logits are not finite");
  }
  return static_cast<model::TokenId>(best - logits.begin());
}

// A linear congruential generator: every run measures the same tokens and values.
std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

// The first difference of two continuations, or nothing.
std::string parting(const Tokens& one, const Tokens& other) {
  const auto at = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  if (at.first == one.end()) return {};
  return "token " + std::to_string(at.first - one.begin()) + " of its continuation is " +
         std::to_string(*at.first) + " or " + std::to_string(*at.second);
}

}  // namespace

std::vector<ListedDevice> measured_devices(Assembly& parts) {
  std::vector<ListedDevice> devices = parts.attention_devices();
  if (parts.options().attention == "auto") devices.resize(1);
  return devices;
}

Rig::Rig(Assembly& parts) : parts_(parts), geometry_(parts.geometry()) {
  const RuntimeOptions& options = parts.options();
  compute_ = parts.compute_device().make_compute_unit();
  engine::ExecutorOptions traced = executor_options();
  traced.timeline = parts.timeline();
  executor_ = std::make_unique<engine::Executor>(parts.model(), *compute_, traced);
  cache_ = std::make_unique<engine::KvCache>(geometry_.page_tokens, placement_of(options.placement),
                                             false);
  for (const ListedDevice& choice : measured_devices(parts)) {
    units_.push_back(parts.make_unit(choice));
    device::AttentionUnit& unit = *units_.back().unit;
    executor_->add_unit(unit, units_.back().id);
    const device::AttentionCapacity capacity = unit.capacity();
    cache_->add_unit(capacity.num_pages, capacity.read_bandwidth_bytes_per_s, choice.share);
  }
}

engine::ExecutorOptions Rig::executor_options() const {
  engine::ExecutorOptions options;
  options.max_rows = parts_.options().max_step_tokens;
  options.max_logit_rows = std::min(options.max_rows, kMaxLogitRows);
  options.page_tokens = geometry_.page_tokens;
  options.kv_dtype = geometry_.kv_dtype;
  options.device_timeout = std::chrono::milliseconds(parts_.options().device_timeout_ms);
  options.weights = weight_options(parts_.options());
  options.early_query = early_query_of(parts_.options().early_query);
  options.rings = parts_.options().rings.value_or(true);
  const device::DeviceInfo& compute = parts_.compute_device().info();
  options.compute_id = compute.id;
  options.compute_bandwidth_bytes_per_s = compute.memory_bandwidth_bytes_per_s;
  return options;
}

std::optional<DType> Rig::quantized_to() const { return weight_options(parts_.options()).quantize; }

LoadTime Rig::load_again() {
  LoadTime time;
  const Clock::time_point start = Clock::now();
  const std::unique_ptr<model::Model> model = model::load_model(parts_.model_path());
  time.open_seconds = seconds_since(start);
  const engine::Executor executor(*model, *compute_, executor_options());
  time.weights_seconds = seconds_since(start) - time.open_seconds;
  return time;
}

model::TokenId Rig::random_token() {
  return static_cast<model::TokenId>(
      next_random(random_state_) % static_cast<std::uint64_t>(parts_.model().config().vocab_size));
}

void Rig::make_sequences(int count, int num_tokens) {
  release_sequences();
  sequences_.resize(static_cast<std::size_t>(count));
  for (Sequence& sequence : sequences_) {
    const bool fits = cache_->extend(sequence.table, static_cast<std::size_t>(num_tokens));
    TANDEM_CHECK(fits);  // refusal() has said so
    sequence.tokens.resize(static_cast<std::size_t>(num_tokens));
    for (model::TokenId& token : sequence.tokens) token = random_token();
  }
}

void Rig::release_sequences() {
  for (Sequence& sequence : sequences_) cache_->release(sequence.table);
  sequences_.clear();
}

void Rig::run(std::span<const engine::RunnerItem> items, Tokens* best) {
  const std::vector<int> lost =
      executor_->run(items, [&](std::size_t item, int, std::span<const float> logits) {
        if (best != nullptr) (*best)[item] = best_of(logits);
      });
  if (!lost.empty()) {
    throw DeviceError("bench", "attention device " +
                                   units_[static_cast<std::size_t>(lost.front())].id +
                                   " was lost or did not answer in time");
  }
}

// The whole prompt in chunks; the last row's logits.
void Rig::prefill(Sequence& sequence, int chunk, Tokens* best) {
  const int num_tokens = static_cast<int>(sequence.tokens.size());
  for (int past = 0; past < num_tokens; past += chunk) {
    const int rows = std::min(chunk, num_tokens - past);
    const bool last = past + rows == num_tokens;
    const engine::RunnerItem item = {
        std::span(sequence.tokens)
            .subspan(static_cast<std::size_t>(past), static_cast<std::size_t>(rows)),
        sequence.table.blocks, past, last ? engine::LogitRows::kLast : engine::LogitRows::kNone, 0};
    run({&item, 1}, last ? best : nullptr);
  }
}

// The greedy continuation of a fixed prompt, prefilled in chunks and decoded together with others.
Tokens Rig::continuation(int chunk, int num_mates) {
  const int context = parts_.model().config().context_length;
  const int prompt = std::min(kCheckPrompt, context / 2);
  const int num_tokens = std::min(kCheckTokens, context - prompt);
  random_state_ = 7;
  make_sequences(1 + num_mates, prompt + num_tokens);
  std::vector<engine::RunnerItem> items(sequences_.size());
  Tokens best(sequences_.size());
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    Sequence& sequence = sequences_[i];
    const Tokens all = sequence.tokens;
    sequence.tokens.resize(static_cast<std::size_t>(prompt));
    Tokens first(1);
    prefill(sequence, chunk, &first);
    sequence.tokens = all;
    best[i] = first[0];
  }
  Tokens result = {best[0]};
  for (int step = 0; step + 1 < num_tokens; ++step) {
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      const auto at = static_cast<std::size_t>(prompt + step);
      sequences_[i].tokens[at] = best[i];
      items[i] = {std::span(sequences_[i].tokens).subspan(at, 1), sequences_[i].table.blocks,
                  prompt + step, engine::LogitRows::kLast, 0};
    }
    run(items, &best);
    result.push_back(best[0]);
  }
  return result;
}

void Rig::verify() {
  const int whole = std::min(parts_.options().max_step_tokens, kCheckPrompt);
  const Tokens expected = continuation(whole, 0);
  const std::string by_cut = parting(expected, continuation(std::min(whole, kCheckCut), 0));
  const std::string by_mates = parting(expected, continuation(whole, kCheckMates));
  release_sequences();
  if (by_cut.empty() && by_mates.empty()) return;
  throw DeviceError(
      "bench",
      "wrong result: " + (by_cut.empty() ? by_mates : by_cut) + ", depending on " +
          (by_cut.empty() ? "the other sequences of the batch" : "the chunks of a prompt"));
}

std::string Rig::refusal(const Row& row) const {
  if (row.kind == RowKind::kDecode && row.batch > parts_.options().max_step_tokens) {
    return "a step has at most --max-step-tokens rows, " +
           std::to_string(parts_.options().max_step_tokens);
  }
  const std::uint64_t needed = pages_of(row, geometry_.page_tokens);
  if (needed > cache_->num_pages()) {
    return "needs " + std::to_string(needed) + " KV pages of " +
           std::to_string(cache_->num_pages()) + "; raise --kv-memory";
  }
  return {};
}

void Rig::prepare(const Row& row) {
  row_ = row;
  make_sequences(row.batch, row.tokens);
  items_.clear();
  if (row.kind == RowKind::kPrefill) return;
  fill_pages();
  const int halves = std::min(std::max(1, parts_.options().sub_batches), row.batch);
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    Sequence& sequence = sequences_[i];
    items_.push_back({std::span(sequence.tokens).last(1), sequence.table.blocks, row.tokens - 1,
                      engine::LogitRows::kLast,
                      static_cast<int>(i) * halves / static_cast<int>(sequences_.size())});
  }
}

double Rig::step() {
  for (Sequence& sequence : sequences_) sequence.tokens.back() = random_token();
  const Clock::time_point start = Clock::now();
  if (row_.kind == RowKind::kPrefill) {
    prefill(sequences_.front(), parts_.options().max_step_tokens, nullptr);
  } else {
    run(items_, nullptr);
  }
  return seconds_since(start);
}

void Rig::fill_pages() {
  std::vector<std::vector<device::PageId>> pages(units_.size());
  for (const Sequence& sequence : sequences_) {
    for (const engine::BlockPlace& place : sequence.table.blocks) {
      pages[static_cast<std::size_t>(place.unit)].push_back(place.page);
    }
  }
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    fill_pages(static_cast<int>(unit), pages[unit]);
  }
}

// Fills each page as a separate sequence.
void Rig::fill_pages(int unit, std::span<const device::PageId> pages) {
  const auto page_tokens = static_cast<std::size_t>(geometry_.page_tokens);
  const auto most = std::max<std::size_t>(
      1, static_cast<std::size_t>(parts_.options().max_step_tokens) / page_tokens);
  const std::size_t width = static_cast<std::size_t>(geometry_.kv_heads) * geometry_.head_dim;
  std::vector<float> values(most * page_tokens * width);
  for (float& value : values) {
    value = static_cast<float>(next_random(random_state_)) * 0x1p-30f - 1.0f;
  }
  std::vector<device::AttentionSequence> appends(most);
  for (std::size_t i = 0; i < most; ++i) {
    appends[i].new_begin = static_cast<std::int32_t>(i * page_tokens);
    appends[i].num_new = geometry_.page_tokens;
    appends[i].num_attend = geometry_.page_tokens;
    appends[i].page_begin = static_cast<std::int32_t>(i);
    appends[i].num_pages = 1;
  }
  device::AttentionUnit& to = *units_[static_cast<std::size_t>(unit)].unit;
  for (std::size_t begin = 0; begin < pages.size(); begin += most) {
    device::AttentionBatch batch;
    batch.pages = pages.subspan(begin, std::min(most, pages.size() - begin));
    batch.sequences = std::span(appends).first(batch.pages.size());
    batch.k = std::span(values).first(batch.pages.size() * page_tokens * width);
    batch.v = batch.k;
    for (batch.layer = 0; batch.layer < geometry_.num_layers; ++batch.layer) {
      const device::Ticket ticket = to.submit(batch, {});
      const Deadline deadline =
          Deadline::after(std::chrono::milliseconds(parts_.options().device_timeout_ms));
      if (to.wait(ticket, deadline) != device::WaitResult::kDone) {
        throw DeviceError("bench", units_[static_cast<std::size_t>(unit)].id +
                                       " did not take keys and values in time");
      }
    }
  }
}

Speeds Rig::speeds_now() {
  Speeds speeds;
  device::Device& compute = parts_.compute_device();
  const device::DeviceSpeed own = compute.speed_now();
  speeds.weight_bytes_per_s = own.memory_bandwidth_bytes_per_s;
  speeds.ops_per_s = own.peak_ops_per_s;
  for (const engine::NamedUnit& unit : units_) {
    device::Device& device = parts_.device(unit.id);
    const double bandwidth = &device == &compute ? own.memory_bandwidth_bytes_per_s
                                                 : device.speed_now().memory_bandwidth_bytes_per_s;
    if (bandwidth <= 0) {
      speeds.kv_bytes_per_s = 0;
      break;
    }
    speeds.kv_bytes_per_s += bandwidth;
  }
  return speeds;
}

double Rig::kv_bytes_per_token() const {
  return static_cast<double>(device::page_image_bytes(geometry_)) / geometry_.page_tokens;
}

}  // namespace tandem::apps::bench
