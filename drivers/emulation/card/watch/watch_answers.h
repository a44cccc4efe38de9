// SPDX-License-Identifier: Apache-2.0
//
// WatchAnswers: a thread that answers the questions of watch_area.h. It sleeps until a watcher
// asks.
//
// Errors: std::system_error if the area or the thread cannot be made. The thread ends with the
// process: the object is never destroyed.
#pragma once

#include <functional>
#include <string>

#include "emulation/protocol/shared_area.h"

namespace tandem::emulation {

class WatchAnswers {
 public:
  // `text` gives the answer; it is called on the thread. If it throws, the answer is empty.
  explicit WatchAnswers(std::function<std::string()> text);
  WatchAnswers(const WatchAnswers&) = delete;
  WatchAnswers& operator=(const WatchAnswers&) = delete;

 private:
  void run();
  std::string text_or_none() const;

  SharedArea area_;
  std::function<std::string()> text_;
};

}  // namespace tandem::emulation
