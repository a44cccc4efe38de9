// SPDX-License-Identifier: Apache-2.0
//
// The functions that checked kernels call: kernel_checks.h of v++ names them. The tables that the
// compiler passes have the layouts of GCC's libsanitizer.
//
// Kernels find these functions in the card's program, before the empty ones of their own object.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "emulation/card/checks/local_memory.h"
#include "emulation/card/checks/run_checks.h"
#include "emulation/card/checks/stream_blocks.h"

namespace {

using tandem::emulation::RunChecks;

struct SourceLocation {
  const char* file;
  uint32_t line;
  uint32_t column;
};
struct TypeDescriptor {
  uint16_t kind;
  uint16_t info;  // of integers: bit 0: signed; the others: logarithm of the width in bits
  char name[1];
};
struct IndexData {
  SourceLocation location;
  const TypeDescriptor* array;
  const TypeDescriptor* index;
};
struct DivisionData {
  SourceLocation location;
};
struct AlignmentData {
  SourceLocation location;
  const TypeDescriptor* type;
  unsigned char log_alignment;
};
struct GlobalVariable {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t padded_bytes;
  const char* name;
  const char* module;
  uint64_t has_dynamic_init;
  void* location;
  uint64_t odr_indicator;
};

uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void note_load(const void* at, uint64_t size_bytes, const void* from) {
  if (RunChecks* const checks = RunChecks::current())
    checks->load(address_of(at), size_bytes, from);
}
void note_store(const void* at, uint64_t size_bytes, const void* from) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->store(address_of(at), size_bytes, from);
  }
}
const void* take_load(const void* at, uint64_t size_bytes, const void* from) {
  RunChecks* const checks = RunChecks::current();
  return checks == nullptr ? nullptr : checks->take(address_of(at), size_bytes, from);
}
// The value of an index: of a signed narrow type, its sign is in its own highest bit.
int64_t index_value(const TypeDescriptor& type, uint64_t value) {
  const unsigned bits = 1u << (type.info >> 1);
  if ((type.info & 1) == 0 || bits >= 64) return static_cast<int64_t>(value);
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

// Of functions of the C library.
void load_bytes(const void* at, uint64_t size_bytes, const void* from) {
  RunChecks* const checks = RunChecks::current();
  if (checks == nullptr || size_bytes == 0) return;
  const RunChecks::Pieces bytes{address_of(at), size_bytes, size_bytes, 1};
  if (!checks->is_good_load(bytes, true, from)) checks->take(address_of(at), size_bytes, from);
}
// How many of the bytes may be stored: behind the end of a variable lie the frames of callers,
// without which the kernel cannot go on.
uint64_t store_bytes(const void* at, uint64_t size_bytes, const void* from) {
  RunChecks* const checks = RunChecks::current();
  if (checks == nullptr || size_bytes == 0) return size_bytes;
  const RunChecks::Pieces bytes{address_of(at), size_bytes, size_bytes, 1};
  if (checks->is_good_store(bytes, true, from)) {
    checks->stored_pieces(bytes);
    return size_bytes;
  }
  checks->store(address_of(at), size_bytes, from);
  const bool is_local =
      tandem::emulation::is_mappable(address_of(at)) && !checks->is_in_device(address_of(at));
  return !is_local ? size_bytes : tandem::emulation::accessible_bytes(address_of(at), size_bytes);
}

void* copy_bytes(void* to, const void* from, uint64_t size_bytes, const void* caller) {
  load_bytes(from, size_bytes, caller);
  RunChecks* const checks = RunChecks::current();
  std::vector<bool> unset;
  if (checks != nullptr) unset = checks->unset_bytes(address_of(from), size_bytes);
  const uint64_t stored = store_bytes(to, size_bytes, caller);
  if (!unset.empty() && stored == size_bytes) checks->mark_unset(address_of(to), unset, caller);
  return std::memmove(to, from, stored);
}

}  // namespace

#define TANDEM_CHECK_CALL extern "C" __attribute__((visibility("default")))
#define TANDEM_CHECK_ACCESS(bytes)                                         \
  TANDEM_CHECK_CALL void tandem_check_load##bytes(const void* at) {        \
    note_load(at, bytes, __builtin_return_address(0));                     \
  }                                                                        \
  TANDEM_CHECK_CALL void tandem_check_store##bytes(const void* at) {       \
    note_store(at, bytes, __builtin_return_address(0));                    \
  }                                                                        \
  TANDEM_CHECK_CALL const void* tandem_check_take##bytes(const void* at) { \
    return take_load(at, bytes, __builtin_return_address(0));              \
  }

