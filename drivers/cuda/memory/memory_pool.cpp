// SPDX-License-Identifier: Apache-2.0
//
// Search for ranges, new blocks, and the release of empty ones.
#include "cuda/memory/memory_pool.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::cuda {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kDeviceBlock = std::size_t{64} << 20;
constexpr std::size_t kPinnedBlock = std::size_t{4} << 20;

std::size_t round_up(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::size_t MemoryPool::usual_block() const {
  return kind_ == Memory::kDevice ? kDeviceBlock : kPinnedBlock;
}

MemoryPool::MemoryPool(Health& health, Memory kind) : health_(health), kind_(kind) {}

MemoryPool::~MemoryPool() {
  for (const auto& [data, block] : blocks_) release(data);
}

std::byte* MemoryPool::allocate(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t error =
      kind_ == Memory::kDevice
          ? cudaMalloc(&memory, bytes)
          : cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // what follows must not find it
    return nullptr;
  }
  health_.check(error, kind_ == Memory::kDevice ? "taking device memory" : "taking pinned memory");
  return static_cast<std::byte*>(memory);
}

void MemoryPool::release(std::byte* block) {
  if (health_.lost()) return;
  const cudaError_t error = kind_ == Memory::kDevice ? cudaFree(block) : cudaFreeHost(block);
  health_.note(error, "giving memory back");
}

MemoryPool::Blocks::iterator MemoryPool::new_block(std::size_t bytes, Purpose purpose) {
  const std::size_t usual = usual_block();
  std::size_t size = bytes > usual / 2 ? bytes : usual;
  const bool is_device = kind_ == Memory::kDevice;
  // Does not try an allocation that cannot succeed: a driver may evict other memory for it.
  std::size_t free_bytes = bytes, total_bytes = 0;
  if (is_device) {
    health_.check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for free memory");
  }
  if (size > free_bytes) size = bytes;
  std::byte* data = size <= free_bytes ? allocate(size) : nullptr;
  if (data == nullptr && size > bytes) data = allocate(size = bytes);
  if (data == nullptr) {
    const std::string& device = health_.device();
    if (is_device) throw Error("cuda", shortage(device, purpose, bytes, free_bytes));
    throw Error("cuda", shortage(device, purpose, bytes, 0) +
                            " (of memory that the host can pin: see `ulimit -l`)");
  }
  const auto block = blocks_.emplace(data, Block{}).first;
  block->second.bytes = size;
  block->second.free.emplace(0, size);
  return block;
}

std::byte* MemoryPool::take_from(Blocks::iterator block, std::size_t bytes) {
  auto& free = block->second.free;
  const auto range = std::ranges::find_if(free, [&](const auto& r) { return r.second >= bytes; });
  if (range == free.end()) return nullptr;
  const auto [offset, size] = *range;
  free.erase(range);
  if (size > bytes) free.emplace(offset + bytes, size - bytes);
  block->second.taken.emplace(offset, bytes);
  return block->first + offset;
}

std::byte* MemoryPool::take(std::size_t bytes, Purpose purpose) {
  health_.require();
  bytes = round_up(bytes);
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (std::byte* range = take_from(block, bytes)) return range;
  }
  return take_from(new_block(bytes, purpose), bytes);
}

void MemoryPool::give(std::byte* range) {
  if (range == nullptr) return;
  const auto block = std::prev(blocks_.upper_bound(range));
  auto& [bytes, free, taken] = block->second;
  const auto found = taken.find(static_cast<std::size_t>(range - block->first));
  TANDEM_CHECK(found != taken.end());
  std::size_t offset = found->first, size = found->second;
  taken.erase(found);
  const auto next = free.lower_bound(offset);
  if (next != free.end() && next->first == offset + size) {
    size += next->second;
    free.erase(next);
  }
  const auto behind = free.lower_bound(offset);
  if (behind != free.begin()) {
    const auto before = std::prev(behind);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      free.erase(before);
    }
  }
  free.emplace(offset, size);
  if (!taken.empty()) return;
  const auto empty =
      std::ranges::count_if(blocks_, [](const auto& each) { return each.second.taken.empty(); });
  if (empty <= 1 && bytes <= usual_block()) return;
  release(block->first);
  blocks_.erase(block);
}

bool MemoryPool::holds(const void* at, std::size_t bytes) const {
  const auto* address = static_cast<const std::byte*>(at);
  const auto behind = blocks_.upper_bound(const_cast<std::byte*>(address));
  if (behind == blocks_.begin()) return false;
  const auto block = std::prev(behind);
  return address + bytes <= block->first + block->second.bytes;
}

}  // namespace tandem::cuda
