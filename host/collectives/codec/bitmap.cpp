// SPDX-License-Identifier: Apache-2.0
//
// bitmap: a bit per unit of the domain in words of 64 (the rest of the last word is zero), then the
// packed values. Over the local places of a hashed partition: the hash bitmap of ZEN section 4.3,
// |G| bits over all owners and no table.
#include "collectives/codec/format.h"

namespace tandem::collectives {
namespace {

std::uint64_t num_words(Domain domain) {
  return domain.num_units / 64 + (domain.num_units % 64 != 0);
}

class Bitmap final : public IndexFormat {
 public:
  Codec codec() const override { return Codec::kBitmap; }
  std::string_view name() const override { return "bitmap"; }
  bool supports(Domain domain) const override { return !domain.wide(); }

 private:
  double index_bytes(const EncodingStatistics& statistics) const override {
    return static_cast<double>(num_words(statistics.domain)) * 8;
  }

  void append_indices(const SparseVector& vector, ByteBuffer& message) const override {
    const std::uint64_t words = num_words(vector.domain());
    std::byte* to = extend(message, words * 8);
    const auto indices = vector.indices<std::uint32_t>();
    std::uint64_t word = 0, bits = 0;
    for (const std::uint32_t index : indices) {
      while (word < index / 64) {
        store_unaligned(to + word++ * 8, bits);
        bits = 0;
      }
      bits |= std::uint64_t{1} << (index % 64);
    }
    for (; word < words; ++word, bits = 0) store_unaligned(to + word * 8, bits);
  }

  std::span<const std::byte> take_indices(const Encoded& encoded, BodyReader& body) const override {
    return body.take(num_words(encoded.domain), 8, "the bitmap is cut");
  }

  void read_indices(std::span<const std::byte> part, SparseVector& out) const override {
    const std::uint64_t words = part.size() / 8;
    std::uint64_t total = 0;
    for (std::uint64_t word = 0; word < words; ++word) {
      total += static_cast<std::uint64_t>(
          std::popcount(load_unaligned<std::uint64_t>(part.data() + word * 8)));
    }
    if (total != out.num_entries()) reject_encoding("the bits do not add up to the entries");
    const std::uint64_t rest = out.domain().num_units % 64;
    const auto last = load_unaligned<std::uint64_t>(part.data() + (words - 1) * 8);
    if (rest != 0 && last >> rest != 0) reject_encoding("a bit lies outside the domain");
    std::uint32_t* to = out.indices<std::uint32_t>().data();
    for (std::uint64_t word = 0; word < words; ++word) {
      auto bits = load_unaligned<std::uint64_t>(part.data() + word * 8);
      for (; bits != 0; bits &= bits - 1) {
        *to++ = static_cast<std::uint32_t>(word * 64) +
                static_cast<std::uint32_t>(std::countr_zero(bits));
      }
    }
  }
};

}  // namespace

const Format& bitmap_format() {
  static const Bitmap format;
  return format;
}

}  // namespace tandem::collectives
