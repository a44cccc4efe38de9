// SPDX-License-Identifier: Apache-2.0
//
// Works on pieces that stay in the L1 cache: find, place, scatter. While one piece is scattered the
// next is fetched, so memory is read all the time. The words of all bitmaps are in a small table
// until 512 groups are done, which give each owner 512 units: 64 bytes of its bitmap. With threads,
// each has a range of units; the results of the second and further threads are appended to the
// first's messages at the end. A message's size is estimated from a sample of the tensor, and grown
// if the estimate was too small.
#include "collectives/codec/encode_dense.h"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "collectives/codec/format.h"
#include "collectives/codec/header.h"
#include "common/huge_pages.h"
#include "tensor/sparse/hashed_places.h"
#include "tensor/sparse/wire_values.h"

namespace tandem::collectives {
namespace {

constexpr std::size_t kPiece = 1024;
constexpr std::size_t kGroups = sparse::kBitWords * 64;  // of a table of bits

struct Piece {
  std::array<std::uint16_t, kPiece + sparse::kSlack> offsets;
  std::array<std::uint32_t, kPiece + sparse::kSlack> owners;
  std::array<std::uint32_t, kPiece + sparse::kSlack> words;
  std::array<std::uint64_t, kPiece + sparse::kSlack> bits;
  std::array<std::byte*, kPiece> places;  // of the values
  std::array<float, kPiece> values;
  std::array<std::uint16_t, kPiece> rounded;
};

// Of up to 256 pieces at even distances.
double sampled_density(const float* dense, std::uint64_t num_units) {
  std::array<std::uint16_t, kPiece + sparse::kSlack> offsets;
  constexpr std::uint64_t kSamples = 256;
  const std::uint64_t stride = std::max<std::uint64_t>(kPiece, num_units / kSamples);
  std::size_t found = 0, seen = 0;
  for (std::uint64_t first = 0; first < num_units; first += stride) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, num_units - first));
    found += sparse::find_offsets(dense + first, count, offsets.data());
    seen += count;
  }
  return seen == 0 ? 0 : static_cast<double>(found) / static_cast<double>(seen);
}

// One owner's message, or a part of it: bits, then values. There is always room for the values of
// kGroups units more.
class Target {
 public:
  Target(ByteBuffer& message, std::uint64_t num_words, DType wire, std::size_t expected)
      : message_(&message), begin_(message.size()), words_(num_words) {
    value_bytes_ = dtype_block_bytes(wire);
    header_.codec = static_cast<std::uint8_t>(Codec::kBitmap);
    header_.wire = static_cast<std::uint8_t>(wire);
    reserve(expected + kGroups);
    advise_huge_pages(message.data(), message.size());
  }

  // The place of the next value.
  std::byte* next() const { return message_->data() + end_of(count_); }

  // Adds the bits of the next kGroups units, or of the remaining ones. `end`: the end of their
  // values.
  void add(const std::uint64_t* words, const std::byte* end) {
    const std::size_t num_words = std::min(sparse::kBitWords, words_ - words_done_);
    add_words(reinterpret_cast<const std::byte*>(words), num_words);
    count_ += static_cast<std::size_t>(end - next()) / value_bytes_;
    if (count_ + kGroups > capacity_) reserve((count_ + kGroups) * 5 / 4);
  }

  // The units that follow.
  void add(const Target& part) {
    add_words(part.message_->data() + part.end_of_header(), part.words_);
    if (count_ + part.count_ > capacity_) reserve(count_ + part.count_);
    if (part.count_ > 0) {
      std::memcpy(next(), part.message_->data() + part.end_of(0), part.count_ * value_bytes_);
    }
    count_ += part.count_;
  }

  void finish() {
    // An empty encoding has no bitmap.
    message_->resize(count_ == 0 ? end_of_header() : end_of(count_));
    header_.count = count_;
    std::memcpy(message_->data() + begin_, &header_, sizeof(header_));
  }

