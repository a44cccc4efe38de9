// SPDX-License-Identifier: Apache-2.0
//
// The captured log as events of JSON.
#pragma once

#include <string>
#include <vector>

#include "host/server/json.h"
#include "support/captured_log.h"

namespace tandem::test {

class EventLog : public CapturedLog {
 public:
  using CapturedLog::CapturedLog;

  // The lines whose message is `message`; the format must be JSON.
  std::vector<Json> events(const std::string& message) const;
  // Those of ended requests; waits until there are `count`, fails by throwing.
  std::vector<Json> requests(std::size_t count) const;
};

}  // namespace tandem::test
