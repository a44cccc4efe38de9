// SPDX-License-Identifier: Apache-2.0
//
// RunChecks: checks the loads, stores, indices and divisions of one unit's kernel.
//
// The functions that a checked kernel calls (kernel_calls.cpp) find the unit's object by its
// thread. A finding is reported at once, since the kernel may crash next, and once per place. The
// kernel's own code skips accesses whose shadow byte says that there is nothing to find
// (inline_checks.h of v++), unless this object wants to see all of them. Threads: the unit's.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "emulation/card/checks/dependence_watch.h"
#include "emulation/card/checks/group_checks.h"
#include "emulation/card/checks/local_memory.h"
#include "emulation/card/memory/card_areas.h"
#include "emulation/card/units/thread_end.h"
#include "emulation/protocol/finding.h"

namespace tandem::emulation {

// A pointer among the arguments of a call, as a device address.
struct PointerArgument {
  std::string name;
  uint64_t address = 0;
};

class RunChecks {
 public:
  struct Unit {
    uint32_t index = 0;
    bool linked = false;  // linked to other units by streams
    CodeRange code;
    // 0: the kernel's code skips no access; all ones: it skips those that need no look. Null: it
    // has no such word.
    uint64_t* skip_mask = nullptr;
    std::function<void(Finding)> report;
    // Name and code of the unit `index` of the bitstream.
    std::function<std::pair<std::string, CodeRange>(uint32_t)> other;
    std::function<std::size_t()> num_units;  // of the bitstream
    // Whether its code follows values that may be missing.
    bool follows_values = false;
    // Whether the address is in a stack of the unit's processes.
    std::function<bool(uint64_t)> is_on_stack;
    // A race names a call of the unit `index`.
    std::function<void(uint32_t, uint32_t)> raced = [](uint32_t, uint32_t) {};
    // Accesses in loops with a `dependence` pragma that are looked at; with strict checks all are.
    uint64_t most_watched = uint64_t{1} << 19;
  };
  RunChecks(const CardAreas& areas, Unit unit)
      : areas_(areas),
        unit_(std::move(unit)),
        device_(reinterpret_cast<uint64_t>(areas.device.data())),
        device_bytes_(areas.device.size_bytes()) {}

  // The checks of the calling thread; null outside of calls of checked kernels.
  static RunChecks* current() { return current_; }
  // In the unit's thread, before its first call; `registers`: its arguments will be there.
  void begin_thread(const void* registers);
  void begin_call(std::vector<PointerArgument> pointers);
  // `has_returned`: no frame of the call was unwound.
  void end_call(bool has_returned);
  // Whether a call since begin_command() showed a bug, including bugs that were reported before.
  void begin_command(const StartOrder& order = {}) {
    any_found_ = false;
    order_ = order;
  }
  bool any_found() const { return any_found_; }
  // The number of the present call; 0: races are not watched.
  uint32_t call_number() const { return watches_races_ ? call_ : 0; }