 private:
  void reserve(std::size_t capacity) {
    capacity_ = std::min(capacity, words_ * 64);
    message_->resize(end_of(capacity_));
  }
  void add_words(const std::byte* words, std::size_t count) {
    std::memcpy(message_->data() + end_of_header() + words_done_ * 8, words, count * 8);
    words_done_ += count;
  }
  std::size_t end_of_header() const { return begin_ + sizeof(header_); }
  std::size_t end_of(std::size_t count) const {
    return end_of_header() + words_ * 8 + count * value_bytes_;
  }

  ByteBuffer* message_;
  std::size_t count_ = 0, capacity_ = 0, begin_ = 0, words_ = 0, words_done_ = 0, value_bytes_ = 0;
  EncodingHeader header_;
};

// Where the values and bits of all owners go.
struct Streams {
  std::vector<std::byte*> next;      // [num_owners]
  std::vector<std::uint64_t> words;  // [num_owners, kBitWords]
};

// Every value's place and its bit.
template <typename Value>
void place_values(const float* values, std::size_t count, Piece& piece, Streams& streams) {
  std::byte** const next = streams.next.data();
  std::uint64_t* const words = streams.words.data();
  for (std::size_t i = 0; i < count; ++i) {
    __builtin_prefetch(values + kPiece + i * 16);  // may be after the end: no access
    std::byte*& place = next[piece.owners[i]];
    piece.places[i] = place;
    place += sizeof(Value);
    words[piece.words[i]] |= piece.bits[i];
  }
}

// Computes all places before it stores the first value. In a single loop, loads would wait for
// stores whose addresses are not known yet.
template <typename Value, typename ValueAt>
void store_values(const Piece& piece, std::size_t count, ValueAt&& value_at) {
  constexpr std::size_t kAhead = 256;  // bytes of a stream that are fetched before they are written
  for (std::size_t i = 0; i < count; ++i) {
    __builtin_prefetch(piece.places[i] + kAhead, 1);
    store_unaligned<Value>(piece.places[i], value_at(i));
  }
}

void scatter_piece(const float* values, std::size_t count, DType wire, Piece& piece,
                   Streams& streams) {
  if (wire == DType::kF32) {
    place_values<float>(values, count, piece, streams);
    store_values<float>(piece, count, [&](std::size_t i) { return values[piece.offsets[i]]; });
    return;
  }
  for (std::size_t i = 0; i < count; ++i) piece.values[i] = values[piece.offsets[i]];
  sparse::store_wire(reinterpret_cast<const std::byte*>(piece.values.data()), count, DType::kF32,
                     wire, reinterpret_cast<std::byte*>(piece.rounded.data()));
  place_values<std::uint16_t>(values, count, piece, streams);
  store_values<std::uint16_t>(piece, count, [&](std::size_t i) { return piece.rounded[i]; });
}

// What all threads share.
struct DenseSource {
  const float* dense;
  sparse::HashedOwners hashed;
  std::uint64_t num_units;
  DType wire;
};

// A table's units, the same for all owners.
std::uint64_t stretch_units(const sparse::HashedOwners& hashed) {
  return kGroups * std::uint64_t{hashed.num_owners};
}

// Units [begin, end); begin: a multiple of stretch_units().
void encode_range(const DenseSource& source, std::uint64_t begin, std::uint64_t end,
                  std::vector<Target>& targets) {
  Piece piece;
  Streams streams;
  for (const Target& target : targets) streams.next.push_back(target.next());
  streams.words.resize(targets.size() * sparse::kBitWords);
  const sparse::BitPlaces places{piece.owners.data(), piece.words.data(), piece.bits.data()};
  for (std::uint64_t stretch_end = begin; begin < end; begin = stretch_end) {
    stretch_end = std::min(end, begin + stretch_units(source.hashed));
    for (std::uint64_t first = begin; first < stretch_end; first += kPiece) {
      const float* values = source.dense + first;
      const auto units = std::min<std::uint64_t>(kPiece, stretch_end - first);
      const std::size_t count = sparse::find_offsets(values, units, piece.offsets.data());
      sparse::bit_places_of(source.hashed, static_cast<std::uint32_t>(first), piece.offsets.data(),
                            count, places);
      scatter_piece(values, count, source.wire, piece, streams);
    }
    for (std::size_t owner = 0; owner < targets.size(); ++owner) {
      targets[owner].add(&streams.words[owner * sparse::kBitWords], streams.next[owner]);
      streams.next[owner] = targets[owner].next();
    }
    std::ranges::fill(streams.words, 0);
  }
}

