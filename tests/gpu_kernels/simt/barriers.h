// SPDX-License-Identifier: Apache-2.0
//
// Barriers in shared memory and the copies that they count, for the twins of common/bulk_copy.cuh
// and common/tensor_copy.cuh.
//
// A copy is on its way from its start until the scheduler lets it arrive: as late as possible, that
// is when no thread of the block can go on, the oldest first; in descending order the newest first;
// in shuffled order any one, at any time, perhaps at once. So what is read before its barrier, or
// overwritten while others read it, shows as a wrong result. A wait whose phase never ends, for
// want of arrivals, by bytes that do not add up or by a wrong parity, is reported with the state of
// every barrier; what cannot be shown so ends the program with a sentence: barriers that nobody has
// made or published, more arrivals than a phase counts, copies that are not aligned, a block that
// ends while copies are on their way. State is kept by the barrier's address and for one block.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tandem::simt {

[[noreturn]] void fail_copy(const char* reason);

void init_barrier(const void* barrier, unsigned count);
void publish_barriers();  // those that this thread has made
void arrive(const void* barrier, std::size_t expected_bytes);
void wait_phase(const void* barrier, unsigned parity);

// `write` puts the values where they belong, when they arrive.
void start_copy(const void* barrier, std::size_t bytes, std::function<void()> write);

// For the scheduler. Lets a copy arrive; false when none is on its way.
bool finish_copy();
// What each barrier waits for, to the standard error.
void report_barriers();
// A block has ended.
void forget_barriers();

}  // namespace tandem::simt
