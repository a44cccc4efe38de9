// SPDX-License-Identifier: Apache-2.0
//
// gloo's ring all-reduce; the ranks meet in a folder whose name rank 0 tells the others over MPI.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <stdlib.h>

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "collectives/transport/mpi/checked.h"
#include "common/error.h"
#include "host/collectives/peer_allreduce.h"

namespace tandem::bench {
namespace {

using collectives::mpi::check_mpi;

class GlooAllreduce final : public PeerAllreduce {
 public:
  GlooAllreduce(const std::string& interface, const std::string& folder, int rank, int world)
      : context_(std::make_shared<gloo::rendezvous::Context>(rank, world)) {
    gloo::transport::tcp::attr attributes;
    attributes.iface = interface;
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    gloo::rendezvous::FileStore store(folder);
    context_->setTimeout(std::chrono::minutes(5));
    context_->connectFullMesh(store, device);
  }

  std::string_view name() const override { return "gloo_allreduce_ring"; }

  void sum(std::span<float> values) override {
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction([](void* to, const void* a, const void* b, size_t count) {
      gloo::sum<float>(to, a, b, count);
    });
    options.setTag(tag_++);
    gloo::allreduce(options);
  }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::uint32_t tag_ = 1;
};

}  // namespace

std::unique_ptr<PeerAllreduce> gloo_allreduce(const std::string& interface) {
  int rank = 0;
  int world = 1;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world), "MPI_Comm_size");
  std::array<char, 256> folder{};
  const auto pattern = std::filesystem::temp_directory_path() / "bench-gloo-XXXXXX";
  std::strncpy(folder.data(), pattern.c_str(), folder.size() - 1);
  if (rank == 0 && mkdtemp(folder.data()) == nullptr) {
    throw Error("benchmark", "cannot make a folder for gloo's ranks to meet in");
  }
  check_mpi(MPI_Bcast(folder.data(), folder.size(), MPI_CHAR, 0, MPI_COMM_WORLD), "MPI_Bcast");
  auto peer = std::make_unique<GlooAllreduce>(interface, folder.data(), rank, world);
  wait_for_all();
  if (rank == 0) std::filesystem::remove_all(folder.data());
  return peer;
}

}  // namespace tandem::bench
