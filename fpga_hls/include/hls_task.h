// SPDX-License-Identifier: Apache-2.0
//
// hls::task for software emulation: a process that calls its function again and again, driven by
// the data of its streams.
//
// A task takes streams and channels by reference, and they must outlive it. So declare both
// hls_thread_local, the streams first. Inside an emulated card a task is a process of the compute
// unit, from the kernel's first call until the bitstream is unloaded. In a plain program it is a
// thread that ends with its object and runs while others wait (tandem_task_thread.h). Source:
// UG1399, "Data-driven Task-level Parallelism". C++11.
#pragma once

#include "hls_np_channel.h"
#include "hls_stream.h"
#include "tandem_task.h"

#include "tandem_macros_begin.h"

#ifndef hls_thread_local
#define hls_thread_local thread_local
#endif

namespace hls {

// Calls a kernel's function `count` times with the same arguments, as a unit does that restarts
// itself. All calls have ended when the constructor has.
class autorestart {
 public:
  template <typename Function, typename... Args>
  autorestart(int count, Function&& function, Args&&... args) {
    for (int call = 0; call < count; ++call) function(args...);
  }
};

}  // namespace hls

#include "tandem_macros_end.h"
