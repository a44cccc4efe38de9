// SPDX-License-Identifier: Apache-2.0
//
// The functions of the card that such functions call: they note what they are told.
#include "missing_card.h"

#include "emulation/card/checks/local_memory.h"

namespace tandem::loop_checks_test {

Told told;
const char token_of_missing = 0;

// Frames with arrays write to the card's maps.
void MissingCard::SetUp() {
  if (!emulation::has_local_memory()) emulation::map_local_memory();
  told = {};
}

std::string text_of(const void* token) {
  const std::string text = static_cast<const char*>(token);
  return text.substr(text.rfind('/') + 1);
}

void expect_only_stored(void (*chooser)(const int*, const int*, int*)) {
  int in[1] = {4}, more[3] = {9, 2, 0}, out[1];
  told = {};
  told.missing = in;
  chooser(in, more, out);
  EXPECT_EQ(out[0], 0);
  EXPECT_THAT(told.stored, testing::IsEmpty());
  EXPECT_THAT(told.used, testing::IsEmpty());
  EXPECT_THAT(told.chosen, testing::IsEmpty());
  more[2] = 1;
  chooser(in, more, out);
  EXPECT_THAT(told.stored, testing::ElementsAre(ToldStore{&token_of_missing, out, 4}));
  EXPECT_THAT(told.used, testing::IsEmpty());
  told = {};
  chooser(in, more, out);
  EXPECT_THAT(told.stored, testing::IsEmpty());
}

}  // namespace tandem::loop_checks_test

namespace {

using tandem::loop_checks_test::token_of_missing;
using tandem::loop_checks_test::told;

const void* take(const void* at) {
  ++told.takes;
  return at == told.missing || at == told.also_missing ? &token_of_missing : nullptr;
}

}  // namespace

extern "C" {
int tandem_range_ok(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) { return 0; }
void tandem_range_stored(uint64_t, uint64_t, uint64_t, uint64_t) {}
const void* tandem_take4(const void* at) { return take(at); }
const void* tandem_take1(const void* at) { return take(at); }
const void* tandem_take8(const void* at) { return take(at); }
const void* tandem_probe(const void* token, const void* at, uint64_t) {
  if (token == nullptr) return nullptr;
  ++told.probes;
  return at == told.missing || at == told.also_missing ? nullptr : at;
}
void tandem_written(const void* at, uint64_t bytes) {
  told.written.push_back({nullptr, at, bytes});
}
void tandem_copied_array(const void* from, const void* to, uint64_t bytes) {
  told.arrays.push_back({from, to, bytes});
}
void tandem_unset_part(const void* token, const void* at, uint64_t bytes) {
  if (token != nullptr) told.parts.push_back({token, at, bytes});
}
void tandem_used(const void* token) {
  if (token != nullptr) told.used.push_back(token);
}
void tandem_unset_store(const void* token, const void* at, uint64_t bytes) {
  if (token != nullptr) told.stored.push_back({token, at, bytes});
}
void tandem_unset_choice(const void* token, const void* at, uint64_t bytes) {
  if (token != nullptr) told.chosen.push_back({token, at, bytes});
}
void tandem_unset_copy(const void* from, const void* to, uint64_t bytes) {
  told.copied.push_back({from, to, bytes});
}
void tandem_stored(const volatile void* at, uint64_t) { told.announced = at; }
void __asan_load4_noabort(const void*) { ++told.loads; }
void __asan_store4_noabort(const void*) { ++told.stores; }
void __asan_load8_noabort(const void*) { ++told.loads; }
void __asan_store8_noabort(const void*) { ++told.stores; }
void __asan_load1_noabort(const void*) { ++told.loads; }
void __asan_store1_noabort(const void*) { ++told.stores; }
void __asan_loadN_noabort(const void*, uint64_t) { ++told.loads; }
void __asan_storeN_noabort(const void*, uint64_t) { ++told.stores; }
void __asan_register_globals(const void*, uint64_t) {}
void __asan_unregister_globals(const void*, uint64_t) {}
void __asan_handle_no_return() {}
void __asan_poison_stack_memory(const void*, uint64_t) {}
void __asan_unpoison_stack_memory(const void* at, uint64_t bytes) {
  if (bytes == told.unset_bytes) told.missing = static_cast<const int*>(at) + 1;
}
void __ubsan_handle_type_mismatch_v1(const void*, uint64_t) {}
void __ubsan_handle_out_of_bounds(const void*, uint64_t) { ++told.out_of_bounds; }
}
