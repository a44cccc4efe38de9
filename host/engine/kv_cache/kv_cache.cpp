// SPDX-License-Identifier: Apache-2.0
//
// Page tables over the units' pools, and the placements.
//
// kPages deals the next block to the unit with the least (blocks held + 1) / (bandwidth x free
// fraction): all units then finish attending at the same time, and a nearly full one gets fewer.
// With shares it is (blocks held + 1) / share; a unit that has less left than its share of the
// sequence's blocks until the end gets less in proportion. The block of a decode row goes near the
// compute device while that holds less than its share. kSequences chooses a home for a sequence
// without one: among the units where it fits whole, the one with the least (pages in use + pages
// wanted) / bandwidth (or share), both as expected at the end. A sequence that attached to a prefix
// joins the prefix's unit unless the load there is more than twice the least. One that fits nowhere
// is split in proportion to bandwidth (or share) and to what the units have left.
#include "engine/kv_cache/kv_cache.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::engine {
namespace {

// A sequence joins the unit of its prefix while its load is at most this many times the least load.
constexpr double kPrefixLoadFactor = 2.0;

PrefixLink prefix_root(PrefixKey salt) { return {salt, 0}; }

}  // namespace

KvCache::KvCache(int page_tokens, Placement placement, bool prefix_cache, PrefixIndex::Hash hash)
    : page_tokens_(static_cast<std::size_t>(page_tokens)),
      placement_(placement),
      prefix_cache_(prefix_cache),
      index_(hash) {}

int KvCache::add_unit(std::uint32_t num_pages, double bandwidth, double share) {
  units_.push_back({PagePool(num_pages), bandwidth, share, true, 0});
  has_shares_ |= share > 0;
  return static_cast<int>(units_.size()) - 1;
}

void KvCache::set_share(int unit, double share) {
  units_[unit].share = share;
  has_shares_ |= share > 0;
}

void KvCache::lose_unit(int unit) {
  units_[unit].alive = false;
  units_[unit].pool = PagePool(0);
  units_[unit].withheld = 0;
  index_.erase_unit(unit);
}

void KvCache::return_unit(int unit, std::uint32_t num_pages, double share) {
  TANDEM_CHECK(!units_[unit].alive);
  units_[unit] = {PagePool(num_pages), units_[unit].bandwidth, share, true, 0};
  has_shares_ |= share > 0;
}

std::uint32_t KvCache::num_pages() const {
  std::uint32_t total = 0;
  for (const Unit& unit : units_) total += unit.pool.num_pages() - unit.withheld;
  return total;
}

std::uint32_t KvCache::num_available() const {
  std::uint32_t total = 0;
  for (const Unit& unit : units_) total += unit.pool.num_available();
  return total;
}

UnitPages KvCache::unit_pages(int unit) const {
  const Unit& u = units_[unit];
  return {u.alive, u.pool.num_pages() - u.withheld, u.pool.num_used() - u.withheld,
          u.pool.num_idle()};
}

std::size_t KvCache::matchable_blocks(std::span<const TokenId> tokens) const {
  return prefix_cache_ && !tokens.empty() ? (tokens.size() - 1) / page_tokens_ : 0;
}

PrefixProbe KvCache::probe(std::span<const TokenId> tokens, PrefixKey salt) const {
  PrefixProbe probe;
  PrefixLink link = prefix_root(salt);
  const std::size_t limit = matchable_blocks(tokens);
  for (; probe.num_blocks < limit; ++probe.num_blocks) {
    const auto hit = index_.find(link, block_tokens(tokens, probe.num_blocks));
    if (!hit) break;
    link = hit->link;
    if (units_[hit->place.unit].pool.references(hit->place.page) > 0) ++probe.num_in_use;
  }
  return probe;
}

std::size_t KvCache::attach(PageTable& table, std::span<const TokenId> tokens) {
  TANDEM_CHECK(table.blocks.empty());
  const std::size_t limit = matchable_blocks(tokens);
  reserve_blocks(table, limit);
  table.link = prefix_root(table.salt);
  while (table.blocks.size() < limit) {
    const auto hit = index_.find(table.link, block_tokens(tokens, table.blocks.size()));
    if (!hit) break;
    units_[hit->place.unit].pool.retain(hit->place.page);
    add_block(table, hit->place);
    table.link = hit->link;
  }
  table.num_attached = table.num_published = table.blocks.size();
  return table.blocks.size() * page_tokens_;
}

