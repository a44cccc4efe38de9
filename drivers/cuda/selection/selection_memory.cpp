// SPDX-License-Identifier: Apache-2.0
//
// Buffers grow to what the largest call needs, and stay.
#include "cuda/selection/selection_memory.h"

#include <utility>

namespace tandem::cuda {

SelectionMemory::SelectionMemory(int device_index, std::string name,
                                 const device::SelectionShape& shape)
    : device_index_(device_index), name_(std::move(name)) {
  const std::size_t bytes = static_cast<std::size_t>(shape.num_values) * sizeof(float);
  residual_.reserve(bytes);
  if (shape.velocity) velocity_.reserve(bytes);
  answers_.reserve(sizeof(SelectionAnswers));
  host_answers_.reserve(sizeof(SelectionAnswers));
  check(cudaMemset(residual_.data(), 0, bytes), "clearing the residual");
  if (shape.velocity) check(cudaMemset(velocity_.data(), 0, bytes), "clearing the velocity");
  check(cudaDeviceSynchronize(), "clearing the residual");
}

SelectionMemory::~SelectionMemory() {
  cudaSetDevice(device_index_);
  if (lost_) leak();
}

void SelectionMemory::begin_call() {
  if (lost_) throw DeviceError("cuda", name_ + " was lost in an earlier selection");
  check(cudaSetDevice(device_index_), "choosing the device");
}

void SelectionMemory::make_room(std::uint64_t entries) {
  const auto wanted = static_cast<std::size_t>(entries);
  values_.reserve(wanted * sizeof(float));
  indices_.reserve(wanted * sizeof(std::uint32_t));
}

void SelectionMemory::copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(to, from, bytes, kind, stream_.get()), "copying");
}

void SelectionMemory::fetch_answers() {
  copy(host_answers_.data(), answers_.data(), sizeof(SelectionAnswers), cudaMemcpyDeviceToHost);
}

void SelectionMemory::wait_for(const Placement& placement) {
  if (placement.queue == nullptr) return;
  const auto queue = static_cast<cudaStream_t>(placement.queue);
  check(cudaEventRecord(ready_.get(), queue), "waiting for a gradient");
  check(cudaStreamWaitEvent(stream_.get(), ready_.get(), 0), "waiting for a gradient");
}

std::span<const float> SelectionMemory::fetch_values(std::size_t count, Deadline deadline) {
  host_values_.reserve(count * sizeof(float));
  if (count > 0) {
    run(deadline, "copying values", [&] {
      copy(host_values_.data(), values_.data(), count * sizeof(float), cudaMemcpyDeviceToHost);
    });
  }
  return {host_values_.as<float>(), count};
}

device::SelectedEntries SelectionMemory::fetch_entries(std::size_t count, Deadline deadline) {
  host_indices_.reserve(count * sizeof(std::uint32_t));
  host_values_.reserve(count * sizeof(float));
  if (count > 0) {
    run(deadline, "copying entries", [&] {
      copy(host_indices_.data(), indices_.data(), count * sizeof(std::uint32_t),
           cudaMemcpyDeviceToHost);
      copy(host_values_.data(), values_.data(), count * sizeof(float), cudaMemcpyDeviceToHost);
    });
  }
  return {{host_indices_.as<std::uint32_t>(), count}, {host_values_.as<float>(), count}};
}

void SelectionMemory::leak() {
  for (DeviceBuffer* buffer :
       {&residual_, &velocity_, &staged_, &workspace_, &indices_, &values_, &answers_}) {
    buffer->leak();
  }
  for (PinnedBuffer* buffer : {&host_answers_, &host_indices_, &host_values_}) buffer->leak();
}

}  // namespace tandem::cuda
