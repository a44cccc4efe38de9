// SPDX-License-Identifier: Apache-2.0
//
// Format: the body that one codec writes after the header of an encoding. Each has its own file;
// codec.cpp lists them.
//
// A body is unaligned; integers are little-endian. Decoders check every count against the remaining
// bytes and the domain before they allocate; every index must be in range and greater than the one
// before. A decoder allocates at most six times the body (a wide index and an f32 value from an f16
// value and no index bits at all). To add one: write its file, list it in codec.cpp's formats();
// the tests run over that list. Threads: stateless. Errors: Error that names what is wrong in the
// body.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "collectives/codec/codec.h"

namespace tandem::collectives {

static_assert(std::endian::native == std::endian::little, "encodings are copied as they lie");

// The bytes of a body that have not been read.
class BodyReader {
 public:
  explicit BodyReader(std::span<const std::byte> body) : rest_(body) {}

  std::size_t remaining() const { return rest_.size(); }
  // The next `count` items of `item_bytes` each. Throws Error naming `what` if the body ends before
  // them.
  std::span<const std::byte> take(std::uint64_t count, std::uint64_t item_bytes, const char* what);

 private:
  std::span<const std::byte> rest_;
};

// The header of an encoding, checked against the domain that the reader expects.
struct Encoded {
  Domain domain;
  DType type = DType::kF32;  // the type of the decoded values
  DType wire = DType::kF32;
  std::uint64_t count = 0;  // the count that Format::encode() returned
};

class Format {
 public:
  virtual ~Format() = default;
  virtual Codec codec() const = 0;
  virtual std::string_view name() const = 0;
  virtual bool supports(Domain) const { return true; }

  // Expected bytes of the body.
  virtual double body_bytes(const EncodingStatistics& statistics, DType wire) const = 0;

  // Appends the body; returns the header's count: of entries, of blocks or of units.
  virtual std::uint64_t encode(const SparseVector& vector, DType wire, Reduction reduction,
                               ByteBuffer& message) const = 0;
  virtual SparseVector decode(const Encoded& encoded, Reduction reduction,
                              BodyReader& body) const = 0;
};

// Index part, then the packed values of all entries.
class IndexFormat : public Format {
 public:
  double body_bytes(const EncodingStatistics& statistics, DType wire) const final;
  std::uint64_t encode(const SparseVector& vector, DType wire, Reduction reduction,
                       ByteBuffer& message) const final;
  SparseVector decode(const Encoded& encoded, Reduction reduction, BodyReader& body) const final;

 protected:
  // All are called for at least one entry.
  virtual double index_bytes(const EncodingStatistics& statistics) const = 0;
  virtual void append_indices(const SparseVector& vector, ByteBuffer& message) const = 0;
  // Skips the index part and returns it. Uses only sizes; the caller checks `count` against the
  // values that follow.
  virtual std::span<const std::byte> take_indices(const Encoded& encoded,
                                                  BodyReader& body) const = 0;
  // Checks the part and fills the indices of `out`, which has the entries the header counts.
  virtual void read_indices(std::span<const std::byte> part, SparseVector& out) const = 0;
};

const Format& coo32_format();
const Format& coo16_format();
const Format& delta_format();
const Format& bitmap_format();
const Format& blocks_format();
const Format& dense_format();

// Throws the decoders' error.
[[noreturn]] void reject_encoding(const char* what);

// Makes room for `bytes` more bytes at the end of `message`. Returns the (unaligned) start of this
// room.
std::byte* extend(ByteBuffer& message, std::size_t bytes);

inline double wire_row_bytes(Domain domain, DType wire) {
  return static_cast<double>(domain.width) * static_cast<double>(dtype_block_bytes(wire));
}

template <typename T>
T load_unaligned(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void store_unaligned(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// Units per block of the blocks format: 256 values, at least one unit, at most the domain.
std::uint64_t units_per_block(Domain domain);

// The bytes of delta's indices: exact for short vectors, estimated from a sample for long ones.
double delta_index_bytes(const SparseVector& vector);

}  // namespace tandem::collectives
