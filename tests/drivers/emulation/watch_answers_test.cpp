// SPDX-License-Identifier: Apache-2.0
//
// Answers of a card's thread to a watcher in the same process.
#include "emulation/card/watch/watch_answers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "emulation/protocol/watch_area.h"

namespace tandem::emulation {
namespace {

// The descriptor of the area, which its owner does not show.
int watch_descriptor() {
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(each.path(), gone).string();
    if (target.find(kWatchAreaName) != std::string::npos) {
      return std::stoi(each.path().filename().string());
    }
  }
  return -1;
}

std::string ask(WatchArea& area) {
  const uint32_t number = ask_card(area);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (static_cast<int32_t>(area.answered.load() - number) < 0) {
    if (std::chrono::steady_clock::now() > end) return "no answer";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {area.text, area.text_bytes.load()};
}

// A card without memory was ended by a watcher that asked it.
TEST(WatchAnswers, AreEmptyWhereTheTextCannotBeMade) {
  static std::atomic<bool> has_memory{true};
  static WatchAnswers& answers = *new WatchAnswers([]() -> std::string {  // never destroyed
    if (!has_memory) throw std::bad_alloc();
    return "well";
  });
  static_cast<void>(answers);
  const int descriptor = watch_descriptor();
  ASSERT_GE(descriptor, 0);
  const SharedArea window = SharedArea::window(descriptor, 0, sizeof(WatchArea));
  auto& area = *reinterpret_cast<WatchArea*>(window.data());
  EXPECT_EQ(ask(area), "well");
  has_memory = false;
  EXPECT_EQ(ask(area), "");
  has_memory = true;
  EXPECT_EQ(ask(area), "well");
}

}  // namespace
}  // namespace tandem::emulation
