// SPDX-License-Identifier: Apache-2.0
//
// The counts of a kernel's run, and the card that it runs on: inputs of estimate.h besides the
// kernel's description.
//
// The defaults are fitted to public measurements. Outstanding bursts and beats are those of Vitis'
// m_axi ports. Round trips come from AXI burst and HBM bandwidth examples on U200 and U50, hops
// from the latter's random reads over 2 and 4 pseudo-channels. The launch time is that of queued
// runs on U250. A page miss (22 against 32 cycles at 300 MHz, DDR4) was not measured through a
// port.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::timing {

// Has kSiteWords words, as in the kernel's library.
struct SiteRecord {
  std::uint64_t accesses = 0;  // of device memory
  std::uint64_t bytes = 0;
  std::uint64_t runs = 0;    // of consecutive addresses
  std::uint64_t end = 0;     // of the last access
  std::uint64_t first = 0;   // device address of the first access + 1; 0: none
  std::uint64_t others = 0;  // accesses of other memory
  std::uint64_t other_bytes = 0;
  std::uint64_t hops = 0;  // accesses in another bank than the one before
};

constexpr int kNoBanks = 63;

// Records an access of `bytes` at `at`. Device memory is mapped at `memory` [memory_bytes], and its
// banks have 2^bank_shift bytes.
inline void note_access(SiteRecord& record, std::uint64_t at, std::uint64_t bytes,
                        std::uint64_t memory, std::uint64_t memory_bytes,
                        int bank_shift = kNoBanks) {
  constexpr std::uint64_t kWord = 64;  // a struct's members come in any order
  const std::uint64_t address = at - memory;
  if (address >= memory_bytes) {
    record.others += 1;
    record.other_bytes += bytes;
    return;
  }
  record.accesses += 1;
  record.bytes += bytes;
  if (record.first == 0) {
    record.first = address + 1;
  } else if (address >> bank_shift != (record.end - 1 - memory) >> bank_shift) {
    record.hops += 1;
  }
  if (record.runs == 0 || at > record.end || record.end - at > kWord) record.runs += 1;
  record.end = at + bytes;
}

struct RunCounts {
  std::vector<std::uint64_t> counters;
  std::vector<SiteRecord> sites;
};

struct TimedBank {
  std::string name;  // "HBM[3]"
  std::uint64_t base = 0;
  std::uint64_t size_bytes = 0;
  double gb_per_s = 14.375;    // nominal
  double share = 0.915;        // of it that a port gets
  double round_trip_ns = 214;  // of a read, through an m_axi port
  double response_ns = 214;    // of a write, after its last beat
  double write_gap = 4;        // cycles between bursts
  // Of an access in another bank than the one before: accesses of one port keep their order, so the
  // ones before must be answered first.
  double hop_ns = 0;
  double miss_ns = 0;  // by which a closed page may lengthen the round trip
};

// Returns a bank by its name: HBM, DDR (also MC_NOC), PLRAM or HOST, with the round trip of its
// kind.
inline TimedBank timed_bank(const std::string& tag, std::uint64_t base, std::uint64_t size_bytes) {
  if (tag.starts_with("HBM")) return {tag, base, size_bytes, 14.375, 0.915, 214, 214, 4, 139};
  if (tag.starts_with("PLRAM")) return {tag, base, size_bytes, 38.4, 1, 50, 50, 4};
  if (tag.starts_with("HOST")) return {tag, base, size_bytes, 15.75, 0.68, 900, 900, 4};
  return {tag, base, size_bytes, 19.25, 0.939, 233, 233, 4, 0, 33};
}

struct TimedArgument {
  std::string name;
  std::string bundle;
  std::uint64_t address = 0;
};

struct TimedCard {
  std::string name;
  double clock_mhz = 300;
  double launch_us = 2.8;
  double outstanding = 16;   // bursts
  double burst_beats = 16;   // of a burst
  bool pages_miss = false;   // each access outside a burst opens a page
  bool banks_far = false;    // a port of several HBM banks reaches each through a hop
  double widest_bytes = 64;  // to which a port of narrower elements is widened
  std::vector<TimedBank> banks;
};

}  // namespace tandem::timing
