// SPDX-License-Identifier: Apache-2.0
//
// Interrupts of a unit that xrt::ip runs: which ones a notification keeps, and which it drops.
#include <experimental/xrt_ip.h>
#include <experimental/xrt_xclbin.h>

#include <algorithm>
#include <stdexcept>

#include "emulated_cards.h"

namespace tandem::emulation_test {
namespace {

constexpr uint32_t kStart = 1, kDone = 2;

// The unit `typed`, with its interrupt at the end of a run enabled.
struct InterruptingUnit {
  InterruptingUnit() {
    const uint64_t address = out.address();
    ip.write_register(offset, static_cast<uint32_t>(address));
    ip.write_register(offset + 4, static_cast<uint32_t>(address >> 32));
    ip.write_register(0x4, 1);
    ip.write_register(0x8, 1);
  }

  // The last argument is the address of the results.
  static uint32_t offset_of_results() {
    for (const auto& kernel : xrt::xclbin(trial_xclbin()).get_kernels()) {
      if (kernel.get_name() == "types") {
        return static_cast<uint32_t>(kernel.get_args().at(7).get_offset());
      }
    }
    throw std::runtime_error("no kernel 'types'");
  }

  // The unit sets `done` after it has raised its interrupt.
  void run() {
    ip.write_register(0, kStart);
    while ((ip.read_register(0) & kDone) == 0) std::this_thread::yield();
  }

  TrialCard card;
  xrt::ip ip{card.device, card.uuid, "types:{typed}"};
  xrt::bo out{card.device, 4096, 4};
  const uint32_t offset = offset_of_results();
};

constexpr std::chrono::milliseconds kAtOnce{1}, kLong{20000};

TEST(Interrupts, AreTakenOneByOne) {
  InterruptingUnit unit;
  auto notification = unit.ip.create_interrupt_notify();
  unit.run();
  unit.run();
  EXPECT_EQ(notification.wait(kLong), std::cv_status::no_timeout);
  EXPECT_EQ(notification.wait(kLong), std::cv_status::no_timeout);
  EXPECT_EQ(notification.wait(kAtOnce), std::cv_status::timeout);
}

// The unit shows `done` before its command ends: a start between the two was refused with EBUSY.
TEST(Interrupts, AUnitStartsAgainAsSoonAsItIsDone) {
  InterruptingUnit unit;
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(5);  // if it is busy
  for (int time = 0; time < 20000 && std::chrono::steady_clock::now() < enough; ++time) {
    ASSERT_NO_THROW(unit.run()) << "start " << time;
  }
}

TEST(Interrupts, EnablingTwiceLosesNone) {
  InterruptingUnit unit;
  auto notification = unit.ip.create_interrupt_notify();
  unit.run();
  notification.enable();
  EXPECT_EQ(notification.wait(kLong), std::cv_status::no_timeout);
}

TEST(Interrupts, ThatComeWhileTheyAreDisabledAreDropped) {
  InterruptingUnit unit;
  auto notification = unit.ip.create_interrupt_notify();
  notification.disable();
  unit.run();
  notification.enable();
  EXPECT_EQ(notification.wait(kAtOnce), std::cv_status::timeout);
  unit.run();
  EXPECT_EQ(notification.wait(kLong), std::cv_status::no_timeout);
}

}  // namespace
}  // namespace tandem::emulation_test
