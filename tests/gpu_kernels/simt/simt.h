// SPDX-License-Identifier: Apache-2.0
//
// SIMT on one host thread: CUDA kernels compiled as C++ and run block by block, to test their logic
// without a GPU. Included before each kernel source (-include).
//
// Every CUDA thread is a fiber; it runs until it exits or meets a barrier or a warp collective. The
// order of fibers is ascending, descending or shuffled (set_order), so that a missing barrier gives
// a wrong result in some order. A block whose fibers all wait ends the program. Speed is not
// modelled, nor memory orders that no order of whole fibers produces. Limits: full-warp masks, one
// host thread.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __grid_constant__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(...)

namespace tandem::simt {

enum class Order { kAscending, kDescending, kShuffled };
void set_order(Order order);
Order order();

struct Kernel {
  dim3 grid;
  unsigned threads = 0, shared_bytes = 0;
  bool early = false;            // may begin before the previous kernels have ended
  std::function<void()> thread;  // once for every thread of every block
};

// One run of a kernel. At its begin dynamic shared memory is full of NaN. A fence follows that
// memory and must be unchanged at the end. A kernel that may begin early does so with one block:
// stream.h runs it up to its wait_for_previous() before the stores of up to four earlier kernels. A
// read that is too early gets old data, and a thread that ends without the wait ends the program.
// Blocks of kernels in flight share one static shared memory, which is therefore not written before
// that wait.
struct Machine;
class KernelRun {
 public:
  explicit KernelRun(const Kernel& kernel);
  ~KernelRun();  // also of a run that has begun and is never finished: the device was lost
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  void begin();  // one block, up to its wait for earlier kernels
  void finish();

  unsigned char* shared() { return reinterpret_cast<unsigned char*>(shared_.data()); }
  std::size_t shared_bytes() const { return kernel_.shared_bytes; }

 private:
  const Kernel kernel_;
  std::vector<uint4> shared_;
  std::unique_ptr<Machine> machine_;
  unsigned early_block_ = 0;
  bool has_begun_ = false;
};

// The following functions belong to the running block.
void wait_for_previous();
unsigned char* block_shared_memory();
std::size_t block_shared_bytes();
unsigned machine_id();  // differs between blocks that are in flight together

void block_barrier();
// Barrier `id` of `threads` of the block's threads.
void named_barrier(unsigned id, unsigned threads);
// The thread goes on once `holds()`, which is asked when its turn comes.
void wait_until(const std::function<bool()>& holds);
void warp_barrier();
// Whether `value` is true of any thread of the block that waits here.
bool block_any(bool value);
// Gives every lane the values of its warp's lanes.
void exchange(std::uint32_t value, std::uint32_t (&lanes)[32]);

// The same of up to 12 words per lane at the cost of one barrier: words[lane][word], valid until
// the thread's next barrier or collective.
struct LaneWords {
  static constexpr unsigned kMax = 12;
  std::uint32_t words[32][kMax];
};
const LaneWords& exchange_words(const std::uint32_t* values, unsigned count);

}  // namespace tandem::simt

extern uint3 threadIdx, blockIdx;
extern dim3 gridDim, blockDim;

inline void __syncthreads() { tandem::simt::block_barrier(); }
inline int __syncthreads_or(int value) { return tandem::simt::block_any(value != 0) ? 1 : 0; }
inline void __syncwarp() { tandem::simt::warp_barrier(); }

inline unsigned __ballot_sync(unsigned, bool predicate) {
  std::uint32_t lanes[32];
  tandem::simt::exchange(predicate ? 1 : 0, lanes);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) bits |= lanes[lane] << lane;
  return bits;
}

namespace tandem::simt {

// The value of lane `source`, of a type of up to 48 bytes.
template <typename T>
T from_lane(const T& value, unsigned source) {
  static_assert(sizeof(T) % 4 == 0 && sizeof(T) / 4 <= LaneWords::kMax);
  std::uint32_t own[sizeof(T) / 4];
  std::memcpy(own, &value, sizeof(T));
  T result;
  std::memcpy(&result, exchange_words(own, sizeof(T) / 4).words[source], sizeof(T));
  return result;
}

}  // namespace tandem::simt

template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return tandem::simt::from_lane(value, (threadIdx.x & 31u) ^ static_cast<unsigned>(mask));
}
template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned distance) {
  const unsigned lane = threadIdx.x & 31u;
  return tandem::simt::from_lane(value, lane >= distance ? lane - distance : lane);
}
template <typename T>
T __shfl_sync(unsigned, T value, int lane) {
  return tandem::simt::from_lane(value, static_cast<unsigned>(lane) & 31u);
}

inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __ffs(unsigned bits) { return bits == 0 ? 0 : std::countr_zero(bits) + 1; }

inline std::uint32_t atomicAdd(std::uint32_t* at, std::uint32_t value) {
  const std::uint32_t before = *at;
  *at += value;
  return before;
}
inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long value) {
  const unsigned long long before = *at;
  *at += value;
  return before;
}
inline std::uint32_t atomicOr(std::uint32_t* at, std::uint32_t bits) {
  const std::uint32_t before = *at;
  *at |= bits;
  return before;
}
inline std::uint32_t min(std::uint32_t a, std::uint32_t b) { return std::min(a, b); }
inline std::uint64_t min(std::uint64_t a, std::uint64_t b) { return std::min(a, b); }
inline int min(int a, int b) { return std::min(a, b); }
inline int max(int a, int b) { return std::max(a, b); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
// One rounding each: never contracted into a fused multiply-add.
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdiv_rn(float a, float b) { return a / b; }

#include "gpu_kernels/simt/byte_intrinsics.h"
