// SPDX-License-Identifier: Apache-2.0
//
// Partition::split and join. Ranges: a search for each bound and copies. Hashed: a counting sort by
// owner, chunk by chunk, with the places of a chunk computed in vectors; join turns every part's
// places back into units, which ascend, and merges.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "tensor/sparse/hashed_places.h"
#include "tensor/sparse/merge.h"
#include "tensor/sparse/partition.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kChunk = 4096;

// Copies entries [begin, end) of `from` to entry `at` of `to`, indices moved by `shift` (modulo).
void copy_entries(const SparseVector& from, std::size_t begin, std::size_t end, std::uint64_t shift,
                  SparseVector& to, std::size_t at) {
  if (begin == end) return;
  visit_types(from, [&](auto from_index, auto value) {
    using T = decltype(value);
    const auto indices = from.indices<decltype(from_index)>();
    visit_types(to, [&](auto to_index, auto) {
      using I = decltype(to_index);
      I* out = to.indices<I>().data() + at;
      for (std::size_t entry = begin; entry < end; ++entry) {
        out[entry - begin] = static_cast<I>(indices[entry] + shift);
      }
    });
    const std::size_t width = from.domain().width;
    std::copy_n(from.values<T>().data() + begin * width, (end - begin) * width,
                to.values<T>().data() + at * width);
  });
}

// The first entry whose unit is not below `unit`.
std::size_t lower_entry(const SparseVector& vector, std::uint64_t unit) {
  std::size_t entry = 0;
  visit_types(vector, [&](auto index, auto) {
    const auto indices = vector.indices<decltype(index)>();
    entry = static_cast<std::size_t>(std::ranges::lower_bound(indices, unit) - indices.begin());
  });
  return entry;
}

// Calls body(first entry, entries, owners, locals) for every chunk. Narrow domains in vectors.
template <typename Body>
void for_each_chunk(const Partition& partition, const SparseVector& vector, Body&& body) {
  const HashedOwners hashed{static_cast<std::uint32_t>(partition.num_owners()), partition.seed()};
  std::array<std::uint32_t, kChunk> owners;
  if (!vector.wide()) {
    std::array<std::uint32_t, kChunk> locals;
    const auto indices = vector.indices<std::uint32_t>();
    for (std::size_t first = 0; first < indices.size(); first += kChunk) {
      const std::size_t count = std::min(kChunk, indices.size() - first);
      places_of(hashed, indices.data() + first, count, owners.data(), locals.data());
      body(first, count, owners.data(), locals.data());
    }
    return;
  }
  std::array<std::uint64_t, kChunk> locals;
  const auto indices = vector.indices<std::uint64_t>();
  for (std::size_t first = 0; first < indices.size(); first += kChunk) {
    const std::size_t count = std::min(kChunk, indices.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      owners[i] = static_cast<std::uint32_t>(partition.owner(indices[first + i]));
      locals[i] = partition.local(indices[first + i]);
    }
    body(first, count, owners.data(), locals.data());
  }
}

// First every entry's place, then indices, then rows: no load waits for a store whose address is
// not known yet, which a single loop's would.
template <typename I, typename T>
void scatter_entries(const Partition& partition, const SparseVector& vector,
                     std::vector<SparseVector>& parts) {
  std::vector<I*> indices;
  std::vector<T*> rows;
  for (SparseVector& part : parts) {
    indices.push_back(part.indices<I>().data());
    rows.push_back(part.values<T>().data());
  }
  std::vector<std::size_t> next(parts.size());
  std::array<std::size_t, kChunk> places;
  const std::size_t width = vector.domain().width;
  const T* values = vector.values<T>().data();
  for_each_chunk(
      partition, vector,
      [&](std::size_t first, std::size_t count, const std::uint32_t* owners, const auto* locals) {
        for (std::size_t i = 0; i < count; ++i) places[i] = next[owners[i]]++;
        for (std::size_t i = 0; i < count; ++i) {
          indices[owners[i]][places[i]] = static_cast<I>(locals[i]);
        }
        const T* row = values + first * width;
        for (std::size_t i = 0; i < count; ++i, row += width) {
          T* to = rows[owners[i]] + places[i] * width;
          *to = *row;
          if (width > 1) std::copy(row + 1, row + width, to + 1);
        }
      });
}

}  // namespace

std::vector<SparseVector> Partition::split(const SparseVector& vector) const {
  TANDEM_CHECK_OP(vector.domain().num_units, ==, num_units_);
  std::vector<SparseVector> parts;
  for (int owner = 0; owner < num_owners_; ++owner) {
    parts.emplace_back(Domain{num_local(owner), vector.domain().width}, vector.type());
  }
  if (kind_ != Kind::kHashed) {
    std::size_t begin = 0;
    for (int owner = 0; owner < num_owners_; ++owner) {
      SparseVector& part = parts[static_cast<std::size_t>(owner)];
      const std::uint64_t first = first_unit(owner);
      const std::size_t end = lower_entry(vector, first + num_local(owner));
      part.resize(end - begin);
      copy_entries(vector, begin, end, std::uint64_t{0} - first, part, 0);
      begin = end;
    }
    return parts;
  }
  std::vector<std::size_t> counts(parts.size());
  for_each_chunk(*this, vector,
                 [&](std::size_t, std::size_t count, const std::uint32_t* owners, const auto*) {
                   for (std::size_t i = 0; i < count; ++i) ++counts[owners[i]];
                 });
  for (std::size_t owner = 0; owner < parts.size(); ++owner) parts[owner].resize(counts[owner]);
  visit_types(parts.front(), [&](auto index, auto value) {
    scatter_entries<decltype(index), decltype(value)>(*this, vector, parts);
  });
  return parts;
}

SparseVector Partition::join(std::vector<SparseVector> parts, Domain domain) const {
  TANDEM_CHECK_OP(parts.size(), ==, static_cast<std::size_t>(num_owners_));
  if (kind_ != Kind::kHashed) {
    SparseVector out(domain, parts.front().type());
    std::size_t total = 0;
    for (const SparseVector& part : parts) total += part.num_entries();
    out.resize(total);
    std::size_t at = 0;
    for (int owner = 0; owner < num_owners_; ++owner) {
      const SparseVector& part = parts[static_cast<std::size_t>(owner)];
      copy_entries(part, 0, part.num_entries(), first_unit(owner), out, at);
      at += part.num_entries();
    }
    return out;
  }
  const HashedOwners hashed{static_cast<std::uint32_t>(num_owners_), seed_};
  for (int owner = 0; owner < num_owners_; ++owner) {
    SparseVector& part = parts[static_cast<std::size_t>(owner)];
    SparseVector moved(domain, part.type());
    moved.resize(part.num_entries());
    if (domain.wide()) {
      for (std::size_t entry = 0; entry < part.num_entries(); ++entry) {
        moved.indices<std::uint64_t>()[entry] = unit(owner, part.index_at(entry));
      }
    } else {
      units_of(hashed, static_cast<std::uint32_t>(owner), part.indices<std::uint32_t>().data(),
               part.num_entries(), moved.indices<std::uint32_t>().data());
    }
    visit_type(part.type(), [&](auto zero) {
      std::ranges::copy(part.values<decltype(zero)>(), moved.values<decltype(zero)>().begin());
    });
    part = std::move(moved);
  }
  return merge(parts, Reduction::kSum);
}

}  // namespace tandem::sparse
