// SPDX-License-Identifier: Apache-2.0
//
// From exceptions to statuses: the text stays with the thread.
//
// Threads: any; every thread has its own text.
#pragma once

#include <string>

#include "common/function_ref.h"
#include "training/c_api/tandem_training.h"

namespace tandem::training {

// Runs the body; an exception becomes a status, and the thread's last error.
tandem_status guarded(FunctionRef<void()> body) noexcept;

// Throws Error where a pointer that a function needs is null.
void require_pointer(const void* pointer, const char* what);

// In memory that tandem_free() takes back.
char* handed_out(const void* bytes, std::size_t size);

}  // namespace tandem::training
