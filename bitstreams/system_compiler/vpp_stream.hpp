// SPDX-License-Identifier: Apache-2.0
//
// vpp::stream<T, depth>: a stream between the processes of an accelerator; and what
// vpp_processes.py makes of a call in compute(). C++17.
#pragma once

#include <hls_stream.h>
#include <hls_task.h>

#include "vpp_acc_core.hpp"

namespace vpp {

template <typename T, int depth = 2>
class stream : public hls::stream<T> {
 public:
  stream() = default;
  // Values that are left at the end are not checked, so post_check has no effect.
  explicit stream(const char* name, bool post_check = true) : hls::stream<T>(name) {
    static_cast<void>(post_check);
  }
};

// One call: a thread of the region, which ends with it.
template <int is_free_running>
class Process {
 public:
  template <typename Body>
  void start(Region& region, Body body) {
    region.run(std::move(body));
  }
};
// A function that is called again for ever. Its arguments are static.
template <>
class Process<1> {
 public:
  template <typename Body>
  void start(Region&, Body body) {
    std::call_once(once_, [&] { task_(std::move(body)); });
  }

 private:
  std::once_flag once_;
  hls::task task_;
};

}  // namespace vpp
