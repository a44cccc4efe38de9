// SPDX-License-Identifier: Apache-2.0
//
// Who touched device memory last: finds kernels that run at once and write the same bytes, or write
// what another reads.
//
// Two entries per 4 bytes of memory, the last writer's and the last reader's, each with a mask of
// bytes. A later access by another unit replaces an entry, so some races are missed; none is
// invented. Units that streams link order their accesses and are left out. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "emulation/protocol/shared_state.h"

namespace tandem::emulation {

// Another unit's access that has no order with this one.
struct Conflict {
  uint32_t unit = 0;
  bool wrote = false;
  uint32_t code_offset = 0;  // of the access, from the begin of the unit's code
};

class RaceMap {
 public:
  // Throws std::system_error.
  explicit RaceMap(uint64_t memory_bytes);
  ~RaceMap();
  RaceMap(const RaceMap&) = delete;
  RaceMap& operator=(const RaceMap&) = delete;

  // A unit's kernel is called, and has returned.
  void begin_run(uint32_t unit) { runs_[unit].fetch_add(1); }
  void end_run(uint32_t unit) { runs_[unit].fetch_add(1); }
  // Notes an access of `unit` inside device memory, while its kernel runs.
  std::optional<Conflict> touch(uint32_t unit, uint64_t address, uint64_t size_bytes, bool writes,
                                uint32_t code_offset);

 private:
  struct Entry {
    std::atomic<uint64_t> writer{0}, reader{0};
  };
  bool is_running(uint64_t mark) const;

  Entry* entries_ = nullptr;
  uint64_t size_bytes_ = 0;
  std::array<std::atomic<uint32_t>, kMaxUnits> runs_{};  // odd: it runs
};

}  // namespace tandem::emulation
