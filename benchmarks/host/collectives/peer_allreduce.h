// SPDX-License-Identifier: Apache-2.0
//
// Dense all-reduces of other libraries, as baselines of the schemes: sums of f32 in place, over all
// ranks of an MPI job.
//
// mpi: MPI_Allreduce with the library's own choice of algorithm. gloo: its ring over TCP. Each
// throws Error where its library fails. Threads: one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tandem::bench {

class PeerAllreduce {
 public:
  virtual ~PeerAllreduce() = default;
  virtual std::string_view name() const = 0;
  virtual void sum(std::span<float> values) = 0;
};

std::unique_ptr<PeerAllreduce> mpi_allreduce();

// interface: what to listen on, such as eth0. Collective. Null in builds without gloo.
std::unique_ptr<PeerAllreduce> gloo_allreduce(const std::string& interface);

// The benchmark's own uses of MPI; the ranks are those of MPI_COMM_WORLD.
void wait_for_all();
double largest_of_all(double own);
double mean_of_all(double own);
// A new empty folder that all ranks see; it is removed once all ranks have reached its end.
std::string folder_of_all();
void remove_folder_of_all(const std::string& folder);

}  // namespace tandem::bench
