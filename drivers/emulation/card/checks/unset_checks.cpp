// SPDX-License-Identifier: Apache-2.0
//
// Uses of local variables that have no value. The kernel's code follows a missing value by a token
// (loop_checks/missing_values.h); where it is stored in a variable, that counts as never written
// again. A report has the place of the first read, so each such store notes its token.
//
// A load that passes on missing values again and again does so for rows that nobody looks at, or
// for sums that were not cleared. From the 128th time of a run on, it follows only the first of its
// elements, and the others count as written; from the 1024th time on, unless the variable is small,
// that one does too.
#include <algorithm>
#include <cstdlib>

#include "emulation/card/checks/local_memory.h"
#include "emulation/card/checks/run_checks.h"
#include "emulation/card/checks/stream_blocks.h"
#include "emulation/protocol/code_place.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kNoDevice = ~uint64_t{0};
constexpr uint32_t kMostTaken = 128, kMostOfFirst = 1024, kMostOfSmall = 1 << 20;
constexpr uint64_t kSmallWords = 8;

// Whether the access reads all of its variable: a variable has guards on both sides.
bool reads_whole_variable(uint64_t address, uint64_t size_bytes) {
  return !may_touch(address - 1, 1) && !may_touch(address + size_bytes, 1);
}

// The words of 8 bytes of a variable before and after that of the address, which end at its guards.
uint64_t words_before(uint64_t word, uint64_t most) {
  uint64_t count = 0;
  while (count < most && bounds_of(word - (count + 1) * 8) == 0) ++count;
  return count;
}
uint64_t words_after(uint64_t word, uint64_t most) {
  uint64_t count = 0;
  while (count < most && bounds_of(word + (count + 1) * 8) >= 0) ++count;
  return count;
}

bool is_small_variable(uint64_t address) {
  const uint64_t word = address & ~uint64_t{7};
  return words_before(word, kSmallWords) + 1 + words_after(word, kSmallWords) <= kSmallWords;
}

void set_variable_written(uint64_t address) {
  constexpr uint64_t kMostWords = 1 << 16;
  const auto set = [](uint64_t word) {
    if (!is_marked_blank(shadow_of(word))) return;
    shadow_of(word) = bounds_of(word);
    blank_bits_of(word) = 0;
  };
  const uint64_t word = address & ~uint64_t{7};
  const uint64_t first = word - words_before(word, kMostWords) * 8;
  const uint64_t last = word + words_after(word, kMostWords) * 8;
  for (uint64_t at = first; at <= last; at += 8) set(at);
}

}  // namespace

bool RunChecks::is_unset(uint64_t address, uint64_t size_bytes) const {
  if (is_in_device(address) || !is_mappable(address) || size_bytes > 16) return false;
  return blank_bits_of(address) != 0 && is_blank(address, size_bytes);
}

RunChecks::Token RunChecks::origin_of(uint64_t address, Token from) const {
  if (!is_marked_passed(shadow_of(address))) return from;
  const Origin& origin = origins_[address / 4 % kNumOrigins];
  return origin.address == address ? origin.token : from;
}

RunChecks::Token RunChecks::take_slowly(uint64_t address, uint64_t size_bytes, const void* from) {
  if (!is_unset(address, size_bytes)) {
    watched_load(address, size_bytes, from);
    return nullptr;
  }
  if (loops_.active()) watch_loops(address, size_bytes, false, from);
  Token token = origin_of(address, from);
  if (reads_whole_variable(address, size_bytes)) {
    token = reinterpret_cast<Token>(reinterpret_cast<uint64_t>(token) | kWhole);
  }
  if (address == announced_.address) store_announced();
  return is_followed(address, size_bytes, from) ? token : nullptr;
}

bool RunChecks::is_followed(uint64_t address, uint64_t size_bytes, const void* from) {
  TakenCount& count = taken_[reinterpret_cast<uint64_t>(from) % taken_.size()];
  if (count.from != from) count = {from, address, 0};
  const bool is_first = address == count.first;
  const bool is_early = count.taken < (is_first ? kMostOfFirst : kMostTaken);
  if (is_early || (is_first && count.taken < kMostOfSmall && is_small_variable(address))) {
    ++count.taken;
    return true;
  }
  is_first ? set_variable_written(address) : set_written(address, size_bytes);
  return false;
}

// Heap memory but that of streams is reused by code without checks, so it is never marked.
bool RunChecks::may_mark(uint64_t address, uint64_t size_bytes) const {
  return !is_in_device(address) && is_mappable(address) && unit_.is_on_stack &&
         unit_.is_on_stack(address) && may_touch_bytes(address, size_bytes);
}

bool RunChecks::may_mark_part(uint64_t address, uint64_t size_bytes) const {
  if (may_mark(address, size_bytes)) return true;
  return !is_in_device(address) && is_mappable(address) && is_in_stream_block(address, size_bytes);
}

