// SPDX-License-Identifier: Apache-2.0
//
// What a card answers to a watcher, as JSON: platform, memory, bytes moved, units and stream links.
// All counts are since the card was started.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "emulation/card/clients/card_server.h"

namespace tandem::emulation {

std::string CardServer::watch_text() {
  const SharedState& state = areas_->shared();
  nlohmann::ordered_json answer;
  answer["platform"] = platform_;
  auto& applications = answer["applications"] = nlohmann::ordered_json::array();
  {
    const std::lock_guard<std::mutex> lock(applications_mutex_);
    for (const auto& [socket, process] : applications_) applications.push_back(process);
  }
  const uint64_t memory_bytes = areas_->device.size_bytes();
  answer["memory_bytes"] = memory_bytes;
  // Of a private card, the card allocates only what its application has exported.
  answer["free_bytes"] =
      std::min(state.free_bytes.load(), memory_bytes - state.used_by_owner.load());
  answer["bytes_to_device"] = state.bytes_to_device.load();
  answer["bytes_from_device"] = state.bytes_from_device.load();
  answer["findings"] = state.findings.load();
  answer["is_hung"] = state.hung.load() != 0;
  program_->describe(answer);
  return answer.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void LoadedProgram::describe(nlohmann::ordered_json& answer) {
  auto& units = answer["units"] = nlohmann::ordered_json::array();
  auto& streams = answer["streams"] = nlohmann::ordered_json::array();
  const std::lock_guard<std::mutex> lock(watch_mutex_);
  if (!is_complete_) return;
  for (size_t index = 0; index < units_.size(); ++index) {
    const UnitChannel& channel = areas_.shared().units[index];
    hls_runtime::Scheduler& scheduler = units_[index]->scheduler();
    const UnitPlan& plan = units_[index]->plan();
    const auto running = units_[index]->running_for();
    const bool is_active = running.count() > 0 || scheduler.active();
    const char* const active = scheduler.asleep() ? "waits" : "runs";
    units.push_back({{"kernel", plan.library->entry().name},
                     {"unit", plan.name},
                     {"state", is_active ? active : "idle"},
                     {"commands", queued(channel)},
                     {"launches", channel.statistics.launches.load()},
                     {"busy_ns", channel.statistics.busy_ns.load()},
                     {"running_ns", running.count()},
                     {"waits", group_.waits_of(scheduler)}});
  }
  for (const LinkTable::Level& level : links_->levels()) {
    streams.push_back({{"stream", level.name},
                       {"from", units_[level.writer]->plan().name},
                       {"to", units_[level.reader]->plan().name},
                       {"held", level.held},
                       {"depth", level.depth}});
  }
}

}  // namespace tandem::emulation
