// SPDX-License-Identifier: Apache-2.0
//
// Waiting on a word in memory shared between processes: spin for a moment, then sleep in the
// kernel.
//
// Cost: a wake-up that hits the spinning phase costs a cache miss; a sleeping one a system call and
// a context switch. Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tandem::emulation {

using Clock = std::chrono::steady_clock;

// Sleeps until *word != seen, a wake-up or `timeout` (negative: forever). May return early.
void futex_wait(std::atomic<uint32_t>& word, uint32_t seen, std::chrono::nanoseconds timeout);
void futex_wake_all(std::atomic<uint32_t>& word);

// Spins until *word != seen or `duration` is over; true when it changed.
bool spin_while_equal(const std::atomic<uint32_t>& word, uint32_t seen,
                      std::chrono::nanoseconds duration);

}  // namespace tandem::emulation
