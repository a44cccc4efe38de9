// SPDX-License-Identifier: Apache-2.0
//
// Codecs: the encoding of a sparse vector in a message.
//
// An entry is encoded whatever its value is, also zero. Exception: blocks and dense treat a unit
// that equals the reduction's identity as absent. Values are f32, f16, bf16, f64 or
// u64 on the wire, rounded to nearest even. The encoding names its codec, wire type and number of
// entries. Threads: any. Cost: one pass; see the files. Sources: ZEN (OSDI 2025) section 4.3,
// SparCML (SC 2019), OmniReduce (SIGCOMM 2021).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "collectives/frames/vocabulary.h"

namespace tandem::collectives {

//   codec   index part, bytes                                          good for
//   coo32   4 per entry (8 when the domain is wide)                    very few entries
//   coo16   2 per entry + 4 per chunk of 65,536 units                  1 in 30,000 and denser
//   delta   bit-packed gaps, blocks of 128 with one width              sparse, clustered
//   bitmap  num_units / 8                                              denser than 1 in 16 or so
//   blocks  4 per block of 256 values; all values of a touched block   clustered (OmniReduce)
//   dense   none; all values                                           denser than 97 %
// Over the local indices of a hashed partition `bitmap` is ZEN's hash bitmap.
enum class Codec : std::uint8_t { kAuto, kCoo32, kCoo16, kDelta, kBitmap, kBlocks, kDense };

std::string_view codec_name(Codec codec);
std::optional<Codec> codec_from_name(std::string_view name);
std::span<const Codec> all_codecs();  // without kAuto

// The counts that determine the size of an encoding.
struct EncodingStatistics {
  Domain domain;
  double num_entries = 0;
  double num_blocks = 0;  // blocks of 256 values with an entry; 0: estimated for a uniform support
};

// False if the domain is too large: for bitmap, blocks and dense to enumerate (2^32 units), for
// coo16 to have its table (2^40).
bool codec_supports(Codec codec, Domain domain);

// Counts the entries and blocks of this vector exactly.
EncodingStatistics encoding_statistics(const SparseVector& vector);

// Expected bytes of what encode() appends; exact (given num_blocks, for blocks) for all but delta,
// which is an estimate for uniform supports.
double encoded_bytes(Codec codec, const EncodingStatistics& statistics, DType wire);

// The codec with the smallest expected size.
Codec choose_codec(const EncodingStatistics& statistics, DType wire);

// Appends the vector to `message`; allocates encoded_bytes(). kAuto chooses by the vector's own
// counts and never takes more bytes than coo32. `wire`: the vector's type, or f16 or bf16 for f32
// vectors. Throws Error if the codec does not support the domain.
void encode(const SparseVector& vector, Codec codec, DType wire, Reduction reduction,
            ByteBuffer& message);

// Reads one vector from the front of `body` and advances it. Checks every count and index against
// the domain and the message before it allocates; throws Error saying what is wrong. Allocates at
// most six times the bytes it reads (wide indices of narrow gaps and f16 values). type: the type of
// the decoded values (f32, f64 or u64).
SparseVector decode(std::span<const std::byte>& body, Domain domain, DType type,
                    Reduction reduction);

}  // namespace tandem::collectives
