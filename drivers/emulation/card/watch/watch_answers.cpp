// SPDX-License-Identifier: Apache-2.0
//
// A text that is too long, or that cannot be made for lack of memory, is left out: the watcher then
// shows only that the card is running.
#include "emulation/card/watch/watch_answers.h"

#include <pthread.h>
#include <signal.h>

#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "emulation/protocol/futex.h"
#include "emulation/protocol/watch_area.h"

namespace tandem::emulation {

WatchAnswers::WatchAnswers(std::function<std::string()> text)
    : area_(SharedArea::create(kWatchAreaName, sizeof(WatchArea))), text_(std::move(text)) {
  // The kernel's file is zeros, which is what the members begin with.
  auto& area = *reinterpret_cast<WatchArea*>(area_.data());
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const auto start = [](void* self) -> void* {
    static_cast<WatchAnswers*>(self)->run();
    return nullptr;
  };
  const int code = pthread_create(&thread, nullptr, start, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (code != 0) throw std::system_error(code, std::generic_category(), "cannot start a thread");
  pthread_detach(thread);
  area.version.store(kWatchVersion, std::memory_order_release);
}

std::string WatchAnswers::text_or_none() const {
  try {
    return text_();
  } catch (const std::exception&) {
    return {};
  }
}

void WatchAnswers::run() {
  auto& area = *reinterpret_cast<WatchArea*>(area_.data());
  for (uint32_t seen = 0;;) {
    futex_wait(area.asked, seen, std::chrono::nanoseconds(-1));
    const uint32_t asked = area.asked.load(std::memory_order_acquire);
    if (asked == seen) continue;
    seen = asked;
    std::string text = text_or_none();
    if (text.size() > kWatchTextBytes) text.clear();
    area.writing.fetch_add(1);
    std::memcpy(area.text, text.data(), text.size());
    area.text_bytes.store(static_cast<uint32_t>(text.size()));
    area.writing.fetch_add(1);
    area.answered.store(seen, std::memory_order_release);
  }
}

}  // namespace tandem::emulation
