// SPDX-License-Identifier: Apache-2.0
//
// The entries are sorted with `mode` as the fastest one, so that fibres are runs of entries. A
// counting sort then orders the runs by class; equal classes keep their order.
#include "tensor/sparse/kernels/fibre_tensor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/error.h"
#include "tensor/sparse/formats/entry_order.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

void check_fibre_mode(const CooTensor& tensor, std::size_t mode) {
  if (mode >= tensor.order()) {
    throw Error("tensor", "there is no mode " + std::to_string(mode) +
                              "; the tensor has the modes 0 to " +
                              std::to_string(tensor.order() - 1));
  }
  if (index_bits(tensor.sizes[mode]) > 31) {
    throw Error("tensor", "mode " + std::to_string(mode) + " has " +
                              std::to_string(tensor.sizes[mode]) +
                              " indices, which do not fit the kernels over fibres; at most 2^31 "
                              "are possible");
  }
  for (std::size_t m = 0; m < tensor.order(); ++m) {
    tensor.indices[m].visit([&](auto indices) {
      for (std::size_t e = 0; e < indices.size(); ++e) {
        if (indices[e] < tensor.sizes[m]) continue;
        throw Error("tensor", "entry " + std::to_string(e) + " has the index " +
                                  std::to_string(indices[e]) + " in mode " + std::to_string(m) +
                                  ", which has " + std::to_string(tensor.sizes[m]));
      }
    });
  }
}

// The same tensor with `mode` behind the others, without duplicates and in order.
CooTensor mode_last(CooTensor tensor, std::size_t mode, ThreadPool& pool) {
  const auto at = static_cast<std::ptrdiff_t>(mode);
  std::rotate(tensor.sizes.begin() + at, tensor.sizes.begin() + at + 1, tensor.sizes.end());
  std::rotate(tensor.indices.begin() + at, tensor.indices.begin() + at + 1, tensor.indices.end());
  sum_duplicates(tensor, pool);
  return tensor;
}

// The first entries of all fibres, and behind them the number of entries.
RawVector<std::uint64_t> fibre_begins(const CooTensor& sorted, ThreadPool& pool) {
  const std::size_t entries = sorted.num_entries(), others = sorted.order() - 1;
  const EqualParts parts{entries, static_cast<std::size_t>(pool.num_threads())};
  RawVector<std::uint8_t> begins(entries);
  std::vector<std::uint64_t> counts(parts.parts + 1);
  pool.run(parts.parts, [&](std::size_t part) {
    const std::size_t first = parts.bound(part), last = parts.bound(part + 1);
    for (std::size_t e = first; e < last; ++e) begins[e] = e == 0 ? 1 : 0;
    for (std::size_t m = 0; m < others; ++m) {
      sorted.indices[m].visit([&](auto indices) {
        for (std::size_t e = first; e < last; ++e) {
          begins[e] |= e > 0 && indices[e] != indices[e - 1] ? 1 : 0;
        }
      });
    }
    for (std::size_t e = first; e < last; ++e) counts[part + 1] += begins[e];
  });
  for (std::size_t part = 0; part < parts.parts; ++part) counts[part + 1] += counts[part];
  RawVector<std::uint64_t> firsts(counts.back() + 1);
  pool.run(parts.parts, [&](std::size_t part) {
    std::uint64_t fibre = counts[part];
    for (std::size_t e = parts.bound(part); e < parts.bound(part + 1); ++e) {
      if (begins[e] != 0) firsts[fibre++] = e;
    }
  });
  firsts.back() = entries;
  return firsts;
}

std::size_t class_of(std::uint64_t length) {
  return length >= 1 && length <= kMostEqualFibres ? static_cast<std::size_t>(length) - 1
                                                   : kMostEqualFibres;
}

// Fibres and entries of the classes: counts, then the places of a part's first ones.
struct ClassPlaces {
  std::array<std::uint64_t, kFibreClasses> rows{}, entries{};
};

