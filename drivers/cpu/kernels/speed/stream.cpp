// SPDX-License-Identifier: Apache-2.0
//
// read_stream() for AVX-512, AVX2, NEON and scalar, chosen at run time: four independent
// accumulators, over one run of memory or over its four quarters.
#include "cpu/kernels/speed/stream.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/kernels/speed/stream.cpp"
#include "hwy/foreach_target.h"
//
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::device::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

std::uint64_t read(ReadPattern pattern, const std::byte* from, std::size_t size_bytes) {
  const hn::CappedTag<std::uint64_t, 8> words;
  constexpr std::size_t kStreams = 4, kLine = 64;
  constexpr std::size_t kPerLine = kLine / sizeof(std::uint64_t);
  constexpr std::size_t kAhead = 4096;
  // Distance between the four places that are read at the same time.
  const std::size_t apart =
      (pattern == ReadPattern::kOneStream ? kLine : size_bytes / kStreams) / sizeof(std::uint64_t);
  const std::size_t step = (pattern == ReadPattern::kOneStream ? kStreams : 1) * kPerLine;
  const auto* at = reinterpret_cast<const std::uint64_t*>(from);
  decltype(hn::Zero(words)) sums[kStreams] = {hn::Zero(words), hn::Zero(words), hn::Zero(words),
                                              hn::Zero(words)};
  for (std::size_t done = 0; done < size_bytes; done += kStreams * kLine, at += step) {
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      const std::uint64_t* line = at + stream * apart;
      if (pattern == ReadPattern::kPrefetch) {
        __builtin_prefetch(reinterpret_cast<const std::byte*>(line) + kAhead, 0, 2);
      }
      for (std::size_t i = 0; i < kPerLine; i += hn::MaxLanes(words)) {
        sums[stream] = hn::Xor(sums[stream], hn::LoadU(words, line + i));
      }
    }
  }
  const auto sum = hn::Xor(hn::Xor(sums[0], sums[1]), hn::Xor(sums[2], sums[3]));
  HWY_ALIGN std::uint64_t lanes[8] = {};
  hn::StoreU(sum, words, lanes);
  std::uint64_t all = 0;
  for (const std::uint64_t lane : lanes) all ^= lane;
  return all;
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::device::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::device::cpu {
HWY_EXPORT(read);

std::uint64_t read_stream(ReadPattern pattern, const std::byte* from, std::size_t size_bytes) {
  return HWY_DYNAMIC_DISPATCH(read)(pattern, from, size_bytes);
}

}  // namespace tandem::device::cpu
#endif  // HWY_ONCE
