// SPDX-License-Identifier: Apache-2.0
//
// One part for each thread.
#include "tensor/tiling/stencils/memory_triad.h"

#include <algorithm>
#include <vector>

#include "common/huge_pages.h"
#include "tensor/tiling/stencils/stencil_row.h"

namespace tandem::tiling {

template <typename Body>
void MemoryTriad::for_parts(const Body& body) {
  const auto threads = static_cast<std::size_t>(pool_.num_threads());
  std::vector<std::size_t> bounds(threads + 1);
  for (std::size_t t = 0; t <= threads; ++t) bounds[t] = t;
  pool_.place(bounds, [&](std::size_t part, std::size_t) {
    const std::size_t begin = a_.size() * part / threads, end = a_.size() * (part + 1) / threads;
    body(begin, end - begin);
  });
}

MemoryTriad::MemoryTriad(std::size_t length, ThreadPool& pool)
    : pool_(pool), a_(length), b_(length), c_(length) {
  for (RawVector<double>* array : {&a_, &b_, &c_}) {
    advise_huge_pages(array->data(), length * sizeof(double));
  }
  for_parts([&](std::size_t begin, std::size_t count) {
    for (RawVector<double>* array : {&a_, &b_, &c_}) {
      std::fill_n(array->data() + begin, count, 1.0);
    }
  });
}

void MemoryTriad::run(bool streams) {
  for_parts([&](std::size_t begin, std::size_t count) {
    triad_row(b_.data() + begin, c_.data() + begin, a_.data() + begin, count, streams);
    finish_streams();
  });
}

void MemoryTriad::copy(bool streams) {
  for_parts([&](std::size_t begin, std::size_t count) {
    copy_row(b_.data() + begin, a_.data() + begin, count, streams);
    finish_streams();
  });
}

}  // namespace tandem::tiling
