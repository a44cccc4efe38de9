// SPDX-License-Identifier: Apache-2.0
//
// Two ranks as threads reduce a sparse tensor; prints the sum.
#include <cstdio>
#include <thread>
#include <vector>

#include "collectives/collective.h"
#include "transport/inproc/inproc.h"

namespace collectives = tandem::collectives;
namespace transport = tandem::transport;

int main() {
  auto transports = transport::inproc::make_world(2);
  std::vector<std::thread> ranks;
  for (auto& connections : transports) {
    ranks.emplace_back([&connections] {
      collectives::Group group(std::move(connections));
      const std::vector<std::uint32_t> indices = {7, static_cast<std::uint32_t>(group.rank())};
      const std::vector<float> values = {1.5f, 2.0f};
      const collectives::SparseTensor sum =
          collectives::sparse_allreduce(group, collectives::SparseView::of(indices, values, 10));
      if (group.rank() != 0) return;
      for (std::size_t entry = 0; entry < sum.num_entries; ++entry) {
        std::printf("%u %g\n", sum.indices_as<std::uint32_t>()[entry],
                    sum.values_as<float>()[entry]);
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
}
