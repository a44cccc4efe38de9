// SPDX-License-Identifier: Apache-2.0
//
// A simulation of the items that are under way, from one end or start to the next.
#include "apps/card/card_schedule.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>

#include "apps/card/card_report.h"
#include "apps/card/card_times.h"

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;

constexpr double kTiny = 1e-9;

struct Item {
  std::uint64_t begun = 0, ended = 0;  // real
  std::string card;                    // begins the names of its channels; empty: not known
  std::string unit;                    // empty: a copy
  std::map<std::string, double> uses;  // share of a channel's time, running alone
  double left_us = 0;
  double rate = 1;
  std::size_t needs = 0;  // items that must have ended before, of those in order of real ends
  bool started = false, over = false;
};

std::uint64_t stamp(const ordered_json& line, const char* name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

Item item_of(const ordered_json& line) {
  Item item;
  item.begun = stamp(line, "begun_ns");
  item.ended = std::max(stamp(line, "ended_ns"), item.begun);
  item.left_us = number_member(line, "modelled_us");
  if (text_member(line, "kind") != kTimeKind) {
    const std::string card = std::to_string(static_cast<int>(number_member(line, "card")));
    item.uses["link of card " + card + ", " + text_member(line, "direction")] = 1;
    return item;
  }
  item.unit = text_member(line, "unit");
  const auto process = static_cast<std::int64_t>(number_member(line, "process"));
  if (process != 0) item.card = std::to_string(process) + " ";
  if (item.left_us <= 0) return item;
  for (const ordered_json& each : list_member(line, "channels")) {
    const double share = number_member(each, "busy_us") / item.left_us;
    if (share > 0) item.uses[item.card + text_member(each, "bank")] = std::min(1.0, share);
  }
  return item;
}

class Simulation {
 public:
  explicit Simulation(const std::vector<ordered_json>& lines) {
    for (const ordered_json& line : lines) {
      items_.push_back(item_of(line));
      result_.push_back({&line, 0, 0, items_.back().left_us, "", {}});
    }
    std::vector<std::size_t> by_end(items_.size());
    std::iota(by_end.begin(), by_end.end(), 0);
    begins_ = by_end;
    const auto less = [this](auto member) {
      return [this, member](std::size_t a, std::size_t b) {
        return items_[a].*member < items_[b].*member;
      };
    };
    std::stable_sort(by_end.begin(), by_end.end(), less(&Item::ended));
    std::stable_sort(begins_.begin(), begins_.end(), less(&Item::begun));
    for (Item& item : items_) {
      const auto after = std::upper_bound(
          by_end.begin(), by_end.end(), item.begun,
          [this](std::uint64_t begun, std::size_t other) { return begun < items_[other].ended; });
      item.needs = static_cast<std::size_t>(after - by_end.begin());
    }
    ends_ = std::move(by_end);
  }

  std::vector<ScheduledItem> run() {
    while (next_ < begins_.size() || !active_.empty()) {
      start_ready();
      set_rates();
      advance();
    }
    std::stable_sort(result_.begin(), result_.end(),
                     [](const auto& a, const auto& b) { return a.start_us < b.start_us; });
    return std::move(result_);
  }

 private:
  bool may_start(const Item& item) {
    // Items of the same time may wait for each other; then the first goes on.
    while (ended_ < ends_.size() && items_[ends_[ended_]].over) ++ended_;
    if (ended_ < item.needs && !active_.empty()) return false;
    return std::none_of(active_.begin(), active_.end(), [&](std::size_t other) {
      return !item.unit.empty() && items_[other].unit == item.unit &&
             items_[other].card == item.card;
    });
  }

  // In the order of real begins, so nothing overtakes.
  void start_ready() {
    while (next_ < begins_.size() && may_start(items_[begins_[next_]])) {
      const std::size_t index = begins_[next_++];
      items_[index].started = true;
      result_[index].start_us = now_us_;
      active_.push_back(index);
    }
  }

  // Rates rise together; those that use a channel that is full stay.
  void set_rates() {
    std::map<std::string, double> room;
    std::vector<std::size_t> rising = active_;
    for (const std::size_t index : active_) {
      items_[index].rate = 0;
      for (const auto& [channel, share] : items_[index].uses) room[channel] = 1;
    }
    double level = 0;
    while (!rising.empty()) {
      std::map<std::string, double> wanted;
      for (const std::size_t index : rising) {
        for (const auto& [channel, share] : items_[index].uses) wanted[channel] += share;
      }
      double step = 1 - level;
      std::string full;
      for (const auto& [channel, share] : wanted) {
        if (room[channel] / share < step - kTiny) {
          step = room[channel] / share;
          full = channel;
        }
      }
      level += step;
      for (const auto& [channel, share] : wanted) room[channel] -= share * step;
      std::erase_if(rising, [&](std::size_t index) {
        const bool stays = full.empty() || items_[index].uses.count(full) != 0;
        if (stays) items_[index].rate = level;
        if (stays && !full.empty()) note_shared(index, full);
        return stays;
      });
    }
  }

  void note_shared(std::size_t index, const std::string& channel) {
    ScheduledItem& item = result_[index];
    item.shared = channel.substr(items_[index].card.size());
    for (const std::size_t other : active_) {
      const std::string& unit = items_[other].unit;
      if (other == index || unit.empty() || items_[other].uses.count(channel) == 0) continue;
      if (std::find(item.with.begin(), item.with.end(), unit) == item.with.end()) {
        item.with.push_back(unit);
      }
    }
  }

  void advance() {
    double step = std::numeric_limits<double>::infinity();
    for (const std::size_t index : active_) {
      step = std::min(step, items_[index].left_us / items_[index].rate);
    }
    if (active_.empty()) return;
    now_us_ += step;
    std::erase_if(active_, [&](std::size_t index) {
      Item& item = items_[index];
      item.left_us -= step * item.rate;
      if (item.left_us > kTiny * (1 + now_us_)) return false;
      item.over = true;
      result_[index].end_us = now_us_;
      return true;
    });
  }

  std::vector<Item> items_;
  std::vector<ScheduledItem> result_;
  std::vector<std::size_t> begins_, ends_;  // items in the order of their real begins and ends
  std::size_t next_ = 0;                    // of begins_
  std::size_t ended_ = 0;                   // so many of ends_ are over
  std::vector<std::size_t> active_;
  double now_us_ = 0;
};

}  // namespace

std::vector<ScheduledItem> schedule_card_times(const std::vector<ordered_json>& lines) {
  return Simulation(lines).run();
}

}  // namespace tandem::apps
