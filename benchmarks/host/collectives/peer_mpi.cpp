// SPDX-License-Identifier: Apache-2.0
//
// MPI's all-reduce, cut where its counts end.
#include <algorithm>

#include "collectives/transport/mpi/checked.h"
#include "host/collectives/peer_allreduce.h"

namespace tandem::bench {
namespace {

using collectives::mpi::check_mpi;

class MpiAllreduce final : public PeerAllreduce {
 public:
  std::string_view name() const override { return "mpi_allreduce"; }

  void sum(std::span<float> values) override {
    constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;
    for (std::size_t at = 0; at < values.size(); at += kMostAtOnce) {
      const auto part = values.subspan(at, std::min(kMostAtOnce, values.size() - at));
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, part.data(), static_cast<int>(part.size()), MPI_FLOAT,
                              MPI_SUM, MPI_COMM_WORLD),
                "MPI_Allreduce");
    }
  }
};

double reduce(double own, MPI_Op operation) {
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD),
            "MPI_Allreduce");
  return own;
}

}  // namespace

std::unique_ptr<PeerAllreduce> mpi_allreduce() { return std::make_unique<MpiAllreduce>(); }

void wait_for_all() { check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }
double largest_of_all(double own) { return reduce(own, MPI_MAX); }

double mean_of_all(double own) {
  int world = 1;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world), "MPI_Comm_size");
  return reduce(own, MPI_SUM) / world;
}

}  // namespace tandem::bench
