// SPDX-License-Identifier: Apache-2.0
//
// One hash table of verified entries. The hash is XXH3, 64 bits, seeded by the parent's key.
#include "engine/kv_cache/prefix_index.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace tandem::engine {

PrefixKey hash_block(PrefixKey parent, std::span<const TokenId> tokens) {
  const PrefixKey key = XXH3_64bits_withSeed(tokens.data(), tokens.size_bytes(), parent);
  return key == 0 ? 1 : key;
}

std::optional<PrefixIndex::Hit> PrefixIndex::find(const PrefixLink& parent,
                                                  std::span<const TokenId> tokens) const {
  const PrefixKey key = hash_(parent.key, tokens);
  const auto it = entries_.find(key);
  if (it == entries_.end() || it->second.parent != parent ||
      !std::ranges::equal(it->second.tokens, tokens)) {
    return std::nullopt;
  }
  return Hit{{key, it->second.serial}, it->second.place};
}

std::optional<PrefixIndex::Inserted> PrefixIndex::insert(const PrefixLink& parent,
                                                         std::span<const TokenId> tokens,
                                                         const BlockPlace& place) {
  const PrefixKey key = hash_(parent.key, tokens);
  std::vector<TokenId> copy(tokens.begin(), tokens.end());  // may throw before an entry is there
  const auto [it, added] = entries_.try_emplace(key);
  Inserted result;
  if (!added) {
    if (reachable(it->second.parent)) return std::nullopt;
    result.displaced = it->second.place;
  }
  it->second = {++last_serial_, parent, place, std::move(copy)};
  result.link = {key, it->second.serial};
  return result;
}

bool PrefixIndex::reachable(PrefixLink link) const {
  while (link.serial != 0) {  // a parent's serial is always the smaller
    const auto it = entries_.find(link.key);
    if (it == entries_.end() || it->second.serial != link.serial) return false;
    link = it->second.parent;
  }
  return true;
}

void PrefixIndex::erase_unit(int unit) {
  std::erase_if(entries_, [&](const auto& item) { return item.second.place.unit == unit; });
}

}  // namespace tandem::engine
