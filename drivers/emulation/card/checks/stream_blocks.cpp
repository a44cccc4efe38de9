// SPDX-License-Identifier: Apache-2.0
//
// Blocks are few and long-lived: a mutex and a map are enough.
#include "emulation/card/checks/stream_blocks.h"

#include <iterator>
#include <map>
#include <mutex>

#include "emulation/card/checks/local_memory.h"

namespace tandem::emulation {
namespace {

struct StreamBlocks {
  std::mutex mutex;
  std::map<uint64_t, uint64_t> ends;  // by their begin
};

// Never destroyed: streams of static variables end late.
StreamBlocks& stream_blocks() {
  static auto* const blocks = new StreamBlocks;
  return *blocks;
}

}  // namespace

void add_stream_block(uint64_t address, uint64_t size_bytes) {
  StreamBlocks& blocks = stream_blocks();
  const std::lock_guard lock(blocks.mutex);
  blocks.ends[address] = address + size_bytes;
}

void drop_stream_block(uint64_t address) {
  StreamBlocks& blocks = stream_blocks();
  const std::lock_guard lock(blocks.mutex);
  const auto found = blocks.ends.find(address);
  if (found == blocks.ends.end()) return;
  forget(found->first, found->second);
  blocks.ends.erase(found);
}

bool is_in_stream_block(uint64_t address, uint64_t size_bytes) {
  StreamBlocks& blocks = stream_blocks();
  const std::lock_guard lock(blocks.mutex);
  const auto behind = blocks.ends.upper_bound(address);
  return behind != blocks.ends.begin() && address + size_bytes <= std::prev(behind)->second;
}

}  // namespace tandem::emulation
