// SPDX-License-Identifier: Apache-2.0
//
// Virtual devices: pages of tokens, and time that passes by a cost table.
#include "host/engine/loop/virtual_devices.h"

#include <algorithm>
#include <cstring>

#include "common/error.h"

namespace tandem::engine {

using device::WaitResult;

TokenId next_token(std::span<const TokenId> tokens, int vocab_size) {
  std::uint64_t hash = 1469598103934665603u;
  for (const TokenId token : tokens) {
    hash = (hash ^ static_cast<std::uint64_t>(token)) * 1099511628211u;
  }
  return static_cast<TokenId>((hash >> 20) % static_cast<std::uint64_t>(vocab_size));
}

VirtualUnit::VirtualUnit(const device::AttentionGeometry& geometry, VirtualClock& clock,
                         const VirtualUnitOptions& options)
    : geometry_(geometry),
      clock_(clock),
      options_(options),
      tokens_(static_cast<std::size_t>(options.num_pages) *
                  static_cast<std::size_t>(geometry.page_tokens),
              model::kNoToken) {}

device::AttentionCapacity VirtualUnit::capacity() const {
  return {options_.num_pages, device::page_image_bytes(geometry_), options_.read_bandwidth,
          options_.link_bandwidth, 0};
}

device::Ticket VirtualUnit::submit(const device::AttentionBatch&, device::AttentionPartial) {
  throw Error("test", "virtual units are not submitted to");
}

WaitResult VirtualUnit::wait(device::Ticket, Deadline) {
  throw Error("test", "virtual units are not waited for");
}

WaitResult VirtualUnit::move(Deadline deadline) {
  const Clock::Duration left = deadline.remaining();
  const bool in_time = works() && options_.page_time <= left;
  clock_.advance(in_time ? options_.page_time : left);
  return in_time ? WaitResult::kDone : WaitResult::kTimeout;
}

WaitResult VirtualUnit::export_page(device::PageId page, std::span<std::byte> to,
                                    Deadline deadline) {
  const WaitResult result = move(deadline);
  const auto num_tokens = static_cast<std::size_t>(geometry_.page_tokens);
  if (result == WaitResult::kDone) {
    std::memcpy(to.data(), &token(page, 0), num_tokens * sizeof(TokenId));
  }
  return result;
}

WaitResult VirtualUnit::import_page(device::PageId page, std::span<const std::byte> from,
                                    Deadline deadline) {
  const WaitResult result = move(deadline);
  const auto num_tokens = static_cast<std::size_t>(geometry_.page_tokens);
  if (result == WaitResult::kDone) {
    std::memcpy(&token(page, 0), from.data(), num_tokens * sizeof(TokenId));
  }
  return result;
}

void VirtualRunner::add_unit(device::AttentionUnit& unit, const std::string&) {
  units_.push_back(dynamic_cast<VirtualUnit*>(&unit));
  TANDEM_CHECK(units_.back() != nullptr);
  page_tokens_ = unit.geometry().page_tokens;
}

void VirtualRunner::replace_unit(int unit, device::AttentionUnit& with) {
  units_.at(static_cast<std::size_t>(unit)) = dynamic_cast<VirtualUnit*>(&with);
  TANDEM_CHECK(units_[static_cast<std::size_t>(unit)] != nullptr);
}

std::vector<int> VirtualRunner::silent_units(std::span<const RunnerItem> items) const {
  std::vector<int> silent;
  for (int unit = 0; unit < static_cast<int>(units_.size()); ++unit) {
    const bool needed = std::ranges::any_of(items, [&](const RunnerItem& item) {
      return std::ranges::find(item.blocks, unit, &BlockPlace::unit) != item.blocks.end();
    });
    if (needed && !units_[static_cast<std::size_t>(unit)]->is_alive()) silent.push_back(unit);
  }
  return silent;
}

TokenId& VirtualRunner::token_at(const RunnerItem& item, int position) {
  const BlockPlace& place = item.blocks[static_cast<std::size_t>(position / page_tokens_)];
  return units_[static_cast<std::size_t>(place.unit)]->token(place.page, position % page_tokens_);
}

bool VirtualRunner::pass(Clock::Duration time) {
  const Clock::TimePoint end = clock_.now() + time;
  for (int part = 1; part < options_.num_parts && options_.follows_rows; ++part) {
    clock_.advance(time / options_.num_parts);
    if (interrupts_ && interrupts_()) return false;
  }
  clock_.advance(end - clock_.now());
  return true;
}

// All tokens of the sequence as its pages hold them.
std::vector<TokenId> VirtualRunner::append(const RunnerItem& item) {
  const int num_rows = static_cast<int>(item.tokens.size());
  for (int i = 0; i < num_rows; ++i) {
    token_at(item, item.past + i) = item.tokens[static_cast<std::size_t>(i)];
  }
  std::vector<TokenId> known;
  for (int i = 0; i < item.past + num_rows; ++i) known.push_back(token_at(item, i));
  return known;
}

void VirtualRunner::answer(std::size_t index, const RunnerItem& item,
                           std::span<const TokenId> known, const LogitsSink& logits,
                           const TokenSink& tokens) const {
  if (item.sample) return tokens(index, next_token(known, options_.vocab_size));
  const int num_rows = static_cast<int>(item.tokens.size());
  for (int i = item.logits == LogitRows::kAll ? 0 : num_rows - 1; i < num_rows; ++i) {
    const auto seen = known.first(static_cast<std::size_t>(item.past + i + 1));
    std::vector<float> row(static_cast<std::size_t>(options_.vocab_size), 0.0f);
    row[static_cast<std::size_t>(next_token(seen, options_.vocab_size))] = 10.0f;
    logits(index, i, row);
    if (index == 0 && i == 0 && i + 1 < num_rows && options_.between_rows) options_.between_rows();
  }
}

double VirtualRunner::seconds_of(std::span<const RunnerItem> items) {
  if (options_.machine) {
    const VirtualStep step = options_.machine(items);
    for (std::size_t u = 0; u < units_.size() && u < step.unit_busy_s.size(); ++u) {
      units_[u]->add_busy(step.unit_busy_s[u]);
    }
    last_times_ = step.parts;
    return step.seconds;
  }
  planner::StepWork work;
  for (const RunnerItem& item : items) {
    work += planner::work_of_rows(item.past, static_cast<int>(item.tokens.size()));
  }
  return options_.cost->seconds(work);
}

std::vector<int> VirtualRunner::run(std::span<const RunnerItem> items, const LogitsSink& logits,
                                    const TokenSink& tokens) {
  const std::chrono::duration<double> time(seconds_of(items));
  if (!pass(std::chrono::duration_cast<Clock::Duration>(time))) return {};
  ++num_steps_;
  if (clock_.now() >= options_.dies_at) throw DeviceError("test", "what computes has failed");
  if (std::vector<int> silent = silent_units(items); !silent.empty()) {
    clock_.advance(options_.device_timeout);
    return silent;
  }
  if (options_.before_run) options_.before_run(items);
  std::vector<std::vector<TokenId>> known;
  for (const RunnerItem& item : items) known.push_back(append(item));
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].logits != LogitRows::kNone) answer(i, items[i], known[i], logits, tokens);
    if (i == 0 && options_.between_results) options_.between_results(items);
  }
  return {};
}

}  // namespace tandem::engine
