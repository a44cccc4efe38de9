// SPDX-License-Identifier: Apache-2.0
//
// Finds the largest set of units that wait only for units of the set: removes units until nothing
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

StandingWait standing(const std::string& unit, const PublishedWait& published) {
  const Channel& channel = *published.wait.channel;
  const int side = published.wait.side;
  return {unit,
          published.process,
          channel.name,
          side == tandem_hls::kReader,
          channel.held(),
          channel.depth,
          {channel.wait_file[side], channel.wait_line[side]}};
}

// If no stream among these units can grow, growth of another stream does not help them.
void UnitGroup::publish(Scheduler& unit, Rest rest) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(entries_, [&unit](const Entry& entry) { return entry.unit == &unit; });
  entries_.push_back({&unit, std::move(rest)});
  Set all, fixed;
  for (const Entry& entry : entries_) {
    all.push_back(&entry);
    const std::vector<PublishedWait>& waits = entry.rest.waits;
    const bool grows = std::any_of(waits.begin(), waits.end(),
                                   [](const PublishedWait& each) { return can_grow(each.wait); });
    if (!grows) fixed.push_back(&entry);
  }
  const Set stuck = closed(std::move(fixed));
  for (const Entry* entry : stuck) {
    if (entry->unit->holds_processes()) return entry->unit->begin_held_soon();
  }
  const auto runs_command = [](const Entry* entry) { return entry->rest.command; };
  if (std::any_of(stuck.begin(), stuck.end(), runs_command)) return end(stuck);
  for (const Entry* entry : closed(std::move(all))) {
    for (const PublishedWait& published : entry->rest.waits) {
      if (!can_grow(published.wait)) continue;
      grow(*published.wait.channel, false);
      entry->unit->signal();
      return;
    }
  }
}

void UnitGroup::withdraw(Scheduler& unit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::erase_if(entries_, [&unit](const Entry& entry) { return entry.unit == &unit; });
}

std::vector<std::string> UnitGroup::waits_of(const Scheduler& unit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> texts;
  for (const Entry& entry : entries_) {
    const std::vector<PublishedWait>& waits = entry.rest.waits;
    const bool goes_on = std::any_of(waits.begin(), waits.end(),
                                     [](const PublishedWait& each) { return is_ready(each.wait); });
    if (entry.unit != &unit || goes_on) continue;
    for (const PublishedWait& wait : waits) texts.push_back(describe(wait.process, wait.wait));
  }
  return texts;
}

UnitGroup::Set UnitGroup::closed(Set set) {
  for (size_t before = 0; before != set.size();) {
    before = set.size();
    const Set all = set;
    std::erase_if(set, [&all](const Entry* entry) { return !waits_inside(*entry, all); });
  }
  return set;
}

bool UnitGroup::waits_inside(const Entry& entry, const Set& set) {
  const std::vector<PublishedWait>& waits = entry.rest.waits;
  return std::all_of(waits.begin(), waits.end(), [&set](const PublishedWait& published) {
    const Wait& wait = published.wait;
    if (is_ready(wait)) return false;
    const void* const other = wait.channel->unit[1 - wait.side];
    if (other == nullptr) return true;  // inside the unit, all of which is blocked
    return std::any_of(set.begin(), set.end(),
                       [other](const Entry* member) { return member->unit == other; });
  });
}

// Ends the commands of units that cannot continue.
void UnitGroup::end(const Set& set) {
  std::string message;
  std::vector<StandingWait> waits;
  for (const Entry* entry : set) {
    if (!entry->rest.is_final) return;  // it publishes again later
    for (const PublishedWait& published : entry->rest.waits) {
      message += (message.empty() ? "" : "; ") + ("unit '" + entry->unit->name() + "': ") +
                 describe(published.process, published.wait);
      waits.push_back(standing(entry->unit->name(), published));
    }
  }
  for (const Entry* entry : set) {
    if (entry->rest.command) entry->unit->end_in_deadlock(message, waits);
  }
}

}  // namespace tandem::hls_runtime
