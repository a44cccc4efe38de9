// SPDX-License-Identifier: Apache-2.0
//
// The device memory of a card: pieces last until their last holder releases them, freed memory
// reads as zero, and windows onto another card's memory show exactly the piece they are of.
#include "emulation/card/memory/device_space.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace tandem::emulation {
namespace {

constexpr uint64_t kMemoryBytes = uint64_t{64} << 20;
constexpr uint64_t kPage = kAllocationGranule;

struct TestCard {
  TestCard() {
    areas.state = SharedArea::create("test-state", sizeof(SharedState));
    areas.device = DeviceSpace::make_memory(kMemoryBytes);
    space.emplace(areas);
  }
  uint64_t allocate(uint64_t bytes) { return space->allocate(bytes, 0, kMemoryBytes).value(); }
  uint64_t free_bytes() const { return areas.shared().free_bytes.load(); }
  std::byte* at(uint64_t address) const { return areas.device.data() + address; }

  CardAreas areas;
  std::optional<DeviceSpace> space;
};

int duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }
bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) >= 0; }

TEST(DeviceSpace, APieceLastsUntilItsLastHolderReleasesIt) {
  TestCard card;
  EXPECT_EQ(card.free_bytes(), kMemoryBytes);
  const uint64_t piece = card.allocate(100);
  EXPECT_EQ(card.space->size_of(piece), 100u);
  EXPECT_EQ(card.free_bytes(), kMemoryBytes - kPage);
  card.space->hold(piece);
  card.space->release(piece);
  EXPECT_EQ(card.space->size_of(piece), 100u);
  EXPECT_EQ(card.free_bytes(), kMemoryBytes - kPage);
  card.space->release(piece);
  EXPECT_EQ(card.space->size_of(piece), 0u);
  EXPECT_EQ(card.free_bytes(), kMemoryBytes);
  card.space->release(piece);  // no piece is there any more
  EXPECT_EQ(card.free_bytes(), kMemoryBytes);
}

TEST(DeviceSpace, FreedMemoryReadsAsZeroAndItsNeighbourStays) {
  TestCard card;
  const uint64_t first = card.allocate(kPage + 1), second = card.allocate(kPage);
  std::memset(card.at(first), 1, kPage + 1);
  std::memset(card.at(second), 2, kPage);
  card.space->release(first);
  EXPECT_EQ(*card.at(first), std::byte{0});
  EXPECT_EQ(*card.at(first + kPage), std::byte{0});
  EXPECT_EQ(*card.at(second), std::byte{2});
}

TEST(DeviceSpace, ItsMemoryIsAFileAndAnOffset) {
  TestCard card;
  card.allocate(kPage);
  const uint64_t piece = card.allocate(kPage);
  EXPECT_EQ(card.space->backing(piece), std::pair(card.areas.device.descriptor(), piece));
}

TEST(DeviceSpace, AWindowShowsTheOtherCardsPiece) {
  TestCard card, other;
  other.allocate(3 * kPage);
  const uint64_t piece = other.allocate(kPage);
  *other.at(piece) = std::byte{7};
  const int memory = duplicate(other.areas.device.descriptor());
  const int lease = duplicate(other.areas.state.descriptor());
  const uint64_t window = card.space->map_peer(memory, piece, kPage, lease);
  EXPECT_GE(window, DeviceSpace::first_peer_address(kMemoryBytes));
  EXPECT_EQ(*card.at(window), std::byte{7});
  *card.at(window) = std::byte{8};
  EXPECT_EQ(*other.at(piece), std::byte{8});
  EXPECT_EQ(card.space->size_of(window), kPage);
  EXPECT_EQ(card.space->backing(window), std::pair(memory, piece));
  EXPECT_EQ(card.free_bytes(), kMemoryBytes);

  card.space->hold(window);
  card.space->release(window);
  EXPECT_TRUE(is_open(memory));
  card.space->release(window);
  EXPECT_FALSE(is_open(memory));
  EXPECT_FALSE(is_open(lease));
  EXPECT_EQ(*other.at(piece), std::byte{8});
}

TEST(DeviceSpace, AWindowBeyondTheOthersMemoryIsRefused) {
  TestCard card, other;
  const int memory = other.areas.device.descriptor();
  EXPECT_THROW(card.space->map_peer(memory, 1, kPage, -1), std::runtime_error);
  EXPECT_THROW(card.space->map_peer(memory, kMemoryBytes, kPage, -1), std::runtime_error);
  EXPECT_THROW(card.space->map_peer(memory, kMemoryBytes + kPage, kPage, -1), std::runtime_error);
  EXPECT_THROW(card.space->map_peer(memory, 0, kMemoryBytes + 1, -1), std::runtime_error);
  EXPECT_THROW(card.space->map_peer(-1, 0, kPage, -1), std::runtime_error);
}

TEST(DeviceSpace, RoomForWindowsIsGivenBack) {
  TestCard card, other;
  std::optional<uint64_t> first;
  for (int round = 0; round < 3; ++round) {
    const uint64_t window = card.space->map_peer(duplicate(other.areas.device.descriptor()), 0,
                                                 kPage, duplicate(other.areas.state.descriptor()));
    if (!first) first = window;
    EXPECT_EQ(window, *first);
    card.space->release(window);
  }
}

}  // namespace
}  // namespace tandem::emulation
