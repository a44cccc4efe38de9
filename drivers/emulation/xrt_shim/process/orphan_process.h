// SPDX-License-Identifier: Apache-2.0
//
// Starting a program that is nobody's child: wait() of the application does not find it, and no
// SIGCHLD tells of it, so host programs that wait for all their children end. The exception is an
// application that is itself the parent of orphans: the first process of a container without an
// init (docker run --init gives one), or one that made itself a subreaper
// (PR_SET_CHILD_SUBREAPER). There the program becomes its child, and wait() finds it.
//
// Its parent is a process that ends at once, shares the application's memory and descriptors, and
// sends no signal. Whoever must know of the program's end has its process descriptor. Threads: any.
#pragma once

#include <string>
#include <vector>

namespace tandem::emulation {

// Starts `executable` in a session of its own, with no signal blocked or ignored and with
// `descriptors` as its 3, 4 and so on. Returns an errno value; `process`: its process descriptor,
// -1 when none can be had.
int start_orphan(const std::string& executable, std::vector<std::string> arguments,
                 const std::vector<int>& descriptors, int& process);

// Whether orphans become this process' children.
bool is_parent_of_orphans();

// Returns once the process has ended, and reaps it where it is a child. No deadline: it is for
// processes that were sent SIGKILL, which ends also those that are stopped, once the kernel has
// left what it does for them.
void wait_for_end(int process);

// Takes the descriptor, and reaps the process when it ends by itself, where it is a child.
void reap_at_end(int process);

}  // namespace tandem::emulation
