// SPDX-License-Identifier: Apache-2.0
//
// fork() runs a handler in the child, which counts.
#include "emulation/protocol/fork_count.h"

#include <pthread.h>

#include <atomic>

namespace tandem::emulation {
namespace {

std::atomic<uint32_t> count{0};

[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

uint32_t fork_count() { return count.load(std::memory_order_relaxed); }

}  // namespace tandem::emulation