// False: nothing is known of values at this address.
bool RunChecks::mark_passed(Token token, uint64_t address, uint64_t size_bytes) {
  if (!may_mark_part(address, size_bytes)) return false;
  if (address == announced_.address) store_announced();
  set_passed_on(address, size_bytes);
  origins_[address / 4 % kNumOrigins] = {address, without_whole(token)};
  return true;
}

// A variable that leaves the kernel's local memory, as into a stream, is used. An element of an
// array or a structure is not: the reader may pass it over.
void RunChecks::pass_on(Token token, uint64_t address, uint64_t size_bytes) {
  if (is_in_device(address)) return used(token);
  const bool is_variable = is_whole(token) || !is_load(token);
  if (is_variable && !may_mark(address, size_bytes)) return used(token);
  mark_passed(token, address, size_bytes);
}

// Outside of the kernel's stack nothing follows what stands there, so the decision is a use.
void RunChecks::choose(Token token, uint64_t address, uint64_t size_bytes) {
  may_mark(address, size_bytes) ? static_cast<void>(mark_passed(token, address, size_bytes))
                                : used(token);
}

bool RunChecks::is_set(uint64_t address, uint64_t size_bytes) const {
  if (is_in_device(address)) return is_readable(address, size_bytes);
  if (!unit_.is_on_stack || !unit_.is_on_stack(address)) return false;
  if (!may_touch_bytes(address, size_bytes)) return false;
  const std::vector<bool> unset = unset_bytes(address, size_bytes);
  return std::find(unset.begin(), unset.end(), true) == unset.end();
}

void RunChecks::written(uint64_t address, uint64_t size_bytes) {
  constexpr uint64_t kMostBytes = 1 << 20;
  if (!may_mark(address, 1)) return;
  const uint64_t bytes = accessible_bytes(address, size_bytes == 0 ? kMostBytes : size_bytes);
  store_announced_in(address, bytes);
  set_written(address, bytes);
}

std::vector<bool> RunChecks::unset_bytes(uint64_t address, uint64_t size_bytes) const {
  if (is_in_device(address) || !is_mappable(address)) return {};
  const uint64_t end = address + size_bytes;
  uint64_t first = address;
  while (first < end && !is_marked_blank(shadow_of(first))) first = (first | 7) + 1;
  if (first >= end) return {};
  std::vector<bool> unset(size_bytes);
  for (uint64_t at = first; at < end; ++at) unset[at - address] = is_blank(at, 1);
  return unset;
}

void RunChecks::mark_unset(uint64_t to, const std::vector<bool>& unset, Token token) {
  if (unset.empty()) return;
  if (is_in_device(to)) {
    // Of a part, as the padding of a structure, nothing is known.
    if (std::find(unset.begin(), unset.end(), false) == unset.end()) used(token);
    return;
  }
  if (!may_mark_part(to, unset.size())) return;
  for (uint64_t byte = 0; byte < unset.size(); ++byte) {
    if (unset[byte]) set_passed_on(to + byte, 1);
  }
}

// The compiler drops the check of the store if it knows an earlier one of the same place.
void RunChecks::copy_unset(uint64_t from, uint64_t to, uint64_t size_bytes, const void* caller) {
  const std::vector<bool> unset = unset_bytes(from, size_bytes);
  if (may_mark_part(to, size_bytes)) set_written(to, size_bytes);
  mark_unset(to, unset, origin_of(from, caller));
}

// Without the plugin, loads of the HLS headers are checked that only copy, or change some bits.
void RunChecks::report_unset(Token token) {
  const SourcePlace place = place_of(code_place({token}));
  if (place.changes_part || (place.in_header && !unit_.follows_values)) {
    seen_[place_at("uninitialised_local", token, kNoDevice)] = false;
    return;
  }
  report({"uninitialised_local", false,
          "a local variable is read that nothing was written to; hardware has any value there: "
          "initialise it",
          kNoDevice, "", 0},
         token);
}

// `file:line:line of the declaration:variable`. A variable is told once. A copy of it may have no
// file.
void RunChecks::report_variable(const std::string& text) {
  const size_t name = text.rfind(':'), declared = text.rfind(':', name - 1);
  const size_t line = text.rfind(':', declared - 1);
  const std::string file = text.substr(0, line);
  std::set<std::string>& files = told_variables_[text.substr(declared)];
  const bool is_told = file.empty() ? !files.empty() : files.contains(file) || files.contains("");
  if (is_told) return;
  files.insert(file);
  Problem problem{"uninitialised_local",
                  false,
                  "the local variable '" + text.substr(name + 1) +
                      "' is used before it has a value; hardware has any value there: initialise "
                      "it",
                  kNoDevice,
                  file,
                  std::atoi(text.c_str() + line + 1)};
  problem.is_placed = problem.line != 0;
  report(problem, nullptr);
}

void RunChecks::used(Token token) {
  token = without_whole(token);
  if (!is_new("uninitialised_local", token, kNoDevice)) return;
  is_load(token) ? report_unset(token) : report_variable(static_cast<const char*>(token));
}

}  // namespace tandem::emulation
