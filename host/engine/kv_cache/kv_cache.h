// SPDX-License-Identifier: Apache-2.0
//
// KvCache: which block of which sequence lives in which page of which attention unit.
//
// A sequence's KV is cut into blocks of page_tokens tokens; its PageTable lists a (unit, page) per
// block, in order. Every block but the last is full. Full blocks that have been written may be
// published: a later sequence with the same prefix attaches to them instead of computing them.
// Placement chooses only where a new block goes: with kSequences a sequence stays on one unit until
// that is full, otherwise its blocks are dealt over all living units, so any mixture is legal.
// Unit numbers are those of add_unit(), and are never reused. Threads: the engine's. Cost: O(blocks
// touched x units). Errors: extend() answers false when the pages do not suffice, and then changes
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv_cache/page_pool.h"
#include "engine/kv_cache/prefix_index.h"

namespace tandem::engine {

enum class Placement {
  kSequences,   // a sequence lives on one unit, chosen by load and bandwidth, while it fits there
  kPages,       // the pages of every sequence are dealt over all units by bandwidth and free pages
  kInterleave,  // the same in equal shares, whatever the bandwidth
};

struct PageTable {
  std::vector<BlockPlace> blocks;
  std::vector<std::uint32_t> held;  // [units] blocks per unit
  std::size_t num_attached = 0;     // leading blocks that were there before the sequence
  std::size_t num_published = 0;    // leading blocks that the index has been told of
  PrefixLink link;                  // end of the published chain
  bool publishes = true;            // false once its chain has met a foreign key
};

struct PrefixProbe {
  std::size_t num_blocks = 0;  // known leading blocks
  std::size_t num_in_use = 0;  // of these, held by running sequences: attaching costs no page
};

struct UnitPages {
  bool alive = true;
  std::uint32_t total = 0, used = 0, idle = 0;
};

class KvCache {
 public:
  KvCache(int page_tokens, Placement placement, bool prefix_cache,
          PrefixIndex::Hash hash = hash_block);

  // Bandwidth: bytes per second, any positive scale. Share: of the sequences or pages, as the
  // placement deals them, instead of by bandwidth; any positive scale, for all units or none. Of
  // either, 0 counts as the mean of the others.
  int add_unit(std::uint32_t num_pages, double bandwidth, double share = 0);
  // Its pages are gone: tables that touch it must be released. Prefixes in it are forgotten.
  void lose_unit(int unit);

  int page_tokens() const { return page_tokens_; }
  std::size_t blocks_for(std::size_t num_tokens) const {
    return (num_tokens + page_tokens_ - 1) / page_tokens_;
  }
  std::uint32_t num_pages() const;      // of living units
  std::uint32_t num_available() const;  // free or idle, of living units
  UnitPages unit_pages(int unit) const;

  // What attach() would find. A hit always leaves at least one token to compute.
  PrefixProbe probe(std::span<const TokenId> tokens) const;
  // `table` must be empty. Returns the tokens whose KV is there already.
  std::size_t attach(PageTable& table, std::span<const TokenId> tokens);

  // Blocks for num_tokens tokens; all or nothing.
  bool extend(PageTable& table, std::size_t num_tokens);
  // The first `num_written` of `tokens` have been appended: their full blocks may be found.
  void publish(PageTable& table, std::span<const TokenId> tokens, std::size_t num_written);
  // The pages come back, last block first; the table is empty afterwards.
  void release(PageTable& table);

  // Moving a page: a page of `unit` is taken, with nothing in it; nothing where none is left.
  std::optional<BlockPlace> reserve(int unit);
  void give_back(const BlockPlace& place);
  // What was in `from` is in `to`, a reserved page: `tables`, which hold all references to `from`,
  // and the prefix index find it there.
  void relocate(const BlockPlace& from, const BlockPlace& to, std::span<PageTable* const> tables);
  // What a unit is to take of the whole, by share or by bandwidth; above 0.
  double weight(int unit) const;

  static bool touches(const PageTable& table, int unit);
  // [units] Blocks per unit that no other sequence holds.
  std::vector<std::uint32_t> held_alone(const PageTable& table) const;
  bool is_shared(const BlockPlace& place) const {
    return units_[place.unit].pool.references(place.page) > 1;
  }
  // Pages that release() would make available.
  std::uint32_t num_sole(const PageTable& table) const;

 private:
  struct Unit {
    PagePool pool;
    double bandwidth = 0, share = 0;
    bool alive = true;
  };

  std::span<const TokenId> block_tokens(std::span<const TokenId> tokens, std::size_t block) const {
    return tokens.subspan(block * page_tokens_, page_tokens_);
  }
  std::size_t matchable_blocks(std::span<const TokenId> tokens) const;
  int choose_by_share(const PageTable& table) const;
  int choose_home(const PageTable& table, std::size_t missing) const;
  BlockPlace take_page(int unit);
  void add_block(PageTable& table, const BlockPlace& place);

  std::size_t page_tokens_;
  Placement placement_;
  bool prefix_cache_;
  PrefixIndex index_;
  std::vector<Unit> units_;
  bool has_shares_ = false;
};

}  // namespace tandem::engine
