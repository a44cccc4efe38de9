// SPDX-License-Identifier: Apache-2.0
//
// DependenceWatch: finds accesses that disprove a `#pragma HLS dependence` of a running loop.
//
// A claim says of a variable that iterations of a loop do not depend on each other, or only at a
// distance. The marks in a checked kernel (dependence_marks.h of v++) tell when a loop begins, goes
// on and ends. An access counts for all loops of its own process around it. Dependences between
// iterations that are more than kWindow apart are not looked for: programs keep such a distance on
// purpose, since it is longer than a pipeline. Cost: some hundred nanoseconds per access to a
// variable with a claim. Memory: that of the accesses in kWindow iterations. Threads: the unit's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tandem::emulation {

// Bits of Claim::kinds: read after write, write after read, write after write; and whether they are
// within one iteration. kRestrict: the claim is about two pointers while a function runs, which
// counts as one iteration; accesses of all processes count.
constexpr unsigned kRaw = 1, kWar = 2, kWaw = 4, kInside = 8, kRestrict = 16;

struct DependenceClaim {
  const char* variable = nullptr;
  const char* file = nullptr;
  int line = 0;  // of the pragma
  unsigned kinds = 0;
  unsigned distance = 0;  // dependences are only between iterations this far apart; 0: none are
};

struct DependenceViolation {
  DependenceClaim claim;
  unsigned kind = 0;  // kRaw, kWar or kWaw
  uint32_t distance = 0;
  const void* earlier = nullptr;  // code of the first of both accesses
};

struct MemoryRange {
  uint64_t begin = 0, end = 0;
};

class DependenceWatch {
 public:
  static constexpr uint32_t kWindow = 63;

  // `loop`: an address in the frame of the loop's function. Loops end in any order.
  void begin_loop(uint64_t loop);
  void next_turn(uint64_t loop);
  void end_loop(uint64_t loop);
  void clear() { loops_.clear(); }
  bool active() const { return !loops_.empty(); }
  bool has_loop(uint64_t loop) const;
  // Whether the loop's claim is already made for the variable at `begin`. `begin` may be inside the
  // variable, because a pointer may move.
  bool has_claim(uint64_t loop, const DependenceClaim& claim, uint64_t begin) const;
  void add_claim(uint64_t loop, const DependenceClaim& claim, MemoryRange range);
  // Records an access. `frame`: a frame that the kernel's access called. The first violation, if
  // there is one; a read after a write comes first.
  std::optional<DependenceViolation> touch(MemoryRange bytes, bool writes, const void* from,
                                           uint64_t frame);

 private:
  static constexpr unsigned kGranule = 4;
  struct Granule {  // turns from 1 on; 0: no access
    std::array<uint32_t, kGranule> stored{}, loaded{};
    const void* stored_from = nullptr;
    const void* loaded_from = nullptr;
    uint32_t last = 0;
  };
  struct Watched {
    DependenceClaim claim;
    std::vector<MemoryRange> ranges;
    std::unordered_map<uint64_t, Granule> granules;
    std::size_t purge_at = 1 << 16;  // entries
  };
  struct Loop {
    uint64_t address = 0;
    uint32_t turn = 0;
    std::vector<Watched> claims;
  };
  Loop* find(uint64_t loop);
  static void purge(Watched& watched, uint32_t turn);
  static std::optional<DependenceViolation> touch_claim(Watched& watched, uint32_t turn,
                                                        MemoryRange bytes, bool writes,
                                                        const void* from);

  std::vector<Loop> loops_;  // the innermost is the last
};

}  // namespace tandem::emulation
