// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the card: what functions that g++ compiled with the plugin tell it.
#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace tandem::loop_checks_test {

struct ToldStore {
  const void* token;
  const void* at;
  uint64_t bytes;
  bool operator==(const ToldStore&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const ToldStore& store) {
  return out << store.token << " at " << store.at << " of " << store.bytes;
}

struct Told {
  const void* missing = nullptr;       // these bytes have no value
  const void* also_missing = nullptr;  // nor have these
  std::vector<const void*> used;
  std::vector<ToldStore> stored, parts, copied, chosen, written, arrays;
  const volatile void* announced = nullptr;
  uint64_t unset_bytes = 0;  // a variable of this size misses its second word
  int takes = 0, loads = 0, stores = 0, out_of_bounds = 0, probes = 0;
};
extern Told told;

// Any address that is not null will do.
extern const char token_of_missing;

// `file:line:line of the declaration:variable` of a token that is a text, without the folder.
std::string text_of(const void* token);

// Of a missing value that only chooses: `more[2]` tells whether the result is stored.
void expect_only_stored(void (*chooser)(const int* in, const int* more, int* out));

struct MissingCard : ::testing::Test {
  void SetUp() override;
  int in[8] = {4, 5, 6, 7, 8, 9, 10, 11}, more[8] = {1}, out[8] = {};
};

}  // namespace tandem::loop_checks_test
