// SPDX-License-Identifier: Apache-2.0
//
// gloo's ring all-reduce over TCP.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>

#include "host/collectives/peer_allreduce.h"
#include "transport/mpi/checked.h"

namespace tandem::bench {
namespace {

using transport::mpi::check_mpi;

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
  const std::string folder = folder_of_all();
  auto peer = std::make_unique<GlooAllreduce>(interface, folder, rank, world);
  remove_folder_of_all(folder);
  return peer;
}

}  // namespace tandem::bench
