// SPDX-License-Identifier: Apache-2.0
//
// Emulated cards belong to one process, so ranks that name the same card do not share it.
#include "apps/train/offload_cards.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>

#include "apps/emulated_cards.h"
#include "common/error.h"
#include "device/registry.h"

namespace tandem::apps {
namespace {

bool is_card(std::string_view id) {
  constexpr std::string_view kKind = "xrt:";
  constexpr std::size_t kMostDigits = 4;
  if (!id.starts_with(kKind)) return false;
  const std::string_view number = id.substr(kKind.size());
  return !number.empty() && number.size() <= kMostDigits &&
         number.find_first_not_of("0123456789") == number.npos;
}

std::vector<std::string> named_ids(const std::string& offload) {
  std::vector<std::string> ids;
  if (!offload.starts_with("xrt")) return ids;
  std::istringstream words(offload + ",");  // a word ends with it
  std::set<std::string> seen;
  for (std::string word; std::getline(words, word, ',');) {
    const std::string id = device::full_id(word);
    if (!is_card(id)) {
      throw Error("train", "--offload " + offload + ": '" + word +
                               "' is not a card; name cards as in xrt:0,xrt:1");
    }
    if (!seen.insert(id).second) {
      throw Error("train",
                  "--offload " + offload + ": '" + word + "' is named twice; name each card once");
    }
    ids.push_back(id);
  }
  return ids;
}

// Those that are here: real ones, or emulated ones that the user has set up.
std::vector<device::DeviceInfo> present_cards() {
  std::vector<device::DeviceInfo> cards;
  for (const device::Backend* backend : device::backends()) {
    if (backend->kind() != "xrt" || !backend->available()) continue;
    for (device::DeviceInfo& info : backend->enumerate({})) {
      if (info.makes_tables) cards.push_back(std::move(info));
    }
  }
  return cards;
}

std::vector<std::string> ids_of(const std::vector<device::DeviceInfo>& cards) {
  std::vector<std::string> ids;
  for (const device::DeviceInfo& card : cards) ids.push_back(card.id);
  return ids;
}

// A card that is closed with its unit.
class OpenCard final : public device::TableUnit {
 public:
  explicit OpenCard(const std::string& id)
      : device_(device::open_device(id, {})), unit_(device_->make_table_unit()) {}
  std::string name() const override { return unit_->name(); }
  void load(std::span<const device::TableShape> shapes, std::span<const device::TableArrays> arrays,
            Deadline deadline) override {
    unit_->load(shapes, arrays, deadline);
  }
  device::TableReport update(const device::TableUpdate& update, const device::TableArrays& arrays,
                             Deadline deadline) override {
    return unit_->update(update, arrays, deadline);
  }

 private:
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<device::TableUnit> unit_;
};

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

OffloadCards::OffloadCards(const std::string& offload, const RankPlace& place)
    : is_auto_(offload == "auto"), place_(place) {
  const std::vector<std::string> ids = named_ids(offload);
  if (ids.empty()) return;
  provide_cards(ids, [](const std::string& text) { spdlog::warn("{}", text); });
  own_ = cards_of_rank(ids, place.rank % place.local_world, place.local_world);
}

void OffloadCards::find() {
  if (std::exchange(found_, true)) return;
  infos_ = present_cards();
  if (is_auto_) {
    own_ = cards_of_rank(ids_of(infos_), place_.rank % place_.local_world, place_.local_world);
  }
  std::erase_if(infos_,
                [&](const auto& info) { return std::ranges::find(own_, info.id) == own_.end(); });
}

training::TableCards OffloadCards::make() {
  if (is_auto_) find();
  training::TableCards cards;
  for (const std::string& id : own_) cards.push_back(std::make_unique<OpenCard>(id));
  return cards;
}

training::CardFacts OffloadCards::facts() {
  find();
  training::CardFacts facts{static_cast<int>(own_.size()), 0};
  for (const device::DeviceInfo& info : infos_) {
    const double own = info.link_bandwidth_bytes_per_s;
    if (facts.link_bytes_per_s == 0 || own < facts.link_bytes_per_s) facts.link_bytes_per_s = own;
  }
  return facts;
}

}  // namespace tandem::apps
