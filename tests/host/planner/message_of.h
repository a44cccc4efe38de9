// SPDX-License-Identifier: Apache-2.0
//
// message_of: the text of the Error that a call throws; empty where it throws none.
#pragma once

#include <functional>
#include <string>

#include "common/error.h"

namespace tandem::planner {

inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace tandem::planner
