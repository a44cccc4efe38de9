// SPDX-License-Identifier: Apache-2.0
//
// The largest set closed under "waits only for units of the set", by removing units until nothing
// changes.
#include "fpga_hls/runtime/unit_group.h"

#include <algorithm>

#include "fpga_hls/runtime/scheduler.h"

namespace tandem::hls_runtime {

std::string describe(const std::string& process, const Wait& wait) {
  const Channel& channel = *wait.channel;
  std::string text = "process '" + process + "' waits for " +
                     (wait.side == tandem_hls::kReader ? "data in" : "space in") + " stream '" +
                     channel.name + "'";
  if (wait.side == tandem_hls::kWriter) {
    text += " (" + std::to_string(channel.held()) + " held";
    if (channel.depth != 0) text += ", depth " + std::to_string(channel.depth);
    text += ")";
  }
  return text;
}

void UnitGroup::publish(Scheduler& unit, std::vector<PublishedWait> waits, bool command) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(entries_, [&unit](const Entry& entry) { return entry.unit == &unit; });
  entries_.push_back({&unit, std::move(waits), command});
  std::vector<const Entry*> set;
  for (const Entry& entry : entries_) set.push_back(&entry);
  for (size_t before = 0; before != set.size();) {
    before = set.size();
    const std::vector<const Entry*> all = set;
    std::erase_if(set, [&](const Entry* entry) { return !waits_inside(*entry, all); });
  }
  if (!set.empty()) resolve(set);
}

void UnitGroup::withdraw(Scheduler& unit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(entries_, [&unit](const Entry& entry) { return entry.unit == &unit; });
}

bool UnitGroup::waits_inside(const Entry& entry, const std::vector<const Entry*>& set) const {
  return std::all_of(entry.waits.begin(), entry.waits.end(), [&](const PublishedWait& published) {
    const Wait& wait = published.wait;
    if (is_ready(wait)) return false;
    const void* const other = wait.channel->unit[1 - wait.side];
    if (other == nullptr) return true;  // inside the unit, all of which is blocked
    return std::any_of(set.begin(), set.end(),
                       [other](const Entry* member) { return member->unit == other; });
  });
}

void UnitGroup::resolve(const std::vector<const Entry*>& set) {
  for (const Entry* entry : set) {
    for (const PublishedWait& published : entry->waits) {
      if (published.wait.side != tandem_hls::kWriter) continue;
      Channel& channel = *published.wait.channel;
      channel.extra.fetch_add(std::max<uint64_t>(channel.depth, 64));
      entry->unit->signal();
      return;
    }
  }
  std::string message;
  for (const Entry* entry : set) {
    for (const PublishedWait& published : entry->waits) {
      message += (message.empty() ? "" : "; ") + ("unit '" + entry->unit->name() + "': ") +
                 describe(published.process, published.wait);
    }
  }
  for (const Entry* entry : set) {
    if (entry->command) entry->unit->end_in_deadlock(message);
  }
}

}  // namespace tandem::hls_runtime
