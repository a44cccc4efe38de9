// SPDX-License-Identifier: Apache-2.0
//
// Captures the log as text while the object exists. Threads: any may log meanwhile, and before and
// after; one at a time captures.
#pragma once

#include <string>

#include "common/log_event.h"

namespace tandem::test {

class CapturedLog {
 public:
  // `debug`: lines of that level too.
  explicit CapturedLog(LogFormat format = LogFormat::kJson, bool debug = false);
  ~CapturedLog();
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::string text() const;
};

}  // namespace tandem::test
