// SPDX-License-Identifier: Apache-2.0
//
// The text of the Error that a call ends with, for tests of messages.
#pragma once

#include <string>

#include "common/error.h"

namespace tandem::vpp_test {

// Empty when `function` throws no Error.
template <typename Function>
std::string message_of(Function function) {
  try {
    function();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace tandem::vpp_test
