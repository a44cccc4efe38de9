// SPDX-License-Identifier: Apache-2.0
//
// Waits poll the event, at first without a pause, then every few microseconds.
#include "cuda/runtime.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "common/error.h"

namespace tandem::cuda {
namespace {

constexpr int kTurnsWithoutPause = 200;

}  // namespace

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw DeviceError("cuda", std::string(what) + ": " + cudaGetErrorString(error) + " (" +
                                cudaGetErrorName(error) + ")");
}

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}

Stream::~Stream() { cudaStreamDestroy(stream_); }

Event::Event() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
}

Event::~Event() { cudaEventDestroy(event_); }

void Event::record(const Stream& stream) { check(try_record(stream), "recording an event"); }

cudaError_t Event::try_record(const Stream& stream) {
  return cudaEventRecord(event_, stream.get());
}

bool Event::wait(Deadline deadline) const {
  const cudaError_t state = poll(deadline);
  if (state == cudaErrorNotReady) return false;
  check(state, "waiting for the device");
  return true;
}

cudaError_t Event::poll(Deadline deadline) const {
  // Short work is caught at once; longer work does not burn a core.
  auto pause = std::chrono::microseconds(0);
  for (int turn = 0;; ++turn) {
    const cudaError_t state = cudaEventQuery(event_);
    if (state != cudaErrorNotReady || deadline.expired()) return state;
    if (turn < kTurnsWithoutPause) continue;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause + std::chrono::microseconds(5), std::chrono::microseconds(200));
  }
}

template <Memory kind>
std::byte* Buffer<kind>::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return data_;
  release();
  void* memory = nullptr;
  const cudaError_t error = kind == Memory::kDevice
                                ? cudaMalloc(&memory, bytes)
                                : cudaHostAlloc(&memory, bytes, cudaHostAllocDefault);
  if (error != cudaSuccess) cudaGetLastError();  // what follows must not find it
  check(error, kind == Memory::kDevice ? "taking device memory" : "taking pinned memory");
  data_ = static_cast<std::byte*>(memory);
  bytes_ = bytes;
  return data_;
}

template <Memory kind>
void Buffer<kind>::release() {
  if (data_ != nullptr) {
    if (kind == Memory::kDevice) {
      cudaFree(data_);
    } else {
      cudaFreeHost(data_);
    }
  }
  data_ = nullptr;
  bytes_ = 0;
}

template class Buffer<Memory::kDevice>;
template class Buffer<Memory::kPinned>;

}  // namespace tandem::cuda
