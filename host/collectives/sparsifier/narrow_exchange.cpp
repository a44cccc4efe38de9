// SPDX-License-Identifier: Apache-2.0
//
// Sums of up to 2^29 bf16 values of one size are exact in f64, so an error is known exactly.
#include "collectives/sparsifier/narrow_exchange.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tensor/sparse/wire_values.h"

namespace tandem::collectives {
namespace {

constexpr float kLargestF16 = 65504.0f;
constexpr float kLargestBf16 = 0x1.fep127f;
constexpr std::size_t kIndexBytes = sizeof(std::uint32_t), kNarrowBytes = 2;

using Bytes = RawVector<std::byte>;

void narrow(std::span<const float> values, DType type, std::byte* to) {
  const float largest = type == DType::kF16 ? kLargestF16 : kLargestBf16;
  std::vector<float> inside(values.begin(), values.end());
  for (float& value : inside) value = std::clamp(value, -largest, largest);
  sparse::store_wire(reinterpret_cast<const std::byte*>(inside.data()), inside.size(), DType::kF32,
                     type, to);
}

void widen(const std::byte* from, DType type, std::span<float> to) {
  sparse::load_wire(from, to.size(), DType::kF32, type, reinterpret_cast<std::byte*>(to.data()));
}

// values minus their rounded copies in `sent`
RawVector<float> lost(std::span<const float> values, const std::byte* sent, DType type) {
  RawVector<float> remainder(values.size());
  widen(sent, type, remainder);
  for (std::size_t i = 0; i < values.size(); ++i) remainder[i] = values[i] - remainder[i];
  return remainder;
}

std::size_t slice_begin(std::size_t num_values, std::size_t rank, std::size_t world) {
  return num_values * rank / world;
}

// The sums over ranks of one slice; every message has its values.
std::vector<double> sums_of(const std::vector<Bytes>& messages, std::size_t num_values,
                            DType type) {
  std::vector<double> sums(num_values);
  std::vector<float> values(num_values);
  for (const Bytes& message : messages) {
    TANDEM_CHECK_OP(message.size(), ==, num_values * kNarrowBytes);
    widen(message.data(), type, values);
    for (std::size_t i = 0; i < num_values; ++i) sums[i] += values[i];
  }
  return sums;
}

}  // namespace

bool is_narrow(const ReduceOptions& options) {
  return options.wire && (*options.wire == DType::kF16 || *options.wire == DType::kBF16);
}

RawVector<float> narrow_mean(Group& group, std::vector<float>& values,
                             const ReduceOptions& options) {
  if (values.empty()) return {};
  const DType type = *options.wire;
  const auto world = static_cast<std::size_t>(group.world());
  const auto rank = static_cast<std::size_t>(group.rank());
  Bytes own(values.size() * kNarrowBytes);
  narrow(values, type, own.data());
  RawVector<float> remainder = lost(values, own.data(), type);
  std::vector<std::span<const std::byte>> to;
  for (std::size_t peer = 0; peer < world; ++peer) {
    const std::size_t begin = slice_begin(values.size(), peer, world);
    const std::size_t end = slice_begin(values.size(), peer + 1, world);
    to.push_back(std::span<const std::byte>(own).subspan(begin * kNarrowBytes,
                                                         (end - begin) * kNarrowBytes));
  }
  const auto received = alltoallv(group, to, options);
  const std::size_t first = slice_begin(values.size(), rank, world);
  const auto sums = sums_of(received, to[rank].size() / kNarrowBytes, type);
  std::vector<float> means(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    means[i] = static_cast<float>(sums[i] / static_cast<double>(world));
  }
  Bytes slice(means.size() * kNarrowBytes);
  narrow(means, type, slice.data());
  widen(slice.data(), type, means);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    remainder[first + i] +=
        static_cast<float>(sums[i] - static_cast<double>(world) * static_cast<double>(means[i]));
  }
  const auto slices = allgatherv(group, slice, options);
  std::size_t at = 0;
  for (const Bytes& bytes : slices) {
    const std::size_t count = bytes.size() / kNarrowBytes;
    TANDEM_CHECK_OP(at + count, <=, values.size());
    widen(bytes.data(), type, std::span(values).subspan(at, count));
    at += count;
  }
  return remainder;
}

NarrowMean narrow_own_mean(Group& group, std::uint64_t num_values, const Indices& own,
                           std::span<const float> values, const ReduceOptions& options) {
  const DType type = *options.wire;
  Bytes message(own.size() * (kIndexBytes + kNarrowBytes));
  std::byte* narrowed = message.data() + own.size() * kIndexBytes;
  if (!own.empty()) std::memcpy(message.data(), own.data(), own.size() * kIndexBytes);
  narrow(values, type, narrowed);
  NarrowMean result;
  result.remainder = lost(values, narrowed, type);
  struct Entry {
    std::uint32_t index;
    float value;
  };
  RawVector<Entry> entries;
  for (const Bytes& bytes : allgatherv(group, message, options)) {
    const std::size_t count = bytes.size() / (kIndexBytes + kNarrowBytes);
    const std::byte* at = bytes.data();
    RawVector<float> theirs(count);
    widen(at + count * kIndexBytes, type, theirs);
    const std::size_t before = entries.size();
    for (std::size_t i = 0; i < count; ++i) {
      Entry entry{0, theirs[i]};
      std::memcpy(&entry.index, at + i * kIndexBytes, kIndexBytes);
      TANDEM_CHECK_OP(entry.index, <, num_values);
      entries.push_back(entry);
    }
    std::inplace_merge(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(before),
                       entries.end(),
                       [](const Entry& a, const Entry& b) { return a.index < b.index; });
  }
  for (std::size_t i = 0; i < entries.size();) {
    const std::uint32_t index = entries[i].index;
    double sum = 0;
    for (; i < entries.size() && entries[i].index == index; ++i) sum += entries[i].value;
    result.indices.push_back(index);
    result.values.push_back(static_cast<float>(sum / group.world()));
  }
  return result;
}

}  // namespace tandem::collectives
