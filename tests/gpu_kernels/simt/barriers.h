// SPDX-License-Identifier: Apache-2.0
//
// Barriers in shared memory and the copies that they count, for the doubles of common/bulk_copy.cuh
// and common/tensor_copy.cuh.
//
// The scheduler decides when a started copy arrives, so a read before the barrier, or an overwrite
// while others read, gives a wrong result. Mistakes end the program with a text: barriers not made
// or not published, too many arrivals, unaligned copies, a block that ends with copies in flight.
// State is kept by the barrier's address, for one block. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tandem::simt {

[[noreturn]] void fail_copy(const char* reason);

void init_barrier(const void* barrier, unsigned count);
void publish_barriers();  // those that this thread has made
void arrive(const void* barrier, std::size_t expected_bytes);
// A wait whose phase never ends (missing arrivals, a wrong number of bytes, a wrong parity) is
// reported with the state of every barrier.
void wait_phase(const void* barrier, unsigned parity);

// `write` stores the values when they arrive.
void start_copy(const void* barrier, std::size_t bytes, std::function<void()> write);

// For the scheduler. Completes a copy; false if none is in flight. Ascending order: as late as
// possible, when no thread of the block can continue, the oldest copy first. Descending order: the
// same, the newest first. Shuffled order: any copy, at any time.
bool finish_copy();
// Writes to the standard error what each barrier waits for.
void report_barriers();
// A block has ended.
void forget_barriers();

}  // namespace tandem::simt