bool KvCache::extend(PageTable& table, std::size_t num_tokens, std::size_t num_expected) {
  const std::size_t wanted = blocks_for(num_tokens);
  if (wanted <= table.blocks.size()) return true;
  if (wanted - table.blocks.size() > num_available()) return false;
  reserve_blocks(table, wanted);
  const std::size_t at_end = std::max(wanted, blocks_for(num_expected));
  const std::size_t held = table.blocks.size();
  const bool is_decode = placement_ == Placement::kPages && held > 0 && wanted == held + 1;
  if (places_by_sequence() && !home(table)) {
    const std::optional<int> unit = choose_home(table, wanted - held, at_end - held);
    if (!unit) split(table, wanted);
    if (unit) add_block(table, take_page(*unit));
    units_[table.blocks.back().unit].growth += at_end - wanted;
  }
  while (table.blocks.size() < wanted) {
    const std::size_t missing = wanted - table.blocks.size();
    const int unit = places_by_sequence() ? choose_home(table, missing, 0).value_or(roomiest())
                                          : choose_by_share(table, at_end, is_decode);
    add_block(table, take_page(unit));
  }
  if (!places_by_sequence()) bring_tail_near(table, held);
  return true;
}

// Deals the blocks of a sequence that fits on no unit.
void KvCache::split(PageTable& table, std::size_t wanted) {
  const std::size_t first_new = table.blocks.size();
  std::vector<double> worth, taken(units_.size());
  for (std::size_t u = 0; u < units_.size(); ++u) {
    worth.push_back(weight(static_cast<int>(u)) * units_[u].pool.num_available());
  }
  while (table.blocks.size() < wanted) {
    int best = -1;
    const auto cost = [&](int unit) { return (taken[unit] + 1) / worth[unit]; };
    for (int unit = 0; unit < static_cast<int>(units_.size()); ++unit) {
      if (units_[unit].pool.num_available() == 0) continue;
      if (best < 0 || cost(unit) < cost(best)) best = unit;
    }
    add_block(table, take_page(best));
    ++taken[best];
  }
  bring_tail_near(table, first_new);
}

// New blocks are empty, so their order is free: the prefix lies on other units, and the tail, which
// grows, near the compute device.
void KvCache::bring_tail_near(PageTable& table, std::size_t first_new) {
  const auto begin = table.blocks.begin() + static_cast<std::ptrdiff_t>(first_new);
  std::stable_partition(begin, table.blocks.end(),
                        [&](const BlockPlace& place) { return !is_near(place.unit); });
}

void KvCache::expect_growth(std::span<const std::size_t> blocks) {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    units_[u].growth = u < blocks.size() ? blocks[u] : 0;
  }
}

BlockPlace KvCache::take_page(int unit) {
  const auto taken = units_[unit].pool.take();
  TANDEM_CHECK(taken.has_value());
  if (taken->evicted != 0) index_.erase(taken->evicted);
  return {unit, taken->page};
}

// First the calls that may throw, then a page is taken. At least doubles, because a sequence grows
// block by block.
void KvCache::reserve_blocks(PageTable& table, std::size_t num_blocks) {
  if (num_blocks > table.blocks.capacity()) {
    table.blocks.reserve(std::max(num_blocks, 2 * table.blocks.capacity()));
  }
  if (table.held.size() < units_.size()) table.held.resize(units_.size());
}

void KvCache::add_block(PageTable& table, const BlockPlace& place) {
  ++table.held[place.unit];
  table.blocks.push_back(place);
}

double KvCache::weight(int unit) const {
  if (placement_ == Placement::kInterleave) return 1.0;
  const auto of = [&](const Unit& u) { return has_shares_ ? u.share : u.bandwidth; };
  if (of(units_[unit]) > 0) return of(units_[unit]);
  double sum = 0;
  int known = 0;
  for (const Unit& u : units_) {
    if (of(u) > 0) sum += of(u), ++known;
  }
  return known > 0 ? sum / known : 1.0;
}

int KvCache::choose_by_share(const PageTable& table, std::size_t at_end, bool is_decode) const {
  int best = -1;
  double best_cost = 0, all = 0;
  for (int unit = 0; unit < static_cast<int>(units_.size()); ++unit) {
    if (units_[unit].pool.num_available() > 0) all += weight(unit);
  }
  const auto rest = static_cast<double>(at_end - table.blocks.size());
  for (int unit = 0; unit < static_cast<int>(units_.size()); ++unit) {
    const PagePool& pool = units_[unit].pool;
    if (pool.num_available() == 0) continue;
    const auto index = static_cast<std::size_t>(unit);
    const double held = index < table.held.size() ? table.held[index] : 0;
    const double wanted = has_shares_ ? rest * weight(unit) / all : pool.num_pages();
    const double room = std::min(1.0, pool.num_available() / wanted);
    const double due = weight(unit) / all * static_cast<double>(table.blocks.size() + 1);
    if (is_decode && is_near(unit) && held + 0.5 <= due) return unit;
    const double cost = (held + 1) / (weight(unit) * room);
    if (best < 0 || cost < best_cost) best = unit, best_cost = cost;
  }
  return best;
}

std::optional<int> KvCache::home(const PageTable& table) const {
  if (!places_by_sequence() || table.blocks.size() <= table.num_attached) return std::nullopt;
  return table.blocks.back().unit;
}

