// SPDX-License-Identifier: Apache-2.0
//
// Products of warpgroups, and the memory that they share with bulk copies, for the doubles of
// common/wgmma.cuh and common/tensor_copy.cuh.
//
// A product is computed when its thread waits for it, or in shuffled order when its warp issues it:
// operands that are missing or already overwritten give wrong results. Accumulators of a product in
// flight hold NaN. Other mistakes end the program with a text: a product without open_products()
// since the last wait, registers changed while products are in flight, lanes of a warp that differ,
// invalid descriptors, and values of ordinary stores that were not published. publish_stores()
// publishes the stores of all threads so far. Dynamic shared memory only. Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tandem::simt {

[[noreturn]] void fail_product(const char* reason);

// The address of a place in dynamic shared memory, as descriptors hold it. The memory begins 16
// bytes after a multiple of 1,024, because CUDA does not promise a multiple.
std::uint32_t shared_address(const void* at);

void publish_stores();
// As bulk copies do: visible to products too.
void store_by_copy(std::uint32_t address, const void* from, std::size_t bytes);

struct Product {
  float (*widen)(std::uint16_t bits) = nullptr;
  int columns = 0;
  bool b_by_columns = false;  // Major::kColumns
  bool a_in_registers = false;
  bool adds = true;
  std::uint64_t a = 0, b = 0;  // descriptors
};

void open_products();
// d: [columns / 2]; a: the thread's four words, or null.
void issue_product(const Product& product, float* d, const std::uint32_t* a);
void commit_products();
void wait_products(int num_pending);
// Ends the program where products that write to d have not been waited for.
void expect_done(const float* d);

}  // namespace tandem::simt
