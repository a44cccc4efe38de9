// SPDX-License-Identifier: Apache-2.0
//
// CudaComputeUnit: passes rows to threads of the host and back (gpu_kernels/ring). The ring's words
// and slots are pinned memory, which kernels use by the host's address.
#include "ring/ring.h"

#include "common/error.h"
#include "cuda/compute/compute_unit.h"

namespace tandem::cuda {

using device::AwaitOp;
using device::CopyOp;
using device::PostOp;
using device::Ring;
using device::RingCount;
using device::RingWords;

namespace {

static_assert(device::kMaxRingCopies == gpu_kernels::kMaxRingCopies);
static_assert(sizeof(RingCount) == 3 * sizeof(std::uint32_t));

struct RingPlace {
  RingWords* words;
  std::uint32_t* count;
};

RingPlace place_of(const Gpu& gpu, const Ring& ring, const char* words, const char* count) {
  std::byte* place = bytes_of(gpu, ring.words, sizeof(RingWords), words);
  if (ring.words.buffer->host().empty() || ring.words.offset_bytes % alignof(RingWords) != 0) {
    throw Error("cuda", std::string(words) + " are not in host memory, or not aligned to 64 bytes");
  }
  return {
      reinterpret_cast<RingWords*>(place),
      reinterpret_cast<std::uint32_t*>(bytes_of(gpu, ring.count, sizeof(RingCount), count)),
  };
}

// Member by member: padding between members must stay zero in a record.
void fill(const Gpu& gpu, std::span<const CopyOp> copies, const char* what,
          gpu_kernels::RingCopies& rows) {
  for (const CopyOp& copy : copies) {
    gpu_kernels::RingCopy& to = rows.copies[rows.count++];
    to.from = bytes_of(gpu, copy.from, copy.size_bytes, what);
    to.to = bytes_of(gpu, copy.to, copy.size_bytes, what);
    to.bytes = copy.size_bytes;
  }
}

// Before anything is in the queue.
void check(const Gpu& gpu, std::span<const CopyOp> copies, const char* what) {
  if (copies.size() > device::kMaxRingCopies) {
    throw Error("cuda", std::string(what) + ": " + std::to_string(copies.size()) +
                            " copies; a ring takes up to " +
                            std::to_string(device::kMaxRingCopies));
  }
  for (const CopyOp& copy : copies) {
    bytes_of(gpu, copy.from, copy.size_bytes, what);
    bytes_of(gpu, copy.to, copy.size_bytes, what);
    if (copy.size_bytes % sizeof(float) != 0) {
      throw Error("cuda", std::string(what) + ": " + std::to_string(copy.size_bytes) +
                              " bytes are not whole floats");
    }
  }
}

}  // namespace

void CudaComputeUnit::handle(const PostOp& op) {
  const RingPlace ring = place_of(gpu_, op.ring, "post: the words", "post: the count");
  check(gpu_, op.copies, "post: rows");
  queue_.begin(0, 0);
  auto& job = queue_.add<gpu_kernels::post_rows>("posting rows to a thread of the host");
  fill(gpu_, op.copies, "post: rows", job.rows);
  job.tag = op.tag;
  job.posted = &ring.words->posted;
  job.count = ring.count;
  ops_ += 1;
}

void CudaComputeUnit::handle(const AwaitOp& op) {
  const RingPlace ring = place_of(gpu_, op.ring, "await: the words", "await: the count");
  check(gpu_, op.copies, "await: rows");
  queue_.begin(0, 0);
  auto& job = queue_.add<gpu_kernels::await_rows>("waiting for a thread of the host");
  fill(gpu_, op.copies, "await: rows", job.rows);
  job.answered = &ring.words->answered;
  job.abandoned = &ring.words->abandoned;
  job.count = ring.count;
  ops_ += 1;
}

}  // namespace tandem::cuda
