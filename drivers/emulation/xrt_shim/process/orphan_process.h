// SPDX-License-Identifier: Apache-2.0
//
// Starts a program as an orphan, so that the application's wait() does not return it and no SIGCHLD
// reports it. So host programs that wait for all their children can end.
//
// Exception: if the application itself is the parent of orphans, the program becomes its child, and
// wait() returns it. This is so for the first process of a container without an init (docker run
// --init adds one), and for a subreaper (PR_SET_CHILD_SUBREAPER). The program's first parent shares
// the application's memory and descriptors, sends no signal and ends at once. The caller learns of
// the program's end by its process descriptor. Threads: any.
#pragma once

#include <string>
#include <vector>

namespace tandem::emulation {

// Starts `executable` in its own session, without blocked or ignored signals, and with
// `descriptors` as its descriptors 3, 4 and so on. Returns an errno value. `process`: its process
// descriptor, -1 if the system gives none.
int start_orphan(const std::string& executable, std::vector<std::string> arguments,
                 const std::vector<int>& descriptors, int& process);

// Whether orphans become this process' children.
bool is_parent_of_orphans();

// Waits for the end of the process, and reaps it if it is a child. It has no deadline: use it only
// after SIGKILL, which also ends stopped processes when they return from system calls.
void wait_for_end(int process);

// Takes ownership of the descriptor. If the process is a child, it is reaped when it ends.
void reap_at_end(int process);

}  // namespace tandem::emulation
