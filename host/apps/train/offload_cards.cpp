// SPDX-License-Identifier: Apache-2.0
//
// Emulated cards belong to a process, so ranks with the same card do not meet.
#include "apps/train/offload_cards.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "apps/emulated_cards.h"
#include "common/error.h"
#include "device/registry.h"

namespace tandem::apps {
namespace {

std::vector<std::string> ids_of(const std::string& offload) {
  std::vector<std::string> ids;
  if (!offload.starts_with("xrt")) return ids;
  std::istringstream words(offload);
  std::set<std::string> seen;
  for (std::string word; std::getline(words, word, ',');) {
    const std::string id = device::full_id(word);
    if (!id.starts_with("xrt:")) {
      throw Error("train", "--offload " + offload + ": '" + word +
                               "' is not a card; name cards as in xrt:0,xrt:1");
    }
    if (!seen.insert(id).second) {
      throw Error("train", "--offload " + offload + ": '" + word + "' is named twice");
    }
    ids.push_back(id);
  }
  return ids;
}

// Those that are here without being asked for: real ones, or emulated ones that the user has set
// up.
std::vector<std::string> present_cards() {
  std::vector<std::string> ids;
  for (const device::Backend* backend : device::backends()) {
    if (backend->kind() != "xrt" || !backend->available()) continue;
    for (const device::DeviceInfo& info : backend->enumerate({})) {
      if (info.makes_tables) ids.push_back(info.id);
    }
  }
  return ids;
}

}  // namespace

std::vector<std::string> cards_of_rank(const std::vector<std::string>& ids, int local, int ranks) {
  std::vector<std::string> own;
  if (ids.empty()) return own;
  const auto count = ids.size(), step = static_cast<std::size_t>(ranks);
  for (std::size_t at = static_cast<std::size_t>(local); at < count; at += step) {
    own.push_back(ids[at]);
  }
  if (own.empty()) own.push_back(ids[static_cast<std::size_t>(local) % count]);
  return own;
}

OffloadCards::OffloadCards(const std::string& offload, const RankPlace& place) {
  const std::vector<std::string> ids = offload == "auto" ? present_cards() : ids_of(offload);
  if (ids.empty()) return;
  if (offload != "auto") {
    provide_cards(ids, [](const std::string& text) { spdlog::warn("{}", text); });
  }
  ids_ = cards_of_rank(ids, place.rank % place.local_world, place.local_world);
}

std::vector<std::unique_ptr<device::TableUnit>> OffloadCards::make() {
  std::vector<std::unique_ptr<device::TableUnit>> units;
  devices_.clear();
  for (const std::string& id : ids_) {
    devices_.push_back(device::open_device(id, {}));
    units.push_back(devices_.back()->make_table_unit());
  }
  return units;
}

double OffloadCards::link_bytes_per_s() const {
  double slowest = 0;
  for (const auto& device : devices_) {
    const double own = device->info().link_bandwidth_bytes_per_s;
    slowest = slowest == 0 ? own : std::min(slowest, own);
  }
  return slowest;
}

}  // namespace tandem::apps
