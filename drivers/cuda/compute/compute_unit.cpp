// SPDX-License-Identifier: Apache-2.0
//
// CudaComputeUnit's memory and tickets. The operations are in *_ops.cpp.
#include "cuda/compute/compute_unit.h"

#include "common/error.h"
#include "cuda/products/weight.h"
#include "cuda/trials/prefill_trial.h"

namespace tandem::cuda {

using device::Ticket;
using device::WaitResult;

namespace {

constexpr std::chrono::seconds kDrainTimeout{10};

}  // namespace

CudaComputeUnit::CudaComputeUnit(Gpu& gpu)
    : gpu_(gpu),
      queue_(gpu.queue),
      upload_(gpu),
      linear_(gpu),
      experts_(gpu, linear_),
      sampling_(gpu),
      causal_path_(choose_causal_path(gpu)) {}

// What it owns may be in use until the queue is through.
CudaComputeUnit::~CudaComputeUnit() {
  if (queue_.finish(Deadline::after(kDrainTimeout)) == WaitResult::kTimeout) {
    gpu_.health.lose("work was still running when its unit was given up");
  }
  queue_.forget_graphs();
}

std::unique_ptr<device::Buffer> CudaComputeUnit::allocate(std::size_t size_bytes,
                                                          device::MemoryKind kind) {
  gpu_.activate();
  return std::make_unique<CudaBuffer>(gpu_, size_bytes, kind);
}

std::unique_ptr<device::Weight> CudaComputeUnit::load(const device::WeightSource& source) {
  gpu_.health.require();
  return std::make_unique<CudaWeight>(gpu_, upload_, source);
}

// A position of the queue is a ticket; positions of other units of the GPU are in between.
Ticket CudaComputeUnit::record() { return queue_.flush(); }

WaitResult CudaComputeUnit::wait(Ticket ticket, Deadline deadline) {
  if (ticket == 0 || ticket >= queue_.open_position()) {
    gpu_.health.require();
    throw Error("cuda",
                "ticket " + std::to_string(ticket) + " is unknown: no record() has returned it");
  }
  const WaitResult result = queue_.wait(ticket, deadline);
  if (result == WaitResult::kLost) gpu_.health.require();
  return result;
}

device::ComputeStats CudaComputeUnit::stats() const {
  return {ops_, weight_bytes_, queue_.busy_seconds()};
}

}  // namespace tandem::cuda
