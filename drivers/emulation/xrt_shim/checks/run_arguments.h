// SPDX-License-Identifier: Apache-2.0
//
// RunArguments: records how a program set the arguments of its runs, by packet. The runtime guard
// provides the calls.
//
// Programs that use OpenCL, XRT's C API or the static library bypass the guard, so nothing is known
// of their runs. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "emulation/protocol/run_calls.h"
#include "emulation/xrt_shim/checks/kernel_arguments.h"

namespace tandem::emulation {

class RunArguments {
 public:
  // Offsets are those of packets in the client's packet area.
  // `by_program`: false: nothing is known of the run.
  void made(uint64_t packet, bool by_program);
  bool knows(uint64_t packet) const;
  void set(uint64_t packet, int index, const GivenArgument& given);
  // What the argument is set to; nothing if that is not known.
  std::optional<GivenArgument> given(uint64_t packet, size_t index) const;

  struct Problem {
    size_t argument = 0;
    std::string message;
    bool is_warning = false;  // XRT passes the value's low bytes
  };
  // The problems of the arguments when the run begins.
  std::vector<Problem> problems(uint64_t packet,
                                const std::vector<KernelArgument>& arguments) const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, std::map<int, GivenArgument>> runs_;
};

}  // namespace tandem::emulation
