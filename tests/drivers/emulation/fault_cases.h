// SPDX-License-Identifier: Apache-2.0
//
// Launches and errors for the tests of fault scripts.
#pragma once

#include <cstdlib>
#include <new>
#include <string>
#include <system_error>

#include "emulated_cards.h"

namespace tandem::emulation_test {

constexpr std::chrono::milliseconds kFaultShort{50};
constexpr std::chrono::milliseconds kFaultLong{20'000};

inline xrt::run start_write(TrialCard& card, uint32_t value) {
  return card.kernel(static_cast<uint32_t>(kWrite), value, card.out);
}

// The errno value of what `call` throws; 0 when it does not.
template <typename Call>
int error_of(const Call& call) {
  try {
    call();
    return 0;
  } catch (const std::system_error& error) {
    return std::abs(error.code().value());
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

// An environment variable as long as the object exists.
class WithVariable {
 public:
  WithVariable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~WithVariable() { unsetenv(name_); }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  const char* name_;
};

}  // namespace tandem::emulation_test