int KvCache::roomiest() const {
  const auto by_room = [](const Unit& unit) { return unit.pool.num_available(); };
  return static_cast<int>(std::ranges::max_element(units_, {}, by_room) - units_.begin());
}

// Empty if the sequence fits on no unit.
std::optional<int> KvCache::choose_home(const PageTable& table, std::size_t missing,
                                        std::size_t in_the_end) const {
  const int last = table.blocks.empty() ? -1 : table.blocks.back().unit;
  if (home(table) && units_[last].pool.num_available() > 0) return last;
  const std::size_t most = std::max(missing, in_the_end);
  const auto load = [&](int unit) {
    const Unit& u = units_[unit];
    return static_cast<double>(u.pool.num_used() + u.growth + most) / weight(unit);
  };
  int best = -1;
  for (int unit = 0; unit < static_cast<int>(units_.size()); ++unit) {
    const std::uint32_t available = units_[unit].pool.num_available();
    if (available == 0) continue;
    if (available >= missing && (best < 0 || load(unit) < load(best))) best = unit;
  }
  if (best < 0) return std::nullopt;
  if (last >= 0 && units_[last].pool.num_available() >= missing &&
      load(last) <= kPrefixLoadFactor * load(best)) {
    return last;
  }
  return best;
}

void KvCache::publish(PageTable& table, std::span<const TokenId> tokens, std::size_t num_written) {
  if (!prefix_cache_) return;
  const std::size_t full = num_written / page_tokens_;
  if (!table.publishes || table.num_published >= full) return;
  // The entries of equal prefixes and attached blocks may have been evicted: begin again at the
  // root.
  if (table.num_published == 0 || !index_.reachable(table.link)) {
    table.num_published = 0, table.link = prefix_root(table.salt);
  }
  for (; table.publishes && table.num_published < full; ++table.num_published) {
    const auto block = block_tokens(tokens, table.num_published);
    const BlockPlace& place = table.blocks[table.num_published];
    if (const auto known = index_.find(table.link, block)) {
      table.link = known->link;  // another sequence published it first: this page stays private
    } else if (const auto entry = index_.insert(table.link, block, place)) {
      if (const auto& old = entry->displaced) units_[old->unit].pool.forget_key(old->page);
      units_[place.unit].pool.set_key(place.page, entry->link.key);
      table.link = entry->link;
    } else {
      table.publishes = false;
    }
  }
}

void KvCache::release(PageTable& table) {
  // Last block first: the tail of a prefix is then evicted before its head.
  for (auto place = table.blocks.rbegin(); place != table.blocks.rend(); ++place) {
    if (units_[place->unit].alive) units_[place->unit].pool.release(place->page);
  }
  const PrefixKey salt = table.salt;
  table = PageTable();
  table.salt = salt;
}

std::optional<BlockPlace> KvCache::reserve(int unit) {
  if (!units_[unit].alive || units_[unit].pool.num_available() == 0) return std::nullopt;
  return take_page(unit);
}

void KvCache::give_back(const BlockPlace& place) {
  if (units_[place.unit].alive) units_[place.unit].pool.release(place.page);
}

void KvCache::withhold(const BlockPlace& place) {
  units_[place.unit].pool.retain(place.page);
  ++units_[place.unit].withheld;
}

void KvCache::relocate(const BlockPlace& from, const BlockPlace& to,
                       std::span<PageTable* const> tables) {
  PagePool& old_pool = units_[from.unit].pool;
  PagePool& new_pool = units_[to.unit].pool;
  std::uint32_t found = 0;
  for (PageTable* table : tables) {
    for (BlockPlace& place : table->blocks) {
      if (place != from) continue;
      place = to;
      table->held.resize(units_.size());
      --table->held[from.unit];
      ++table->held[to.unit];
      if (found++ > 0) new_pool.retain(to.page);  // the first reference is the reservation
    }
  }
  TANDEM_CHECK_OP(found, ==, old_pool.references(from.page));
  if (const PrefixKey key = old_pool.key(from.page); key != 0) {
    index_.relocate(key, to);
    old_pool.forget_key(from.page);
    new_pool.set_key(to.page, key);
  }
  for (; found > 0; --found) old_pool.release(from.page);
}

bool KvCache::touches(const PageTable& table, int unit) {
  return static_cast<std::size_t>(unit) < table.held.size() && table.held[unit] > 0;
}

std::vector<std::uint32_t> KvCache::held_alone(const PageTable& table) const {
  std::vector<std::uint32_t> held(units_.size());
  for (const BlockPlace& place : table.blocks) {
    if (units_[place.unit].alive && !is_shared(place)) ++held[place.unit];
  }
  return held;
}

std::uint32_t KvCache::num_sole(const PageTable& table) const {
  std::uint32_t count = 0;
  for (const BlockPlace& place : table.blocks) {
    const Unit& unit = units_[place.unit];
    if (unit.alive && unit.pool.references(place.page) == 1) ++count;
  }
  return count;
}

}  // namespace tandem::engine
