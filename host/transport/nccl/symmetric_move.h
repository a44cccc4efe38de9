// SPDX-License-Identifier: Apache-2.0
//
// The work of one block of a kernel that moves the bytes of one transfer through windows of
// symmetric memory. The kernel (symmetric_kernel.cu) and the tests' double run the same code.
//
// Each rank's window has, for every source, kSlots slots and a word that counts the pieces that
// have arrived, and for every destination a word that counts the pieces that it has taken. A sender
// stores a piece into a free slot of the receiver's window and updates the first word. The receiver
// copies the piece out and updates the second word, in the sender's window. The counts continue
// from move to move. Errors: push() and pull() return false if the host has ended the move.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define TANDEM_HOST_DEVICE __host__ __device__
#else
#define TANDEM_HOST_DEVICE
#endif

namespace tandem::transport::nccl {

struct SymmetricTransfer {
  int peer;
  std::uint64_t begin, bytes;  // in the staging buffer
  std::uint64_t first;         // number of pieces from the sender to the receiver before
};

struct SymmetricLayout {
  static constexpr std::uint64_t kSlots = 2;
  static constexpr std::uint64_t kSlotBytes = 256 * 1024;
  static constexpr std::uint64_t kWordStride = 128;  // a line of its own for each word

  int rank = 0, world = 1;

  TANDEM_HOST_DEVICE std::uint64_t arrived(int source) const { return kWordStride * source; }
  TANDEM_HOST_DEVICE std::uint64_t taken(int destination) const {
    return kWordStride * (world + destination);
  }
  TANDEM_HOST_DEVICE std::uint64_t slot(int source, std::uint64_t piece) const {
    return slots() + (kSlots * source + piece % kSlots) * kSlotBytes;
  }
  TANDEM_HOST_DEVICE std::uint64_t window_bytes() const {
    return slots() + kSlots * world * kSlotBytes;
  }
  TANDEM_HOST_DEVICE static std::uint64_t pieces_of(std::uint64_t bytes) {
    return (bytes + kSlotBytes - 1) / kSlotBytes;
  }

 private:
  TANDEM_HOST_DEVICE std::uint64_t slots() const {
    constexpr std::uint64_t kPage = 4096;
    return (2 * kWordStride * world + kPage - 1) / kPage * kPage;
  }
};

// The part of a transfer that goes through one slot.
struct SymmetricPiece {
  std::uint64_t number;        // since the first move
  std::uint64_t begin, bytes;  // in the staging buffer
};

TANDEM_HOST_DEVICE inline SymmetricPiece piece_of(const SymmetricTransfer& transfer,
                                                  std::uint64_t piece) {
  const std::uint64_t begin = piece * SymmetricLayout::kSlotBytes;
  const std::uint64_t rest = transfer.bytes - begin;
  return {transfer.first + piece, transfer.begin + begin,
          rest < SymmetricLayout::kSlotBytes ? rest : SymmetricLayout::kSlotBytes};
}

// What a kernel gets. `sends` and `receives` are pinned host memory.
struct SymmetricMove {
  SymmetricLayout layout;
  void* window = nullptr;  // ncclWindow_t
  std::byte* staging = nullptr;
  const SymmetricTransfer* sends = nullptr;
  const SymmetricTransfer* receives = nullptr;
  int num_sends = 0, num_receives = 0;
  const std::uint32_t* is_ended = nullptr;  // pinned: not 0 ends the kernel
};

// A block has:
//   memory(rank, offset)     a pointer into the window of a rank, the own one included
//   wait(offset, value)      until the own word is at least `value`; false: the move is ended
//   raise(rank, offset, v)   sets a rank's word, after all that the block has read and written
//   copy(to, from, bytes)    by all threads of the block

template <typename Block>
TANDEM_HOST_DEVICE bool push(Block& block, const SymmetricLayout& layout,
                             const SymmetricTransfer& transfer, const std::byte* staging) {
  const std::uint64_t pieces = SymmetricLayout::pieces_of(transfer.bytes);
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    const auto [number, begin, bytes] = piece_of(transfer, piece);
    // The slot is free when the receiver has taken the previous piece in it.
    if (number >= SymmetricLayout::kSlots &&
        !block.wait(layout.taken(transfer.peer), number + 1 - SymmetricLayout::kSlots)) {
      return false;
    }
    block.copy(block.memory(transfer.peer, layout.slot(layout.rank, number)), staging + begin,
               bytes);
    block.raise(transfer.peer, layout.arrived(layout.rank), number + 1);
  }
  return true;
}

template <typename Block>
TANDEM_HOST_DEVICE bool pull(Block& block, const SymmetricLayout& layout,
                             const SymmetricTransfer& transfer, std::byte* staging) {
  const std::uint64_t pieces = SymmetricLayout::pieces_of(transfer.bytes);
  for (std::uint64_t piece = 0; piece < pieces; ++piece) {
    const auto [number, begin, bytes] = piece_of(transfer, piece);
    if (!block.wait(layout.arrived(transfer.peer), number + 1)) return false;
    block.copy(staging + begin, block.memory(layout.rank, layout.slot(transfer.peer, number)),
               bytes);
    block.raise(transfer.peer, layout.taken(layout.rank), number + 1);
  }
  return true;
}

}  // namespace tandem::transport::nccl
