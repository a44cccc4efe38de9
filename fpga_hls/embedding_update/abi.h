// SPDX-License-Identifier: Apache-2.0
//
// The interface of the embedding_update kernel and its driver: a table's records, the input of one
// update, its result, and the model of its cycles.
//
// A table is a sequence of records in the card's memory, one per row, of record_words() words.
// The input is one InputHeader word, one word of factors (order: Factor), the row table (RowEntry,
// eight per word, rows ascending), and the gradients. Each entry has `count` gradient rows of
// row_words() words; the kernel adds them in this order. The result is one ResultHeader word, then
// the new record of each entry. Little-endian. C++14, no dependency: compiled by Vitis HLS and by
// the host.
#pragma once

#include <cstdint>

#include "../kernel_status/status.h"

namespace tandem {
namespace embedding_update {

constexpr std::uint32_t kAbiVersion = 1;
constexpr std::uint32_t kMagic = 0x55424d45u;  // "EMBU"

constexpr std::uint32_t kWordBytes = 64;  // one beat of a 512-bit bus
constexpr std::uint32_t kWordValues = 16;
constexpr std::uint32_t kWordEntries = 8;
constexpr std::uint32_t kMaxWidth = 4096;  // upper limit of the values of a row
constexpr std::uint32_t kMaxRowWords = kMaxWidth / kWordValues;
constexpr std::uint32_t kMaxInputs = 1u << 28;  // upper limit of the gradient rows of one call

// A record of each rule. kSgd: the weights, 16 per word. kRowwiseAdagrad: a word whose first value
// is the accumulator, then the weights. kRowAdam: for every 16 weights three words: weights, first
// moments, second moments. Values after the row's last one are 0.
enum Rule : std::uint32_t { kSgd = 0, kRowwiseAdagrad = 1, kRowAdam = 2 };
enum DecayMode : std::uint32_t { kNoDecay = 0, kL2 = 1, kDecoupled = 2 };

// Places of the factors in their word, as bits of f32. Meaning: host/training/optimizer/rules.h.
enum Factor : std::uint32_t {
  kScale = 0,
  kRate = 1,
  kDecay = 2,
  kEpsilon = 3,
  kWidth = 4,  // as f32: kRowwiseAdagrad divides by it
  kBeta1 = 5,
  kRest1 = 6,
  kBeta2 = 7,
  kRest2 = 8,
  kCorrect1 = 9,
  kCorrect2 = 10,
};

using kernel_status::kBadMagic;
using kernel_status::kBadSection;
using kernel_status::kBadShape;
using kernel_status::kBadVersion;
using kernel_status::kOk;
using kernel_status::kRunning;
using kernel_status::Status;

// The statuses of this kernel alone. After any status but kOk the table is unchanged.
constexpr Status kBadRow = 6;  // detail: the entry whose row does not ascend or is beyond the table
constexpr Status kBadCount = 7;   // detail: the entry; counts are above 0, their sum is num_inputs
constexpr Status kBadResult = 8;  // the result might not fit its buffer
static_assert(kBadRow == kernel_status::kFirstOwnStatus, "own statuses follow the common ones");

// 16 u32 fields in this order; one word.
struct InputHeader {
  std::uint32_t magic;
  std::uint32_t abi_version;
  std::uint32_t num_words;  // length of the whole input
  std::uint32_t rule;
  std::uint32_t decay_mode;
  std::uint32_t width;           // values of a row
  std::uint32_t table_word;      // where the table begins in the card's memory
  std::uint32_t num_table_rows;  // rows of the table
  std::uint32_t num_entries;     // rows to update
  std::uint32_t num_inputs;      // gradient rows
  std::uint32_t rows_word;
  std::uint32_t gradients_word;
  std::uint32_t tag;  // comes back in the result
  std::uint32_t reserved[3];
};
static_assert(sizeof(InputHeader) == kWordBytes, "one word");

struct RowEntry {
  std::uint32_t row;
  std::uint32_t count;  // gradient rows
};
static_assert(sizeof(RowEntry) * kWordEntries == kWordBytes, "eight a word");

// 16 u32 fields in this order; one word. The counters are those of the cycle model below.
struct ResultHeader {
  std::uint32_t magic;
  std::uint32_t abi_version;  // the version of the kernel
  std::uint32_t status;
  std::uint32_t detail;
  std::uint32_t num_words;  // length of the result, header included
  std::uint32_t tag;        // copied from the input: distinguishes a result from an earlier one
  std::uint32_t gradient_words;
  std::uint32_t record_words;
  std::uint32_t sum_cycles;
  std::uint32_t measure_cycles;
  std::uint32_t reserved[6];
};
static_assert(sizeof(ResultHeader) == kWordBytes, "one word");

constexpr std::uint32_t row_words(std::uint32_t width) {
  return (width + kWordValues - 1) / kWordValues;
}

constexpr std::uint32_t record_words(std::uint32_t rule, std::uint32_t width) {
  return rule == kRowAdam          ? 3 * row_words(width)
         : rule == kRowwiseAdagrad ? 1 + row_words(width)
                                   : row_words(width);
}

constexpr std::uint32_t entry_words(std::uint32_t num_entries) {
  return (num_entries + kWordEntries - 1) / kWordEntries;
}

constexpr std::uint64_t result_words(std::uint32_t rule, std::uint32_t width,
                                     std::uint32_t num_entries) {
  return 1 + static_cast<std::uint64_t>(num_entries) * record_words(rule, width);
}

// The cycle model. A port gets 13.2 GB/s of a pseudo-channel: 44 bytes of its 64 a cycle at 300
// MHz.
constexpr std::uint32_t kClockMhz = 300;
constexpr std::uint32_t kPortBytesPerCycle = 44;
// Of `measure`, per word: an addition, which the next word's waits for. A loop has one interval, so
// that holds for rules that add nothing there too.
constexpr std::uint32_t kAddCycles = 9;
// Of `sum`, beyond a cycle per word: its pipeline fills and drains for every gradient row.
constexpr std::uint32_t kInputCycles = 17;
constexpr std::uint32_t kRowCycles = 2;       // the same per row of the table
constexpr std::uint32_t kStartCycles = 1200;  // latency of memory and of all stages, filled once

// Cycles in which `words` words pass a port.
constexpr std::uint64_t port_cycles(std::uint64_t words) {
  return (words * kWordBytes + kPortBytesPerCycle - 1) / kPortBytesPerCycle;
}

constexpr std::uint64_t larger(std::uint64_t a, std::uint64_t b) { return a > b ? a : b; }

// The cycles of one unit: the check of the entries, then the slowest stage. Records are read and
// written through one channel.
inline std::uint64_t modelled_cycles(std::uint32_t num_entries, const ResultHeader& result) {
  const std::uint64_t in =
      port_cycles(std::uint64_t{result.gradient_words} + entry_words(num_entries));
  const std::uint64_t records = port_cycles(2 * std::uint64_t{result.record_words});
  const std::uint64_t ports = larger(in, records);
  return kStartCycles + num_entries +
         larger(ports, larger(result.sum_cycles, result.measure_cycles));
}

}  // namespace embedding_update
}  // namespace tandem
