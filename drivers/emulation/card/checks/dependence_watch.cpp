// SPDX-License-Identifier: Apache-2.0
//
// Per claim a table from 4 bytes of memory to the iterations that last read and wrote each byte.
#include "emulation/card/checks/dependence_watch.h"

#include <algorithm>

namespace tandem::emulation {
namespace {

// The stack of a process is smaller (fpga_hls/runtime/stack_pool.h).
constexpr uint64_t kStackSpan = uint64_t{256} << 20;

bool is_same(const DependenceClaim& a, const DependenceClaim& b) {
  return a.line == b.line && a.variable == b.variable && a.kinds == b.kinds;
}

// Whether an access `kind` at `turn` disproves the claim, if the other access was at `before`.
bool disproves(const DependenceClaim& claim, unsigned kind, uint32_t turn, uint32_t before) {
  if (before == 0 || (claim.kinds & kind) == 0) return false;
  const uint32_t distance = turn - before;
  if ((claim.kinds & kInside) != 0) return distance == 0;
  if (distance == 0 || distance > DependenceWatch::kWindow) return false;
  return claim.distance == 0 || distance < claim.distance;
}

}  // namespace

DependenceWatch::Loop* DependenceWatch::find(uint64_t loop) {
  const auto found = std::find_if(loops_.rbegin(), loops_.rend(),
                                  [loop](const Loop& each) { return each.address == loop; });
  return found == loops_.rend() ? nullptr : &*found;
}

bool DependenceWatch::has_loop(uint64_t loop) const {
  return std::any_of(loops_.begin(), loops_.end(),
                     [loop](const Loop& each) { return each.address == loop; });
}

void DependenceWatch::begin_loop(uint64_t loop) {
  end_loop(loop);  // that of a frame that was unwound
  loops_.push_back({loop, 0, {}});
}

void DependenceWatch::next_turn(uint64_t loop) {
  if (Loop* const found = find(loop)) ++found->turn;
}

void DependenceWatch::end_loop(uint64_t loop) {
  std::erase_if(loops_, [loop](const Loop& each) { return each.address == loop; });
}

bool DependenceWatch::has_claim(uint64_t loop, const DependenceClaim& claim, uint64_t begin) const {
  const Loop* const found = const_cast<DependenceWatch*>(this)->find(loop);
  if (found == nullptr) return true;
  return std::any_of(found->claims.begin(), found->claims.end(), [&](const Watched& each) {
    return is_same(each.claim, claim) &&
           std::any_of(each.ranges.begin(), each.ranges.end(), [begin](const MemoryRange& range) {
             return range.begin == begin || (range.begin < begin && begin < range.end);
           });
  });
}

void DependenceWatch::add_claim(uint64_t loop, const DependenceClaim& claim, MemoryRange range) {
  Loop* const found = find(loop);
  if (found == nullptr) return;
  for (Watched& each : found->claims) {
    if (!is_same(each.claim, claim)) continue;
    // That of a pointer that moved back takes the place of what it contains.
    std::erase_if(each.ranges, [&range](const MemoryRange& known) {
      return range.begin <= known.begin && known.end <= range.end;
    });
    return each.ranges.push_back(range);
  }
  Watched watched;
  watched.claim = claim;
  watched.ranges.push_back(range);
  found->claims.push_back(std::move(watched));
}

void DependenceWatch::purge(Watched& watched, uint32_t turn) {
  std::erase_if(watched.granules,
                [turn](const auto& each) { return turn - each.second.last > kWindow; });
  watched.purge_at = std::max<std::size_t>(1 << 16, watched.granules.size() * 2);
}

std::optional<DependenceViolation> DependenceWatch::touch_claim(Watched& watched, uint32_t turn,
                                                                MemoryRange bytes, bool writes,
                                                                const void* from) {
  std::optional<DependenceViolation> found;
  const DependenceClaim& claim = watched.claim;
  const auto tell = [&](unsigned kind, uint32_t before, const void* earlier) {
    if (!found && disproves(claim, kind, turn, before)) {
      found = {claim, kind, turn - before, earlier};
    }
  };
  for (uint64_t at = bytes.begin; at < bytes.end;) {
    Granule& granule = watched.granules[at / kGranule];
    const uint64_t end = std::min(bytes.end, (at / kGranule + 1) * kGranule);
    for (uint64_t byte = at; byte < end; ++byte) {
      const uint32_t stored = granule.stored[byte % kGranule];
      tell(writes ? kWaw : kRaw, stored, granule.stored_from);
      if (writes) tell(kWar, granule.loaded[byte % kGranule], granule.loaded_from);
    }
    for (uint64_t byte = at; byte < end; ++byte) {
      (writes ? granule.stored : granule.loaded)[byte % kGranule] = turn;
    }
    (writes ? granule.stored_from : granule.loaded_from) = from;
    granule.last = turn;
    at = end;
  }
  if (watched.granules.size() > watched.purge_at) purge(watched, turn);
  return found;
}

std::optional<DependenceViolation> DependenceWatch::touch(MemoryRange bytes, bool writes,
                                                          const void* from, uint64_t frame) {
  std::optional<DependenceViolation> found;
  for (Loop& loop : loops_) {
    // An access of another process has a stack of its own.
    const bool is_own = frame <= loop.address && loop.address - frame <= kStackSpan;
    for (Watched& watched : loop.claims) {
      if (!is_own && (watched.claim.kinds & kRestrict) == 0) continue;
      const bool inside = std::any_of(watched.ranges.begin(), watched.ranges.end(),
                                      [&bytes](const MemoryRange& range) {
                                        return bytes.begin < range.end && bytes.end > range.begin;
                                      });
      if (!inside) continue;
      const auto violation = touch_claim(watched, loop.turn, bytes, writes, from);
      if (!found || (violation && violation->kind == kRaw)) found = violation;
    }
  }
  return found;
}

}  // namespace tandem::emulation
