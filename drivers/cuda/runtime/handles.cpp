// SPDX-License-Identifier: Apache-2.0
//
// Waits poll the event, at the pace of wait_pace.h.
#include "cuda/runtime/handles.h"

#include "common/error.h"
#include "common/polling.h"
#include "common/wait_pace.h"

namespace tandem::cuda {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  throw DeviceError("cuda", std::string(what) + ": " + cudaGetErrorString(error) + " (" +
                                cudaGetErrorName(error) + ")");
}

Stream::Stream() {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}

Stream::~Stream() { cudaStreamDestroy(stream_); }

Event::Event(unsigned flags) { check(cudaEventCreateWithFlags(&event_, flags), "making an event"); }

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
  thread_local WaitPace pace;
  ShortSleeps sleeps;
  const auto start = Deadline::Clock::now();
  for (;;) {
    const cudaError_t state = cudaEventQuery(event_);
    const WaitPace::Duration waited = Deadline::Clock::now() - start;
    if (state != cudaErrorNotReady || deadline.expired()) {
      if (state == cudaSuccess) pace.ended(waited);
      return state;
    }
    const WaitPace::Duration pause = pace.pause(waited);
    if (pause > WaitPace::Duration::zero()) {
      sleeps.sleep(pause);
    } else {
      relax();
    }
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
