// SPDX-License-Identifier: Apache-2.0
//
// Works on chunks that stay in the L1 cache: find, place, round, scatter. A message's size is
// guessed from a sample of the tensor and grown where the guess was too small.
#include "collectives/codec/encode_dense.h"

#include <algorithm>
#include <array>
#include <vector>

#include "collectives/codec/format.h"
#include "collectives/codec/header.h"
#include "collectives/sparse/hashed_places.h"
#include "collectives/sparse/huge_pages.h"
#include "collectives/sparse/wire_values.h"

namespace tandem::collectives {
namespace {

constexpr std::size_t kChunk = 4096;

struct Chunk {
  std::array<std::uint32_t, kChunk + kSlack> units;
  std::array<float, kChunk + kSlack> values;
  std::array<std::uint32_t, kChunk> owners;
  std::array<std::uint32_t, kChunk> locals;
  std::array<std::byte, kChunk * 4> rounded;
  std::array<std::byte*, kChunk> places;  // of the values
};

// Of up to 64 chunks at even distances.
double sampled_density(const float* dense, std::uint64_t num_units, Chunk& chunk) {
  constexpr std::uint64_t kSamples = 64;
  const std::uint64_t stride = std::max<std::uint64_t>(kChunk, num_units / kSamples);
  std::size_t found = 0, seen = 0;
  for (std::uint64_t first = 0; first < num_units; first += stride) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, num_units - first));
    found += find_values(dense + first, count, 0, chunk.units.data(), chunk.values.data());
    seen += count;
  }
  return seen == 0 ? 0 : static_cast<double>(found) / static_cast<double>(seen);
}

// One owner's message.
class Target {
 public:
  Target(ByteBuffer& message, std::uint64_t num_local, DType wire, std::size_t expected)
      : message_(&message), begin_(message.size()), words_((num_local + 63) / 64) {
    value_bytes_ = dtype_block_bytes(wire);
    header_.codec = static_cast<std::uint8_t>(Codec::kBitmap);
    header_.wire = static_cast<std::uint8_t>(wire);
    capacity_ = expected;
    message.resize(end_of(expected));
    advise_huge_pages(message.data(), message.size());
    std::memset(message.data() + begin_ + sizeof(header_), 0, words_ * 8);
    locate();
  }

  void make_room(std::size_t more) {
    if (count_ + more <= capacity_) return;
    capacity_ = (count_ + more) * 5 / 4;
    message_->resize(end_of(capacity_));
    locate();
  }

  std::byte* bits() const { return bits_; }
  // The place of the next value.
  std::byte* next() { return values_ + count_ * value_bytes_; }
  void count_up_to(const std::byte* end) {
    count_ = static_cast<std::size_t>(end - values_) / value_bytes_;
  }

  void finish() {
    // An empty encoding has no bitmap.
    message_->resize(count_ == 0 ? begin_ + sizeof(header_) : end_of(count_));
    header_.count = count_;
    std::memcpy(message_->data() + begin_, &header_, sizeof(header_));
  }

 private:
  std::size_t end_of(std::size_t count) const {
    return begin_ + sizeof(header_) + words_ * 8 + count * value_bytes_;
  }
  void locate() {
    bits_ = message_->data() + begin_ + sizeof(header_);
    values_ = bits_ + words_ * 8;
  }

  ByteBuffer* message_;
  std::byte* bits_ = nullptr;
  std::byte* values_ = nullptr;
  std::size_t count_ = 0, capacity_ = 0, begin_ = 0, words_ = 0, value_bytes_ = 0;
  EncodingHeader header_;
};

// First every value's place, then values, then bits: no load waits for a store whose address is not
// known yet, which a single loop's would.
template <typename Value>
void scatter_chunk(Chunk& chunk, const std::byte* values, std::size_t count,
                   std::vector<Target>& targets, std::vector<std::byte*>& next,
                   const std::vector<std::byte*>& bits) {
  for (std::size_t i = 0; i < count; ++i) {
    std::byte*& place = next[chunk.owners[i]];
    chunk.places[i] = place;
    place += sizeof(Value);
  }
  for (std::size_t i = 0; i < count; ++i) {
    store_unaligned(chunk.places[i], load_unaligned<Value>(values + i * sizeof(Value)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* word = bits[chunk.owners[i]] + chunk.locals[i] / 32 * 4;
    store_unaligned(word, load_unaligned<std::uint32_t>(word) | 1u << (chunk.locals[i] % 32));
  }
  for (std::size_t owner = 0; owner < targets.size(); ++owner) {
    targets[owner].count_up_to(next[owner]);
  }
}

}  // namespace

bool can_encode_dense(Domain domain, DType type, const Partition& partition) {
  return domain.width == 1 && !domain.wide() && type == DType::kF32 &&
         partition.kind() == Partition::Kind::kHashed;
}

void encode_dense(const float* dense, const Partition& partition, DType wire,
                  std::span<ByteBuffer> messages) {
  const std::uint64_t num_units = partition.num_units();
  TANDEM_CHECK(can_encode_dense({num_units, 1}, DType::kF32, partition));
  TANDEM_CHECK_OP(messages.size(), ==, static_cast<std::size_t>(partition.num_owners()));
  TANDEM_CHECK(can_carry(DType::kF32, wire));
  Chunk chunk;
  const double share = sampled_density(dense, num_units, chunk) * 1.05 *
                       static_cast<double>(num_units) / partition.num_owners();
  std::vector<Target> targets;
  for (std::size_t owner = 0; owner < messages.size(); ++owner) {
    targets.emplace_back(messages[owner], partition.num_local(static_cast<int>(owner)), wire,
                         static_cast<std::size_t>(share) + kSlack);
  }
  std::vector<std::byte*> next(targets.size()), bits(targets.size());
  const HashedOwners hashed{static_cast<std::uint32_t>(partition.num_owners()), partition.seed()};
  for (std::uint64_t first = 0; first < num_units; first += kChunk) {
    const auto units = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, num_units - first));
    const std::size_t count = find_values(dense + first, units, static_cast<std::uint32_t>(first),
                                          chunk.units.data(), chunk.values.data());
    if (count == 0) continue;
    places_of(hashed, chunk.units.data(), count, chunk.owners.data(), chunk.locals.data());
    for (std::size_t owner = 0; owner < targets.size(); ++owner) {
      targets[owner].make_room(count);
      next[owner] = targets[owner].next();
      bits[owner] = targets[owner].bits();
    }
    const auto* values = reinterpret_cast<const std::byte*>(chunk.values.data());
    if (wire == DType::kF32) {
      scatter_chunk<std::uint32_t>(chunk, values, count, targets, next, bits);
    } else {
      store_wire(values, count, DType::kF32, wire, chunk.rounded.data());
      scatter_chunk<std::uint16_t>(chunk, chunk.rounded.data(), count, targets, next, bits);
    }
  }
  for (Target& target : targets) target.finish();
}

}  // namespace tandem::collectives
