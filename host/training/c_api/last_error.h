// SPDX-License-Identifier: Apache-2.0
//
// Turns exceptions into statuses of the C ABI, and keeps their texts for tandem_last_error().
//
// Threads: any; every thread has its own text.
#pragma once

#include <string>

#include "common/function_ref.h"
#include "training/c_api/tandem_training.h"

namespace tandem::training {

// Runs the body. An exception becomes a status; its text becomes the thread's last error.
tandem_status guarded(FunctionRef<void()> body) noexcept;

// Throws Error if a required pointer is null.
void require_pointer(const void* pointer, const char* what);

// Returns a copy of `bytes` followed by a zero byte. The caller frees it with tandem_free().
char* handed_out(const void* bytes, std::size_t size);

}  // namespace tandem::training
