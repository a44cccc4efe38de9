// SPDX-License-Identifier: Apache-2.0
//
// RaceMap: finds races: two calls of kernels, of which neither was over when the other's command
// was started, write the same bytes, or one writes bytes that the other reads.
//
// Each block of 4096 bytes has two spans: bytes without a gap that one unit has written, and read.
// Accesses that do not extend a span have entries of 4 bytes: the last writer and the last reader,
// each with a mask of bytes. A later access by another unit replaces an entry, so some races are
// missed, but none is reported wrongly. A write does not replace another unit's write of the same
// bytes: touch() finds such a race again. Units that are linked by streams order their accesses and
// are not checked. Marks have 20 bits of the call's number, so the map forgets all of them before
// two calls could have the same. Threads: any.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "emulation/protocol/start_order.h"

namespace tandem::emulation {

// An access of another unit that is not ordered with this one.
struct Conflict {
  uint32_t unit = 0;
  bool wrote = false;
  uint32_t code_offset = 0;  // of the access, from the start of the unit's code
  uint32_t call = 0;         // of that unit, the low 20 bits of its number
  bool runs = false;         // that call is not over yet
};

class RaceMap {
 public:
  // Throws std::system_error.
  explicit RaceMap(uint64_t memory_bytes);
  ~RaceMap();
  RaceMap(const RaceMap&) = delete;
  RaceMap& operator=(const RaceMap&) = delete;

  // Call these when a unit's kernel starts and when it returns. Returns the number of the call, the
  // first one is 1. `order`: of its command.
  uint32_t begin_run(uint32_t unit, const StartOrder& order = {});
  void end_run(uint32_t unit) { runs_[unit].state.fetch_and(~kRuns); }
  // Forgets all accesses: the units are other ones now.
  void forget_all();
  // Whether no race of these two units in the buffer was asked for before.
  bool is_first(uint32_t unit, uint32_t other, uint64_t buffer);
  // Before accesses near `address`: a first write to a page costs less than a read and a write.
  void prepare(uint64_t address) { blocks_[address / kBlockBytes].parts.fetch_or(0); }
  // Records an access of `unit` to device memory while its kernel runs.
  std::optional<Conflict> touch(uint32_t unit, uint64_t address, uint64_t size_bytes, bool writes,
                                uint32_t code_offset);

 private:
  static constexpr uint64_t kBlockBytes = 4096;
  struct Entry {
    std::atomic<uint64_t> writer{0}, reader{0};
  };
  struct Span {
    std::atomic<uint64_t> mark{0};
    std::atomic<uint64_t> code{0};  // owner, and the code offset; written after the mark
  };
  struct Block {
    Span written, read;
    // The unit whose accesses to parts of the block have entries; kSeveral: more than one.
    std::atomic<uint64_t> parts{0};
  };
  using Found = std::optional<Conflict>;
  // Bytes inside of one block, as offsets from its begin.
  struct Bytes {
    uint64_t block, begin, last;
  };
  static constexpr uint64_t kRuns = 1;
  struct Run {
    std::atomic<uint64_t> state{0};  // the number of the last call, shifted by one, and kRuns
    StartOrder order;                // of the unit's own thread
  };
  bool is_running(uint64_t mark) const;
  bool is_unordered(uint64_t mark, uint64_t own) const;
  void look(const Entry& entry, uint64_t own, bool writes, Found& found) const;
  void look_at_spans(const Bytes& bytes, uint64_t own, bool writes, Found& found) const;
  void look_at_words(const Bytes& bytes, uint64_t own, bool writes, Found& found) const;
  enum class InSpan { kNo, kNow, kBefore };
  InSpan extend(const Bytes& bytes, uint64_t own, bool writes);
  void note_words(const Bytes& bytes, uint64_t own, bool writes, Found& found);

  Entry* entries_ = nullptr;
  Block* blocks_ = nullptr;
  uint64_t entries_bytes_ = 0, size_bytes_ = 0;
  std::array<Run, kMaxUnits> runs_;
  std::mutex told_mutex_;
  std::set<std::tuple<uint32_t, uint32_t, uint64_t>> told_;  // units and number of the buffer
};

}  // namespace tandem::emulation
