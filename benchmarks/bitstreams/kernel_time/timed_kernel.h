// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel's counting copy in this process and gives its modelled time: what v++ and the card
// do together, without a bitstream.
//
// The source has the kernel `top` and `call(memory)`, which calls it once with arguments in
// memory[0], memory[1], ... Argument i is at address i * kArgumentBytes, behind a bundle of its
// own. Cost: about a second, for clang. Errors: Error of a source that clang refuses. The program
// exports its symbols. Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/timing/estimate.h"

namespace tandem::kernel_time {

inline constexpr std::size_t kArgumentBytes = std::size_t{1} << 20;
inline constexpr int kArguments = 4;

// clang's name; empty: there is none.
std::string find_clang();

// `folder`: for intermediate files. `headers`: the HLS headers. `flags`: further ones of the
// compiler. `depth`: of all streams; 0: as they are by default.
timing::RunTime time_kernel(const std::string& source, const std::string& folder,
                            const std::string& headers, const timing::TimedCard& card,
                            const std::vector<std::string>& flags = {}, double depth = 0);

}  // namespace tandem::kernel_time
