// SPDX-License-Identifier: Apache-2.0
//
// KvCache: records which page of which attention unit holds each block of each sequence.
//
// A sequence's KV is cut into blocks of page_tokens tokens; its PageTable lists a (unit, page) per
// block, in order. Every block but the last is full. Full blocks that are written may be published;
// a later sequence with the same prefix then attaches to them instead of computing them. Placement
// decides only where a new block goes: with kSequences a sequence stays on one unit until that unit
// is full; otherwise, and where no unit has room for it, its blocks are distributed over all units.
// Of the blocks that one call distributes, the last are near the compute device. A sequence may use
// both. Unit numbers are those of add_unit(). Threads: the engine's. Cost: O(blocks touched x
// units). Errors: extend() answers false when there are too few pages, and then changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/kv_cache/page_pool.h"
#include "engine/kv_cache/prefix_index.h"

namespace tandem::engine {

enum class Placement {
  kSequences,  // a sequence is on one unit, chosen by load and bandwidth, while it fits there
  // the pages of every sequence are distributed over all units, by bandwidth and free pages
  kPages,
  kInterleave,  // the same in equal shares, for any bandwidth
};

struct PageTable {
  std::vector<BlockPlace> blocks;
  std::vector<std::uint32_t> held;  // [units] blocks per unit
  std::size_t num_attached = 0;     // leading blocks that were cached before the sequence
  std::size_t num_published = 0;    // leading blocks that the index knows
  PrefixLink link;                  // end of the published chain
  bool publishes = true;            // false once another prefix has the key of one of its blocks
  PrefixKey salt = 0;               // tables with another salt share no prefix; set before attach()
};

struct PrefixProbe {
  std::size_t num_blocks = 0;  // leading blocks that are cached
  std::size_t num_in_use = 0;  // of these, held by running sequences: attaching costs no page
};

struct UnitPages {
  bool alive = true;
  // Pages, without withheld ones.
  std::uint32_t total = 0, used = 0, idle = 0;
};

class KvCache {
 public:
  KvCache(int page_tokens, Placement placement, bool prefix_cache,
          PrefixIndex::Hash hash = hash_block);

  // Sequences or pages are dealt in proportion to `share` where any unit has one, else to
  // `bandwidth`. Both have any positive scale; 0 counts as the mean of the others.
  int add_unit(std::uint32_t num_pages, double bandwidth, double share = 0);
  // Sets the share of the unit, above 0. Later pages are dealt by it; pages that the unit holds do
  // not move.
  void set_share(int unit, double share);
  // The unit in the compute device's own memory, if there is one.
  void set_near(int unit) { near_ = unit; }
  bool is_near(int unit) const { return unit == near_; }
  // Forgets the unit's pages and prefixes. The caller releases the tables with pages on it.
  void lose_unit(int unit);
  // Adds a lost unit again, or another one under its number, with empty pages. It keeps its
  // bandwidth: one that is measured again beside running work may be far too low.
  void return_unit(int unit, std::uint32_t num_pages, double share = 0);

  int page_tokens() const { return page_tokens_; }
  std::size_t blocks_for(std::size_t num_tokens) const {
    return (num_tokens + page_tokens_ - 1) / page_tokens_;
  }
  std::uint32_t num_pages() const;      // of units that are not lost, without withheld pages
  std::uint32_t num_available() const;  // free or idle, of units that are not lost
  UnitPages unit_pages(int unit) const;

  // The result that attach() would have with this salt. At least one token always remains to be
  // computed.
  PrefixProbe probe(std::span<const TokenId> tokens, PrefixKey salt = 0) const;
  // `table` must be empty. Returns the number of tokens whose KV is cached.
  std::size_t attach(PageTable& table, std::span<const TokenId> tokens);

  // Adds blocks until the table holds num_tokens tokens. Returns false and adds none if there are
  // too few pages. `num_expected`: the tokens that the sequence will probably have at its end. It
  // decides on which unit a new sequence starts; 0: unknown.
  bool extend(PageTable& table, std::size_t num_tokens, std::size_t num_expected = 0);
  // The unit that takes the sequence's next block, if it has room. Empty while the sequence has no
  // block of its own, and always if pages are not placed by sequence.
  std::optional<int> home(const PageTable& table) const;
  bool places_by_sequence() const { return placement_ == Placement::kSequences; }
  // [units] The blocks by which the sequences with their home on each unit will probably still
  // grow. Replaces earlier expectations. extend() adds the growth of each sequence for which it
  // chooses a home. May be empty.
  void expect_growth(std::span<const std::size_t> blocks);
  // The KV of the first `num_written` of `tokens` is written: publishes their full blocks.
  void publish(PageTable& table, std::span<const TokenId> tokens, std::size_t num_written);
  // Returns all pages, last block first; the table is empty afterwards and keeps its salt.
  void release(PageTable& table);

  // Takes an empty page of `unit`, to move a page there; empty if none is available.
  std::optional<BlockPlace> reserve(int unit);
  void give_back(const BlockPlace& place);
  // The page, which is in use, is not used again until its unit is lost, because a late copy may
  // still write it. The caller gives back its own reference as for any page.
  void withhold(const BlockPlace& place);
  // The contents of `from` have moved to `to`, a reserved page: updates the prefix index and
  // `tables`, which hold all references to `from`.
  void relocate(const BlockPlace& from, const BlockPlace& to, std::span<PageTable* const> tables);
  // The weight by which pages are dealt to the unit: its share or its bandwidth; above 0.
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
    std::size_t growth = 0;      // blocks, expected
    std::uint32_t withheld = 0;  // pages
  };

  std::span<const TokenId> block_tokens(std::span<const TokenId> tokens, std::size_t block) const {
    return tokens.subspan(block * page_tokens_, page_tokens_);
  }
  std::size_t matchable_blocks(std::span<const TokenId> tokens) const;
  int choose_by_share(const PageTable& table, std::size_t at_end, bool is_decode) const;
  std::optional<int> choose_home(const PageTable& table, std::size_t missing,
                                 std::size_t in_the_end) const;
  int roomiest() const;
  void split(PageTable& table, std::size_t wanted);
  void bring_tail_near(PageTable& table, std::size_t first_new);
  BlockPlace take_page(int unit);
  void reserve_blocks(PageTable& table, std::size_t num_blocks);
  void add_block(PageTable& table, const BlockPlace& place);

  std::size_t page_tokens_;
  Placement placement_;
  bool prefix_cache_;
  PrefixIndex index_;
  std::vector<Unit> units_;
  bool has_shares_ = false;
  int near_ = -1;
};

}  // namespace tandem::engine
