// SPDX-License-Identifier: Apache-2.0
//
// Waits poll the event, at the pace of wait_pace.h.
#include "cuda/runtime.h"

#include <sys/prctl.h>

#include <chrono>
#include <thread>

#include "common/error.h"
#include "cuda/wait_pace.h"

namespace tandem::cuda {
namespace {

// While it lives, sleeps of this thread end within a microsecond of their time, where the kernel's
// default is 50; nothing changes before the first sleep.
class ShortSleeps {
 public:
  ShortSleeps() = default;
  ~ShortSleeps() {
    if (slack_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_));
  }
  ShortSleeps(const ShortSleeps&) = delete;
  ShortSleeps& operator=(const ShortSleeps&) = delete;

  void sleep(WaitPace::Duration duration) {
    if (slack_ == 0) {
      slack_ = prctl(PR_GET_TIMERSLACK);
      prctl(PR_SET_TIMERSLACK, 1000ul);
    }
    std::this_thread::sleep_for(duration);
  }

 private:
  int slack_ = 0;  // ns, before
};

void spin() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

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
      spin();
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
