// SPDX-License-Identifier: Apache-2.0
//
// Captures the log as text while the object exists. Threads: any may log meanwhile.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/log_event.h"
#include "host/server/json.h"

namespace tandem::test {

class CapturedLog {
 public:
  // `debug`: lines of that level too.
  explicit CapturedLog(LogFormat format = LogFormat::kJson, bool debug = false);
  ~CapturedLog();

  std::string text() const;
  // The lines whose message is `message`; the format must be JSON.
  std::vector<Json> events(const std::string& message) const;
  // Those of ended requests; waits until there are `count`, fails by throwing.
  std::vector<Json> requests(std::size_t count) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tandem::test