// A range of units; one thread turns it into its own messages or buffers.
struct Part {
  std::uint64_t begin = 0, end = 0;
  std::vector<ByteBuffer> buffers;
  std::vector<Target> targets;  // [num_owners]
};

void encode_part(const DenseSource& source, double density, std::span<ByteBuffer> messages,
                 Part& part) {
  const bool first = part.begin == 0;  // its buffers are the messages, with room for all
  const std::uint64_t n = source.hashed.num_owners;
  const std::uint64_t units = first ? source.num_units : part.end - part.begin;
  const double expected = density * 1.05 * static_cast<double>(units) / static_cast<double>(n);
  if (!first) part.buffers.resize(messages.size());
  for (ByteBuffer& buffer : first ? messages : std::span(part.buffers)) {
    part.targets.emplace_back(buffer, (units + n * 64 - 1) / (n * 64), source.wire,
                              static_cast<std::size_t>(expected));
  }
  encode_range(source, part.begin, part.end, part.targets);
}

// Ranges of whole stretches, of kLeastUnits at least unless there is one part only.
std::vector<Part> make_parts(const DenseSource& source, int num_threads) {
  constexpr std::uint64_t kLeastUnits = 1 << 20;
  const std::uint64_t stretch = stretch_units(source.hashed);
  const std::uint64_t num_parts =
      std::clamp<std::uint64_t>(source.num_units / std::max(stretch, kLeastUnits), 1,
                                static_cast<std::uint64_t>(num_threads));
  const std::uint64_t num_stretches = (source.num_units + stretch - 1) / stretch;
  std::vector<Part> parts(num_parts);
  for (std::uint64_t part = 0; part < num_parts; ++part) {
    parts[part].begin = num_stretches * part / num_parts * stretch;
    parts[part].end = std::min(source.num_units, num_stretches * (part + 1) / num_parts * stretch);
  }
  return parts;
}

}  // namespace

bool can_encode_dense(Domain domain, DType type, const Partition& partition) {
  return domain.width == 1 && !domain.wide() && type == DType::kF32 &&
         partition.kind() == Partition::Kind::kHashed;
}

void encode_dense(const float* dense, const Partition& partition, DType wire,
                  std::span<ByteBuffer> messages, ThreadPool* threads) {
  const std::uint64_t num_units = partition.num_units();
  TANDEM_CHECK(can_encode_dense({num_units, 1}, DType::kF32, partition));
  TANDEM_CHECK_OP(messages.size(), ==, static_cast<std::size_t>(partition.num_owners()));
  TANDEM_CHECK(sparse::can_carry(DType::kF32, wire));
  const auto run = [&](std::size_t count, const std::function<void(std::size_t)>& body) {
    if (threads != nullptr && count > 1) return threads->run(count, body);
    for (std::size_t i = 0; i < count; ++i) body(i);
  };
  const DenseSource source{dense,
                           {static_cast<std::uint32_t>(partition.num_owners()), partition.seed()},
                           num_units,
                           wire};
  const double density = sampled_density(dense, num_units);
  std::vector<Part> parts = make_parts(source, threads == nullptr ? 1 : threads->num_threads());
  run(parts.size(), [&](std::size_t part) { encode_part(source, density, messages, parts[part]); });
  run(messages.size(), [&](std::size_t owner) {
    Target& whole = parts.front().targets[owner];
    for (std::size_t part = 1; part < parts.size(); ++part) whole.add(parts[part].targets[owner]);
    whole.finish();
  });
}

}  // namespace tandem::collectives
