// SPDX-License-Identifier: Apache-2.0
//
// Windows are mapped into address space after device memory, which SharedArea keeps inaccessible.
#include "emulation/card/memory/device_space.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace tandem::emulation {
namespace {

constexpr uint64_t kPeerBytes = uint64_t{256} << 30;
constexpr uint64_t kPeerAlignment = uint64_t{1} << 30;

}  // namespace

uint64_t DeviceSpace::first_peer_address(uint64_t memory_bytes) {
  return (2 * memory_bytes + kPeerAlignment - 1) / kPeerAlignment * kPeerAlignment;
}

SharedArea DeviceSpace::make_memory(uint64_t memory_bytes) {
  const uint64_t end = first_peer_address(memory_bytes) + kPeerBytes;
  return SharedArea::create("tandem-device", memory_bytes, end - memory_bytes + kPeerAlignment);
}

DeviceSpace::DeviceSpace(CardAreas& areas)
    : areas_(areas),
      memory_(0, areas.device.size_bytes()),
      windows_(first_peer_address(areas.device.size_bytes()), kPeerBytes) {
  areas_.shared().free_bytes.store(memory_.free_bytes());
}

std::optional<uint64_t> DeviceSpace::allocate(uint64_t size_bytes, uint64_t low, uint64_t high) {
  const auto address = memory_.allocate(size_bytes, low, high);
  if (address) pieces_[*address].size_bytes = size_bytes;
  areas_.shared().free_bytes.store(memory_.free_bytes());
  return address;
}

uint64_t DeviceSpace::largest_free(uint64_t low, uint64_t high) const {
  return memory_.largest_free(low, high);
}

uint64_t DeviceSpace::map_peer(int memory, uint64_t offset, uint64_t size_bytes, int lease) {
  struct stat status {};
  const uint64_t rounded = round_up_to_granule(size_bytes);
  const bool inside = fstat(memory, &status) == 0 && offset % kAllocationGranule == 0 &&
                      offset <= static_cast<uint64_t>(status.st_size) &&
                      rounded <= static_cast<uint64_t>(status.st_size) - offset;
  if (!inside) throw std::runtime_error("the other card's buffer is not inside its memory");
  const auto address = windows_.allocate(size_bytes);
  if (!address) throw std::runtime_error("no room for a window onto another card's memory");
  void* mapped = mmap(areas_.device.data() + *address, rounded, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) {
    const int code = errno;
    windows_.release(*address, size_bytes);
    throw std::runtime_error(std::string("cannot map another card's memory: ") +
                             std::strerror(code));
  }
  madvise(mapped, rounded, MADV_DONTDUMP);
  pieces_[*address] = {size_bytes, 1, memory, offset, lease};
  return *address;
}

uint64_t DeviceSpace::size_of(uint64_t address) const {
  const auto found = pieces_.find(address);
  return found == pieces_.end() ? 0 : found->second.size_bytes;
}

std::pair<int, uint64_t> DeviceSpace::backing(uint64_t address) const {
  if (!is_window(address)) return {areas_.device.descriptor(), address};
  const Piece& window = pieces_.at(address);
  return {window.memory, window.offset};
}

void DeviceSpace::hold(uint64_t address) { ++pieces_.at(address).holders; }

void DeviceSpace::release(uint64_t address) {
  const auto found = pieces_.find(address);
  if (found == pieces_.end() || --found->second.holders > 0) return;
  const Piece piece = found->second;
  pieces_.erase(found);
  if (is_window(address)) {
    drop_window(address, piece);
    return;
  }
  areas_.device.discard(address, round_up_to_granule(piece.size_bytes));
  memory_.release(address, piece.size_bytes);
  areas_.shared().free_bytes.store(memory_.free_bytes());
}

void DeviceSpace::drop_window(uint64_t address, const Piece& piece) {
  mmap(areas_.device.data() + address, round_up_to_granule(piece.size_bytes), PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  windows_.release(address, piece.size_bytes);
  close(piece.memory);
  close(piece.lease);
}

}  // namespace tandem::emulation
