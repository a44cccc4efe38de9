// SPDX-License-Identifier: Apache-2.0
//
// Streams, events and graphs of the interpreter.
//
// A stream is a list of work and the count of all work ever added; an event remembers a count. A
// graph is a list of work; its launch is one piece of work that does them all.
#include "gpu_kernels/simt/stream.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "gpu_kernels/simt/simt.h"

using Work = std::variant<std::function<void()>, tandem::simt::Kernel>;

// Work in its turn.
struct Item {
  Work work;
  std::unique_ptr<tandem::simt::KernelRun> run = nullptr;  // of a kernel that has begun
};

struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};
struct CUstream_st {
  std::deque<Item> waiting;
  std::uint64_t put = 0, done = 0;
  CUgraph_st* captures = nullptr;
};
struct CUevent_st {
  CUstream_st* stream = nullptr;
  std::uint64_t position = 0;
  bool asked = false;
  std::chrono::steady_clock::time_point recorded = {};
};

namespace tandem::simt {
namespace {

bool is_lazy = false;
std::set<CUstream_st*> streams;

CUstream_st* stream_of(cudaStream_t stream) {
  static CUstream_st default_stream;
  return stream != nullptr ? stream : &default_stream;
}

// So many kernels behind the one that runs have begun, where they may.
constexpr std::size_t kAhead = 4;

void begin_early(std::deque<Item>& items) {
  for (std::size_t i = 1; i < items.size() && i <= kAhead; ++i) {
    const auto* kernel = std::get_if<Kernel>(&items[i].work);
    if (kernel == nullptr || !kernel->early) return;
    if (items[i].run != nullptr) continue;
    items[i].run = std::make_unique<KernelRun>(*kernel);
    items[i].run->begin();
  }
}

void do_work(Item& item) {
  if (const auto* kernel = std::get_if<Kernel>(&item.work)) {
    if (item.run == nullptr) item.run = std::make_unique<KernelRun>(*kernel);
    item.run->finish();
  } else {
    std::get<std::function<void()>>(item.work)();
  }
}

// The first of them.
void do_next(std::deque<Item>& items) {
  if (!lost()) {
    begin_early(items);
    do_work(items.front());
  }
  items.pop_front();
}

void finish_until(CUstream_st* stream, std::uint64_t position) {
  while (stream->done < position && !stream->waiting.empty()) {
    do_next(stream->waiting);
    ++stream->done;
  }
}

void append(CUstream_st* stream, Work work) {
  ++stream->put;
  stream->waiting.push_back({std::move(work)});
  if (!is_lazy) finish_until(stream, stream->put);
}

cudaError_t put(cudaStream_t handle, Work work) {
  CUstream_st* stream = stream_of(handle);
  if (stream->captures != nullptr) {
    stream->captures->work.push_back(std::move(work));
    return cudaSuccess;
  }
  if (const cudaError_t error = enter(Call::kWork); error != cudaSuccess) return error;
  if (lost()) return cudaSuccess;
  append(stream, std::move(work));
  return cudaSuccess;
}

}  // namespace

void set_lazy(bool lazy) {
  finish_all();
  is_lazy = lazy;
}

cudaError_t on_stream(cudaStream_t stream, std::function<void()> work) {
  return put(stream, std::move(work));
}
cudaError_t on_stream(cudaStream_t stream, const Kernel& kernel) { return put(stream, kernel); }

cudaError_t on_legacy_stream(std::function<void()> work) {
  append(stream_of(nullptr), std::move(work));
  return cudaSuccess;
}

void finish(cudaStream_t handle) {
  CUstream_st* stream = stream_of(handle);
  finish_until(stream, stream->put);
}

void finish_all() {
  finish(nullptr);
  for (CUstream_st* stream : streams) finish(stream);
}

}  // namespace tandem::simt

using namespace tandem::simt;  // NOLINT: this file is the library that stands in

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  if (const cudaError_t error = enter(Call::kOther); error != cudaSuccess) return error;
  *stream = new CUstream_st;
  streams.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (stream == nullptr) return cudaErrorInvalidValue;
  finish(stream);
  streams.erase(stream);
  delete stream;
  return enter(Call::kOther);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  finish(stream);
  return enter(Call::kOther);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (event->stream == nullptr) return cudaSuccess;
  return on_stream(
      stream, [from = event->stream, position = event->position] { finish_until(from, position); });
}
cudaError_t cudaDeviceSynchronize() {
  finish_all();
  return enter(Call::kOther);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  if (const cudaError_t error = enter(Call::kOther); error != cudaSuccess) return error;
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return enter(Call::kOther);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->stream = stream_of(stream);
  event->position = event->stream->put;
  event->asked = false;
  event->recorded = std::chrono::steady_clock::now();
  return enter(Call::kOther);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = enter(Call::kOther); error != cudaSuccess) return error;
  if (!event->asked) {
    event->asked = true;
    return cudaErrorNotReady;
  }
  if (event->stream != nullptr) finish_until(event->stream, event->position);
  return lost() ? leave(cudaErrorLaunchFailure) : cudaSuccess;
}

// Of the host between the records: what work takes that is done when it is called.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  *milliseconds =
      std::chrono::duration<float, std::milli>(stop->recorded - start->recorded).count();
  return enter(Call::kOther);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream == nullptr) return leave(cudaErrorStreamCaptureUnsupported);
  if (const cudaError_t error = enter(Call::kCapture); error != cudaSuccess) return error;
  stream->captures = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = stream->captures;
  stream->captures = nullptr;
  return enter(Call::kCapture);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long) {
  *exec = nullptr;
  if (const cudaError_t error = enter(Call::kInstantiate); error != cudaSuccess) return error;
  *exec = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return on_stream(stream, [all = exec->work] {
    std::deque<Item> items;
    for (const Work& work : all) items.push_back({work});
    while (!items.empty()) do_next(items);
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return on_stream(stream, [=] { std::memset(to, value, bytes); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return on_stream(stream, [=] { std::memcpy(to, from, bytes); });
}

}  // extern "C"
