// SPDX-License-Identifier: Apache-2.0
//
// Starting a program that is nobody's child: wait() of the application never finds it, and no
// SIGCHLD tells of it, so host programs that wait for all their children end.
//
// Its parent is a process that ends at once, shares the application's memory and descriptors, and
// sends no signal. Whoever must know of the program's end has its process descriptor. Threads: any.
#pragma once

#include <string>
#include <vector>

namespace tandem::emulation {

// Starts `executable` in a process group of its own, with no signal blocked or ignored and with
// `descriptors` as its 3, 4 and so on. Returns an errno value; `process`: its process descriptor,
// -1 when none can be had.
int start_orphan(const std::string& executable, std::vector<std::string> arguments,
                 const std::vector<int>& descriptors, int& process);

// Returns once the process has ended. It is reaped where this process is the one orphans get as
// their parent (the first of a container).
void wait_for_end(int process);

}  // namespace tandem::emulation
