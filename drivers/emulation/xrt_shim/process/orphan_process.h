// SPDX-License-Identifier: Apache-2.0
//
// Starts a program as an orphan: the application's wait() does not find it and no SIGCHLD reports
// it, so host programs that wait for all their children end. The exception is an application that
// is itself the parent of orphans: the first process of a container without an init (docker run
// --init gives one), or a subreaper (PR_SET_CHILD_SUBREAPER). There the program becomes its child,
// and wait() finds it.
//
// The program's first parent ends at once, shares the application's memory and descriptors, and
// sends no signal. The caller learns of the program's end by its process descriptor. Threads: any.
#pragma once

#include <string>
#include <vector>

namespace tandem::emulation {

// Starts `executable` in a session of its own, with no signal blocked or ignored and with
// `descriptors` as its descriptors 3, 4 and so on. Returns an errno value; `process`: its process
// descriptor, -1 when the system gives none.
int start_orphan(const std::string& executable, std::vector<std::string> arguments,
                 const std::vector<int>& descriptors, int& process);

// Whether orphans become this process' children.
bool is_parent_of_orphans();

// Waits for the end of the process, and reaps it where it is a child. No deadline: it is for
// processes that were sent SIGKILL, which also ends stopped ones, once they return from system
// calls.
void wait_for_end(int process);

// Takes ownership of the descriptor. If the process is a child, reaps it when it ends by itself.
void reap_at_end(int process);

}  // namespace tandem::emulation
