// SPDX-License-Identifier: Apache-2.0
//
// Buffers grow to the size of the largest call and keep it.
#include "cuda/selection/selection_memory.h"

#include <utility>

namespace tandem::cuda {

gpu_kernels::ValueType value_type(DType type) {
  if (type == DType::kF16) return gpu_kernels::ValueType::kF16;
  return type == DType::kBF16 ? gpu_kernels::ValueType::kBF16 : gpu_kernels::ValueType::kF32;
}

device::GradientMoments moments_of(const gpu_kernels::GradientMeasurement& from) {
  device::GradientMoments moments;
  moments.sum = from.sum;
  moments.signed_sum = from.signed_sum;
  moments.squares = from.squares;
  moments.log_sum = from.log_sum;
  moments.count = from.count;
  moments.positive = from.positive;
  if (from.first_non_finite != gpu_kernels::kAllFinite) {
    moments.first_non_finite = from.first_non_finite;
  }
  moments.largest = from.largest;
  moments.smallest = from.smallest;
  return moments;
}

SelectionMemory::SelectionMemory(int device_index, std::string name,
                                 const device::SelectionShape& shape)
    : device_index_(device_index), name_(std::move(name)) {
  const std::size_t bytes = static_cast<std::size_t>(shape.num_values) * sizeof(float);
  if (bytes > 0) residual_.reserve(bytes);
  if (shape.velocity) velocity_.reserve(bytes);
  answers_.reserve(sizeof(SelectionAnswers));
  host_answers_.reserve(sizeof(SelectionAnswers));
  if (bytes > 0) check(cudaMemset(residual_.data(), 0, bytes), "clearing the residual");
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

device::GradientMoments SelectionMemory::measure(gpu_kernels::AccumulateGradient& job,
                                                 const device::GradientView* gradient,
                                                 Deadline deadline) {
  const bool copied = gradient != nullptr && gradient->placement.on_host();
  if (copied) job.gradient = staged(gradient->values.size());
  job.measurement = &device_answers()->measurement;
  job.workspace = workspace(gpu_kernels::accumulate_workspace_bytes(job.num_values));
  run(deadline, "adding a gradient", [&] {
    if (gradient != nullptr) wait_for(gradient->placement);
    if (copied) {
      copy(const_cast<void*>(job.gradient), gradient->values.data(), gradient->values.size(),
           cudaMemcpyHostToDevice);
    }
    check(gpu_kernels::accumulate_gradient(job, stream()), "adding a gradient");
    fetch_answers();
  });
  return moments_of(answers().measurement);
}

void SelectionMemory::add_entries(gpu_kernels::AddAt job, std::span<const std::uint32_t> indices,
                                  std::span<const float> entries, Deadline deadline) {
  make_room(indices.size());
  run_at(indices, deadline, [&](std::size_t begin, std::uint32_t count) {
    copy(values() + begin, entries.data() + begin, count * sizeof(float), cudaMemcpyHostToDevice);
    job.indices = this->indices() + begin;
    job.values = values() + begin;
    job.num_entries = count;
    job.faults = &device_answers()->faults;
    return gpu_kernels::add_at(job, stream());
  });
}

std::span<const std::byte> SelectionMemory::fetch_bytes(const std::byte* from, std::size_t count,
                                                        Deadline deadline) {
  host_values_.reserve(count);
  if (count > 0) {
    run(deadline, "copying results",
        [&] { copy(host_values_.data(), from, count, cudaMemcpyDeviceToHost); });
  }
  return {host_values_.as<std::byte>(), count};
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
