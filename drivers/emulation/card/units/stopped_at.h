// SPDX-License-Identifier: Apache-2.0
//
// stopped_at(): the address of the instruction at which a signal stopped a thread. 0 on processors
// that are not known; no code is there. Safe in signal handlers.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace tandem::emulation {

inline uint64_t stopped_at(const ucontext_t& context) {
#if defined(__x86_64__)
  return static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return context.uc_mcontext.pc;
#else
  return 0;
#endif
}

}  // namespace tandem::emulation
