// SPDX-License-Identifier: Apache-2.0
//
// MPI's all-reduce, in pieces that its counts can hold.
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

#include "common/error.h"
#include "host/collectives/peer_allreduce.h"
#include "transport/mpi/checked.h"

namespace tandem::bench {
namespace {

using transport::mpi::check_mpi;

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

// Sleeps between polls. A blocking call of MPI would take the processor from ranks that still work.
void wait(MPI_Request request) {
  for (;;) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done) return;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

double reduce(double own, MPI_Op operation) {
  double all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(&own, &all, 1, MPI_DOUBLE, operation, MPI_COMM_WORLD, &request),
            "MPI_Iallreduce");
  wait(request);
  return all;
}

}  // namespace

std::unique_ptr<PeerAllreduce> mpi_allreduce() { return std::make_unique<MpiAllreduce>(); }

void wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
  wait(request);
}
double largest_of_all(double own) { return reduce(own, MPI_MAX); }

std::string folder_of_all() {
  std::array<char, 256> folder{};
  const auto pattern = std::filesystem::temp_directory_path() / "bench-network-XXXXXX";
  std::strncpy(folder.data(), pattern.c_str(), folder.size() - 1);
  int rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  if (rank == 0 && mkdtemp(folder.data()) == nullptr) {
    throw Error("benchmark", "cannot make a folder for the ranks to meet in");
  }
  check_mpi(MPI_Bcast(folder.data(), folder.size(), MPI_CHAR, 0, MPI_COMM_WORLD), "MPI_Bcast");
  return folder.data();
}

void remove_folder_of_all(const std::string& folder) {
  wait_for_all();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

double mean_of_all(double own) {
  int world = 1;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world), "MPI_Comm_size");
  return reduce(own, MPI_SUM) / world;
}

}  // namespace tandem::bench