  // `from`: the return address in the kernel. For most accesses, two words of the maps show that
  // they are correct.
  void load(uint64_t address, uint64_t size_bytes, const void* from) {
    look_at_block(address);
    if (!is_watched_ && is_clear(address, size_bytes, 0x7f)) return;
    if (is_watched_ || !is_plain_load(address, size_bytes, from)) {
      watched_load(address, size_bytes, from);
    }
  }
  void store(uint64_t address, uint64_t size_bytes, const void* from) {
    look_at_block(address);
    if (!is_watched_ && is_clear(address, size_bytes, 0xff)) return;
    if (is_watched_ || !is_plain_store(address, size_bytes, from)) {
      watched_store(address, size_bytes, from);
    }
  }
  // A load whose value is followed by the kernel's code (loop_checks/unset_memory.h): null, or a
  // token if the bytes were never written. A token is an address in the kernel's code or a text.
  using Token = const void*;
  Token take(uint64_t address, uint64_t size_bytes, const void* from) {
    look_at_block(address);
    if (!is_watched_ && is_clear(address, size_bytes, 0x7f)) return nullptr;
    if (!is_watched_ && is_plain_load(address, size_bytes, from)) return nullptr;
    return take_slowly(address, size_bytes, from);
  }
  // A value with this token is used; is stored; decides whether something is stored; is
  // stored as a part of a structure. Values that may be missing are copied.
  void used(Token token);
  void pass_on(Token token, uint64_t address, uint64_t size_bytes);
  void choose(Token token, uint64_t address, uint64_t size_bytes);
  bool mark_passed(Token token, uint64_t address, uint64_t size_bytes);
  void copy_unset(uint64_t from, uint64_t to, uint64_t size_bytes, const void* caller);
  // Whether bytes of the unit's variables or of a buffer can be read, and all have values.
  bool is_set(uint64_t address, uint64_t size_bytes) const;
  // Bytes that code without checks may have set count as set; 0: all to the end of the variable.
  void written(uint64_t address, uint64_t size_bytes);
  // The same in two steps, for ranges that may overlap: which bytes have no value (empty: all
  // have), and what holds after the store.
  std::vector<bool> unset_bytes(uint64_t address, uint64_t size_bytes) const;
  void mark_unset(uint64_t to, const std::vector<bool>& unset, Token token);
  // A store that follows the next load of the address, or is checked itself (store_marks.h of v++).
  // If that load is right, the store is done here; otherwise at the latest at the next
  // announcement, iteration or end. Whether it is inside its memory, the load tells.
  void announce_store(uint64_t address, uint64_t size_bytes, const void* from) {
    store_announced();
    if (!is_watched_ && is_readable(address, size_bytes)) return store(address, size_bytes, from);
    announced_ = {address, size_bytes, from};
    watch(true);
  }
  void store_announced();
  // Call it before the scope of a variable begins or ends.
  void store_announced_in(uint64_t begin, uint64_t size_bytes) {
    if (announced_.address - begin < size_bytes) store_announced();
  }
  // `count` pieces of `piece` bytes that begin every `step` bytes from `low` on.
  struct Pieces {
    uint64_t low = 0, piece = 0, step = 0, count = 0;
    uint64_t span() const { return step * (count - 1) + piece; }
  };
  // Before a loop that reaches these bytes and has a version without checks (loop_version.h of
  // v++): whether no check of the loop can find or has to note anything; for stores that reach
  // each of these bytes (`is_whole`), nothing but the stores themselves.
  bool is_good_load(const Pieces& pieces, bool is_whole, const void* from) {
    return is_good_load(pieces) && (!watches_races_ || has_no_race(pieces, is_whole, false, from));
  }
  bool is_good_store(const Pieces& pieces, bool is_whole, const void* from) {
    return is_good_store(pieces, is_whole) &&
           (!watches_races_ || has_no_race(pieces, is_whole, true, from));
  }
  GroupChecks& group() { return group_; }
  bool is_in_code(uint64_t at) const { return at >= unit_.code.begin && at < unit_.code.end; }
  bool is_in_device(uint64_t address) const { return address - device_ < device_bytes_; }
  // Notes the stores of such a loop.
  void stored_pieces(const Pieces& pieces);
  void misaligned(uint64_t address, uint64_t alignment, const char* type, const void* from);
  // A burst of an RTL kernel's port; it has not been done yet.
  void port_access(const char* port, uint64_t device_address, uint64_t size_bytes, bool writes);
  // A port that breaks a rule of its protocol.
  void port_protocol(const char* port, const std::string& rule, const std::string& what);
  void index(const char* file, int line, const std::string& type, int64_t index, const void* from);
  void division(const char* file, int line, const void* from);
  // A type of the HLS headers is used in a way for which it throws.
  void misused(const char* kind, const char* what, const void* from);
  // An access that the system refuses, at a code address of the kernel. Only for the end of the
  // card, since it allocates memory in a signal handler.
  void faulted(uint64_t address, bool is_known, const void* at);
  // Calls for loops with a `dependence` pragma. `loop` is an address in its function's frame.
  void begin_loop(uint64_t loop) {
    if (num_watched_ >= unit_.most_watched) return;
    loops_.begin_loop(loop);
    watch(true);
  }
  void next_turn(uint64_t loop) {
    store_announced();
    loops_.next_turn(loop);
  }
  void end_loop(uint64_t loop) {
    store_announced();
    loops_.end_loop(loop);
    watch(loops_.active());
  }
  // `size_bytes` 0: the variable is a pointer, and the claim is about the memory that it points to.
  void claim(uint64_t loop, const DependenceClaim& claim, uint64_t address, uint64_t size_bytes);
  // Reports two `__restrict` pointers of a function that have the same address. `scope` is an
  // address in its frame.
  void restrict_both(uint64_t scope, const char* names, const char* file, int line,
                     uint64_t address);