TANDEM_CHECK_ACCESS(1)
TANDEM_CHECK_ACCESS(2)
TANDEM_CHECK_ACCESS(4)
TANDEM_CHECK_ACCESS(8)
TANDEM_CHECK_ACCESS(16)

// Such an access is a copy: values that are missing there are copied by a call of its own.
TANDEM_CHECK_CALL void tandem_check_load_bytes(const void* at, uint64_t size_bytes) {
  RunChecks* const checks = RunChecks::current();
  if (checks == nullptr || size_bytes == 0) return;
  checks->take(address_of(at), size_bytes, __builtin_return_address(0));
}
TANDEM_CHECK_CALL void tandem_check_store_bytes(const void* at, uint64_t size_bytes) {
  if (size_bytes != 0) note_store(at, size_bytes, __builtin_return_address(0));
}

TANDEM_CHECK_CALL void* tandem_check_memcpy(void* to, const void* from, uint64_t size_bytes) {
  return copy_bytes(to, from, size_bytes, __builtin_return_address(0));
}
TANDEM_CHECK_CALL void* tandem_check_memmove(void* to, const void* from, uint64_t size_bytes) {
  return copy_bytes(to, from, size_bytes, __builtin_return_address(0));
}
TANDEM_CHECK_CALL void* tandem_check_memset(void* to, int value, uint64_t size_bytes) {
  return std::memset(to, value, store_bytes(to, size_bytes, __builtin_return_address(0)));
}

TANDEM_CHECK_CALL void tandem_check_enter_scope(const void* at, uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->store_announced_in(address_of(at), size_bytes);
    tandem::emulation::enter_scope(address_of(at), size_bytes);
  }
}
TANDEM_CHECK_CALL void tandem_check_leave_scope(const void* at, uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->store_announced_in(address_of(at), size_bytes);
    tandem::emulation::leave_scope(address_of(at), size_bytes);
  }
}
// Arrays of variable length are not guarded.
TANDEM_CHECK_CALL void tandem_check_alloca(const void*, uint64_t) {}
TANDEM_CHECK_CALL void tandem_check_drop_allocas(const void*, const void*) {}

// The frames up to the handler of an exception are left without a word.
TANDEM_CHECK_CALL void tandem_check_no_return() {
  if (!RunChecks::current()) return;
  const uint64_t here = address_of(__builtin_frame_address(0));
  tandem::emulation::forget(here, here + (uint64_t{1} << 20));
}

TANDEM_CHECK_CALL void tandem_check_globals(const GlobalVariable* variables, uint64_t count) {
  if (!tandem::emulation::has_local_memory()) return;
  for (uint64_t index = 0; index < count; ++index) {
    tandem::emulation::guard_global(variables[index].address, variables[index].size_bytes,
                                    variables[index].padded_bytes);
  }
}
TANDEM_CHECK_CALL void tandem_check_drop_globals(const GlobalVariable* variables, uint64_t count) {
  if (!tandem::emulation::has_local_memory()) return;
  for (uint64_t index = 0; index < count; ++index) {
    tandem::emulation::forget(variables[index].address,
                              variables[index].address + variables[index].padded_bytes);
  }
}
TANDEM_CHECK_CALL void tandem_check_before_init(const char*) {}
TANDEM_CHECK_CALL void tandem_check_after_init() {}

TANDEM_CHECK_CALL void tandem_check_index(const IndexData* data, uint64_t index) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->index(data->location.file, static_cast<int>(data->location.line), data->array->name,
                  index_value(*data->index, index), __builtin_return_address(0));
  }
}
TANDEM_CHECK_CALL void tandem_check_division(const DivisionData* data, uint64_t, uint64_t) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->division(data->location.file, static_cast<int>(data->location.line),
                     __builtin_return_address(0));
  }
}
TANDEM_CHECK_CALL void tandem_check_alignment(const AlignmentData* data, uint64_t address) {
  const uint64_t alignment = uint64_t{1} << data->log_alignment;
  if (address == 0 || address % alignment == 0) return;
  if (RunChecks* const checks = RunChecks::current()) {
    checks->misaligned(address, alignment, data->type->name, __builtin_return_address(0));
  }
}