// One for each part of the fibres. bounds: as in FibreTensor.
std::vector<ClassPlaces> class_places(const RawVector<std::uint64_t>& firsts,
                                      const EqualParts& parts, ThreadPool& pool,
                                      std::array<std::uint64_t, kFibreClasses + 1>& bounds) {
  std::vector<ClassPlaces> places(parts.parts);
  pool.run(parts.parts, [&](std::size_t part) {
    for (std::size_t fibre = parts.bound(part); fibre < parts.bound(part + 1); ++fibre) {
      const std::uint64_t length = firsts[fibre + 1] - firsts[fibre];
      places[part].rows[class_of(length)] += 1;
      places[part].entries[class_of(length)] += length;
    }
  });
  std::uint64_t row = 0, entry = 0;
  for (std::size_t c = 0; c < kFibreClasses; ++c) {
    bounds[c] = row;
    for (ClassPlaces& each : places) {
      row += std::exchange(each.rows[c], row);
      entry += std::exchange(each.entries[c], entry);
    }
  }
  bounds[kFibreClasses] = row;
  return places;
}

// Writes the fibres of a part, beginning at its places.
template <typename Value, typename Stored>
void place_fibres(const CooTensor& sorted, const RawVector<std::uint64_t>& firsts,
                  std::pair<std::size_t, std::size_t> part, ClassPlaces at,
                  FibreTensor<Value, Stored>& to) {
  const std::size_t others = sorted.order() - 1;
  sorted.indices[others].visit([&](auto indices) {
    for (std::size_t fibre = part.first; fibre < part.second; ++fibre) {
      const std::uint64_t first = firsts[fibre], length = firsts[fibre + 1] - first;
      const std::size_t c = class_of(length);
      const std::uint64_t row = at.rows[c]++, entry = at.entries[c];
      at.entries[c] += length;
      to.rows.begins[row] = entry;
      for (std::uint64_t e = 0; e < length; ++e) {
        to.rows.indices[entry + e] = static_cast<std::int32_t>(indices[first + e]);
        to.rows.values[entry + e] = stored_as<Stored>(sorted.values[first + e]);
      }
      for (std::size_t m = 0; m < others; ++m) to.places[m].set(row, sorted.indices[m][first]);
    }
  });
}

}  // namespace

template <typename Value, typename Stored>
FibreTensor<Value, Stored> fibre_tensor(CooTensor tensor, std::size_t mode, ThreadPool& pool) {
  check_fibre_mode(tensor, mode);
  FibreTensor<Value, Stored> result;
  result.sizes = tensor.sizes;
  result.mode = mode;
  const CooTensor sorted = mode_last(std::move(tensor), mode, pool);
  const std::size_t entries = sorted.num_entries(), others = sorted.order() - 1;
  RawVector<std::uint64_t> firsts = fibre_begins(sorted, pool);
  if (others == 0 && entries == 0) firsts.insert(firsts.begin(), 0);  // the one fibre of order 1
  const std::size_t fibres = firsts.size() - 1;
  result.rows.rows = fibres;
  result.rows.columns = result.sizes[mode];
  result.rows.begins.resize(fibres + 1);
  result.rows.begins[fibres] = entries;
  result.rows.indices.resize(entries);
  result.rows.values.resize(entries);
  result.places.resize(others);
  for (std::size_t m = 0; m < others; ++m) result.places[m].resize(fibres, sorted.sizes[m] - 1);
  const EqualParts parts{fibres, static_cast<std::size_t>(pool.num_threads())};
  const std::vector<ClassPlaces> places = class_places(firsts, parts, pool, result.bounds);
  pool.run(parts.parts, [&](std::size_t part) {
    place_fibres(sorted, firsts, {parts.bound(part), parts.bound(part + 1)}, places[part], result);
  });
  return result;
}

template FibreTensor<float> fibre_tensor(CooTensor, std::size_t, ThreadPool&);
template FibreTensor<double> fibre_tensor(CooTensor, std::size_t, ThreadPool&);
template FibreTensor<float, Bf16> fibre_tensor(CooTensor, std::size_t, ThreadPool&);

}  // namespace tandem::sparse
