// SPDX-License-Identifier: Apache-2.0
//
// Refusal: the reason why no further request can be read from a connection. The answer has this
// status, and the connection closes after it.
#pragma once

#include <string>

namespace tandem::server::http {

struct Refusal {
  int status = 400;
  std::string message;
};

}  // namespace tandem::server::http
