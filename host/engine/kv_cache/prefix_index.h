// SPDX-License-Identifier: Apache-2.0
//
// PrefixIndex: finds the page that holds a block of tokens after a given prefix.
//
// A block's key is a hash of its parent's key and its own tokens, so that a key stands for a whole
// prefix. A hash alone is not trusted: an entry also keeps its tokens and the serial number of its
// parent entry, and both must match. By induction from the root, a chain that is found is the
// prefix asked for. When two prefixes have one key, the first stays and the second is not found. An
// entry may outlive its parent; it can no longer be reached, and the next entry with its key
// replaces it. Cost: O(tokens of the block) per call; O(length of the chain) for a taken key and
// for reachable(). Threads: the engine's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/kv_cache/page_pool.h"
#include "model/tokenizer/tokenizer.h"

namespace tandem::engine {

using model::TokenId;

// The place of a block of page_tokens tokens.
struct BlockPlace {
  int unit = 0;
  PageId page = 0;
  friend bool operator==(const BlockPlace&, const BlockPlace&) = default;
};

// The end of a chain of blocks. Serial 0 is a root, before the first token; roots with different
// keys begin different chains.
struct PrefixLink {
  PrefixKey key = 0;
  std::uint64_t serial = 0;
  friend bool operator==(const PrefixLink&, const PrefixLink&) = default;
};

// XXH3 over parent and tokens; never 0.
PrefixKey hash_block(PrefixKey parent, std::span<const TokenId> tokens);

class PrefixIndex {
 public:
  using Hash = PrefixKey (*)(PrefixKey parent, std::span<const TokenId> tokens);
  explicit PrefixIndex(Hash hash = hash_block) : hash_(hash) {}

  struct Hit {
    PrefixLink link;
    BlockPlace place;
  };
  std::optional<Hit> find(const PrefixLink& parent, std::span<const TokenId> tokens) const;

  struct Inserted {
    PrefixLink link;
    std::optional<BlockPlace> displaced;  // place of the unreachable entry that had the key
  };
  // Nothing when another prefix has the key. The block must not be known yet (find() first), and
  // the parent reachable.
  std::optional<Inserted> insert(const PrefixLink& parent, std::span<const TokenId> tokens,
                                 const BlockPlace& place);

  // Whether every entry from here to the root is still there.
  bool reachable(PrefixLink link) const;

  // The block under `key`, which must be known, has moved.
  void relocate(PrefixKey key, const BlockPlace& place) { entries_.at(key).place = place; }

  void erase(PrefixKey key) { entries_.erase(key); }
  void erase_unit(int unit);
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::uint64_t serial = 0;
    PrefixLink parent;
    BlockPlace place;
    std::vector<TokenId> tokens;
  };

  Hash hash_;
  std::uint64_t last_serial_ = 0;
  std::unordered_map<PrefixKey, Entry> entries_;
};

}  // namespace tandem::engine