// Whether a kernel may look at a value before it decides to; null: it may not.
TANDEM_CHECK_CALL const void* tandem_check_probe(const void*, const void* at, uint64_t size_bytes) {
  RunChecks* const checks = RunChecks::current();
  return checks != nullptr && checks->is_set(address_of(at), size_bytes) ? at : nullptr;
}
// A function without checks may have stored there.
TANDEM_CHECK_CALL void tandem_check_written(const void* at, uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->written(address_of(at), size_bytes);
  }
}
// Of tandem_chain.h; 0 bytes: it is about to be freed.
TANDEM_CHECK_CALL void tandem_check_stream_block(const void* block, uint64_t size_bytes) {
  if (!tandem::emulation::has_local_memory()) return;
  size_bytes != 0 ? tandem::emulation::add_stream_block(address_of(block), size_bytes)
                  : tandem::emulation::drop_stream_block(address_of(block));
}
// Before memcpy() of an array, which has no padding: none of its elements may be missing on a port.
TANDEM_CHECK_CALL void tandem_check_copied_array(const void* from, const void* to,
                                                 uint64_t size_bytes) {
  RunChecks* const checks = RunChecks::current();
  if (checks == nullptr || !checks->is_in_device(address_of(to))) return;
  const std::vector<bool> unset = checks->unset_bytes(address_of(from), size_bytes);
  if (std::find(unset.begin(), unset.end(), true) == unset.end()) return;
  checks->used(__builtin_return_address(0));
}
TANDEM_CHECK_CALL void tandem_check_used(const void* token) {
  if (RunChecks* const checks = RunChecks::current()) checks->used(token);
}
TANDEM_CHECK_CALL void tandem_check_unset_store(const void* token, const void* at,
                                                uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->pass_on(token, address_of(at), size_bytes);
  }
}
// Of a copy of a structure: only all of it counts as used.
TANDEM_CHECK_CALL void tandem_check_unset_part(const void* token, const void* at,
                                               uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->mark_passed(token, address_of(at), size_bytes);
  }
}
// A branch that a missing value decides may store there.
TANDEM_CHECK_CALL void tandem_check_unset_choice(const void* token, const void* at,
                                                 uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->choose(token, address_of(at), size_bytes);
  }
}
TANDEM_CHECK_CALL void tandem_check_unset_copy(const void* from, const void* to,
                                               uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->copy_unset(address_of(from), address_of(to), size_bytes, __builtin_return_address(0));
  }
}

TANDEM_CHECK_CALL void tandem_check_stored(const void* at, uint64_t size_bytes) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->announce_store(address_of(at), size_bytes, __builtin_return_address(0));
  }
}

// Bit 0 of `flags`: a store; bit 1: surely of each of these bytes; bit 2: an earlier look of the
// loop failed.
TANDEM_CHECK_CALL int tandem_check_range_ok(uint64_t low, uint64_t piece, uint64_t step,
                                            uint64_t count, uint64_t flags) {
  RunChecks* const checks = RunChecks::current();
  if (checks == nullptr || (flags & 4) != 0) return 0;
  const RunChecks::Pieces pieces{low, piece, step, count};
  const bool is_whole = (flags & 2) != 0;
  const void* const from = __builtin_return_address(0);
  return (flags & 1) != 0 ? checks->is_good_store(pieces, is_whole, from)
                          : checks->is_good_load(pieces, is_whole, from);
}
TANDEM_CHECK_CALL void tandem_check_range_stored(uint64_t low, uint64_t piece, uint64_t step,
                                                 uint64_t count) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->stored_pieces({low, piece, step, count});
  }
}

TANDEM_CHECK_CALL void tandem_check_loop_begin(const void* loop) {
  if (RunChecks* const checks = RunChecks::current()) checks->begin_loop(address_of(loop));
}
TANDEM_CHECK_CALL void tandem_check_loop_turn(const void* loop) {
  if (RunChecks* const checks = RunChecks::current()) checks->next_turn(address_of(loop));
}
TANDEM_CHECK_CALL void tandem_check_loop_end(const void* loop) {
  if (RunChecks* const checks = RunChecks::current()) checks->end_loop(address_of(loop));
}
TANDEM_CHECK_CALL void tandem_check_claim(const void* loop, const void* at, uint64_t size_bytes,
                                          const char* variable, const char* file, int line,
                                          unsigned kinds, unsigned distance) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->claim(address_of(loop), {variable, file, line, kinds, distance}, address_of(at),
                  size_bytes);
  }
}

TANDEM_CHECK_CALL void tandem_check_restricted(const void* scope, const void* first,
                                               const void* second, const char* names,
                                               const char* file, int line) {
  if (first != second || first == nullptr) return;
  if (RunChecks* const checks = RunChecks::current()) {
    checks->restrict_both(address_of(scope), names, file, line, address_of(first));
  }
}
TANDEM_CHECK_CALL void tandem_check_restrict_end(const void* scope) {
  if (RunChecks* const checks = RunChecks::current()) checks->end_loop(address_of(scope));
}

TANDEM_CHECK_CALL void tandem_misused(const char* kind, const char* what) {
  if (RunChecks* const checks = RunChecks::current()) {
    checks->misused(kind, what, __builtin_return_address(0));
  }
}