 private:
  friend class GroupChecks;
  struct Problem {
    const char* kind;
    bool is_error;
    std::string message;
    uint64_t address = 0;  // in device memory; ~0: none
    std::string file;      // if it is known without debug information
    int line = 0;
    std::vector<std::pair<std::string, std::string>> more = {};  // members of the finding
    bool is_placed = false;  // `file` and `line` are those of the user's code
  };
  // Whether every access matters, not only one whose shadow byte says so.
  void watch(bool all) {
    is_watched_ = all;
    *unit_.skip_mask = all ? 0 : ~uint64_t{0};
  }
  void look_at_block(uint64_t address) const {
    const uint64_t device = address - device_;
    if (device < device_bytes_ && !areas_.shadow->is_closed() && !areas_.shadow->is_known(device)) {
      areas_.shadow->look_at_block(device);
    }
  }
  static constexpr uint8_t kStoredState = kStateLive | kStateWritten | kStateUnseen;
  // Whether the states of all bytes of an access of at most 8 bytes, masked, are `wanted`.
  static bool have_states(const uint8_t* states, uint64_t size_bytes, uint64_t mask,
                          uint64_t wanted) {
    uint64_t word = 0;
    std::memcpy(&word, states, 8);  // the area has bytes to spare
    const uint64_t bytes = size_bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << size_bytes * 8) - 1;
    return (((word & mask) ^ wanted) & bytes) == 0;
  }
  // Whether whole words of 8 bytes need no look, by their shadow bytes, masked.
  static bool is_clear(uint64_t address, uint64_t size_bytes, uint8_t mask) {
    if (size_bytes <= 8 || size_bytes > kAddressEnd || ((address | size_bytes) & 7) != 0)
      return false;
    if (!is_mappable(address) || !is_mappable(address + size_bytes)) return false;
    uint8_t found = 0;
    const int8_t* const shadows = &shadow_of(address);
    for (uint64_t word = 0; word < size_bytes / 8; ++word) {
      found |= static_cast<uint8_t>(shadows[word]) & mask;
    }
    return found == 0;
  }
  // Whether all bytes were written, in a buffer or in a variable.
  bool is_readable(uint64_t address, uint64_t size_bytes) const {
    if (size_bytes > 8) return false;
    const uint64_t device = address - device_;
    if (device < device_bytes_) {
      return areas_.states.covers(device, size_bytes) &&
             have_states(areas_.states.states() + device, size_bytes, kReadMask, kReadable);
    }
    return address < kAddressEnd && may_touch(address, size_bytes) && blank_bits_of(address) == 0;
  }
  // Whether the access needs no further check.
  bool is_plain_load(uint64_t address, uint64_t size_bytes, const void* from) const {
    return is_readable(address, size_bytes) && !has_race(address, size_bytes, false, from);
  }
  bool is_plain_store(uint64_t address, uint64_t size_bytes, const void* from) const {
    if (size_bytes > 8) return false;
    const uint64_t device = address - device_;
    if (device < device_bytes_) {
      if (!areas_.states.covers(device, size_bytes)) return false;
      uint8_t* const states = areas_.states.states() + device;
      if (!have_states(states, size_bytes, kAllLive, kAllLive)) return false;
      if (has_race(address, size_bytes, true, from)) return false;
      for (uint64_t byte = 0; byte < size_bytes; ++byte) states[byte] = kStoredState;
      areas_.shadow->stored(device, size_bytes);
      return true;
    }
    const uint64_t last = address + size_bytes - 1;
    return address < kAddressEnd && may_touch(address, size_bytes) &&
           (blank_bits_of(address) | blank_bits_of(last)) == 0;
  }
  // Records the access if races matter.
  bool has_race(uint64_t address, uint64_t size_bytes, bool writes, const void* from) const {
    const uint64_t device = address - device_;
    if (!watches_races_ || device >= device_bytes_) return false;
    return areas_.races->touch(unit_.index, device, size_bytes, writes, code_offset(from))
        .has_value();
  }
  void begin_races();
  void end_races();
  struct RaceAhead;
  void report_race(const RaceAhead& race);
  void refresh_buffers();
  void forget_changed();
  bool may_skip(const Pieces& pieces) const;
  enum class BufferUse : uint8_t { kLoads, kStores };
  bool is_good_load(const Pieces& pieces);
  bool is_good_store(const Pieces& pieces, bool is_whole);
  bool has_no_race(const Pieces& pieces, bool is_whole, bool writes, const void* from);
  uint32_t code_offset(const void* from) const {
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(from) - unit_.code.begin);
  }
  bool is_good_buffer(uint64_t device, uint64_t size_bytes, BufferUse use);
  bool is_plain_range(uint64_t device, uint64_t size_bytes, BufferUse use) const;
  bool is_plain_block(uint64_t device, uint64_t end, BufferUse use) const;
  bool is_live_range(uint64_t device, uint64_t size_bytes) const;
  void watched_load(uint64_t address, uint64_t size_bytes, const void* from);
  void watched_store(uint64_t address, uint64_t size_bytes, const void* from);
  void check_load(uint64_t address, uint64_t size_bytes, const void* from);
  void check_store(uint64_t address, uint64_t size_bytes, const void* from);
  void check_device_load(uint64_t address, uint64_t size_bytes, const void* from);
  void check_old_bytes(uint64_t address, uint64_t size_bytes, const void* from);
  void check_device_store(uint64_t address, uint64_t size_bytes, const void* from);
  void check_race(uint64_t address, uint64_t size_bytes, bool writes, const void* from);
  void watch_loops(uint64_t address, uint64_t size_bytes, bool writes, const void* from);
  Token take_slowly(uint64_t address, uint64_t size_bytes, const void* from);
  bool is_followed(uint64_t address, uint64_t size_bytes, const void* from);
  bool is_unset(uint64_t address, uint64_t size_bytes) const;
  bool may_mark(uint64_t address, uint64_t size_bytes) const;
  bool may_mark_part(uint64_t address, uint64_t size_bytes) const;  // in a stream too
  Token origin_of(uint64_t address, Token from) const;
  void report_unset(Token token);
  void report_variable(const std::string& text);
  void report_dependence(const DependenceViolation& violation, uint64_t device_address,
                         const void* from);
  uint64_t end_behind(uint64_t pointer) const;
  void report_outside(uint64_t address, uint64_t size_bytes, bool writes, const void* from);
  void report_local(uint64_t address, uint64_t size_bytes, bool writes, const void* from);
  // kind (a literal), code, number of the buffer
  using Place = std::tuple<std::string_view, const void*, uint64_t>;
  Place place_at(const char* kind, const void* from, uint64_t device_address) const;
  bool is_known(const char* kind, const void* from, uint64_t device_address) const;
  bool is_new(const char* kind, const void* from, uint64_t device_address);
  bool holds_stale_bytes(uint64_t address) const;
  void report(const Problem& problem, const void* from);
  bool is_run_into(const Finding& finding, uint64_t address) const;
  void add_buffer(Finding& finding, uint64_t address) const;
  void name_port(Finding& finding) const;
  std::string argument_of(uint64_t address) const;

  static constexpr uint64_t kNoDeviceAddress = ~uint64_t{0};
  static constexpr uint64_t kReadable = 0x0101010101010101 * (kStateLive | kStateWritten);
  static constexpr uint64_t kReadMask =
      0x0101010101010101 * (kStateLive | kStateWritten | kStateStale);
  static constexpr uint64_t kAllLive = 0x0101010101010101 * kStateLive;
  static inline thread_local RunChecks* current_ = nullptr;

  const CardAreas& areas_;
  const Unit unit_;
  const uint64_t device_;  // where device memory is mapped
  const uint64_t device_bytes_;
  bool watches_races_ = false;  // in this call: another unit may run
  StartOrder order_;            // of the command
  uint32_t call_ = 0;           // its number, if races are watched
  std::vector<PointerArgument> pointers_;
  struct AnnouncedStore {
    uint64_t address = 0;
    uint64_t size_bytes = 0;  // 0: none
    const void* from = nullptr;
  };
  bool is_watched_ = false;  // a store is announced, or a loop has a claim
  // Of the token of a load that reads a whole variable.
  static constexpr uint64_t kWhole = uint64_t{1} << 63;
  static Token without_whole(Token token) {
    return reinterpret_cast<Token>(reinterpret_cast<uint64_t>(token) & ~kWhole);
  }
  static bool is_whole(Token token) { return token != without_whole(token); }
  bool is_load(Token token) const {
    return is_in_code(reinterpret_cast<uint64_t>(without_whole(token)));
  }
  // Where missing values were stored, for the place of their first read.
  struct Origin {
    uint64_t address = 0;
    Token token = nullptr;
  };
  static constexpr uint64_t kNumOrigins = 4096;
  std::array<Origin, kNumOrigins> origins_;
  // How often a load took missing values in this run, and where the first one was.
  struct TakenCount {
    const void* from = nullptr;
    uint64_t first = 0;
    uint32_t taken = 0;
  };
  std::array<TakenCount, 64> taken_;
  bool left_frames_ = false;  // the last call may have left marks of frames that were unwound
  AnnouncedStore announced_;
  // Reported accesses to buffers, by their code address, so that a loop of them stays fast.
  struct ToldAccess {
    const void* from = nullptr;
    uint64_t begin = 0, size_bytes = 0;
    bool has(const void* code, uint64_t address) const {
      return from == code && address - begin < size_bytes;
    }
  };
  using ToldAccesses = std::array<ToldAccess, 16>;
  static ToldAccess& told_access(ToldAccesses& told, const void* from) {
    return told[reinterpret_cast<uint64_t>(from) / 4 % told.size()];
  }
  ToldAccesses freed_accesses_, raced_accesses_;  // of this call
  // Races that the look before a loop found. The loop with the checks tells their places, unless
  // the other unit's run ends before.
  struct RaceAhead {
    uint64_t address = 0;
    bool writes = false;
    const void* from = nullptr;
    Conflict conflict;
  };
  std::vector<RaceAhead> races_ahead_;
  // Buffers whose bytes were all looked at; kept as long as no program changes states.
  struct KnownBuffer {
    uint64_t begin = 0, end = 0;
    bool is_good[2] = {};  // by BufferUse
    bool is_bad[2] = {};   // in this call
  };
  std::vector<KnownBuffer> known_buffers_;
  uint64_t known_changes_ = 0;
  DependenceWatch loops_;
  uint64_t num_watched_ = 0;    // accesses in such loops, in all runs; 0 with strict checks
  std::map<Place, bool> seen_;  // true: it was a finding
  // kind, file, line and number of the buffer of what was reported
  std::set<std::tuple<std::string, std::string, int, uint64_t>> told_lines_;
  std::map<std::string, std::set<std::string>> told_variables_;  // the files of each
  bool any_found_ = false;
  std::set<std::string> told_rules_;  // of ports' protocols
  const char* port_ = nullptr;        // of an RTL kernel, whose access is checked
  GroupChecks group_{*this};
};

}  // namespace tandem::emulation
