// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libnccl and the CUDA runtime, so that the transport's rounds run where there is no
// GPU: ranks are threads, "devices" are host memory, streams run when an event is asked for.
//
// Like NCCL, a group is done when every peer has taken what it sends and has sent what it takes,
// and groups of one stream run one after another, so a round that could hang on GPUs hangs here.
// Sizes of a pair that differ end the program. Threads: any.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "common/nccl_library.h"
#include "host/transport/nccl/fake_nccl.h"

namespace {

std::mutex mutex;  // guards all that ranks share

struct Message {
  std::vector<char> bytes;
  bool taken = false;
};

struct World {
  int size = 0;
  int arrived = 0;
  std::vector<std::byte*> windows;  // [size] of the window that all ranks register
  int registered = 0;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> channels;

  ~World() {
    for (std::byte* window : windows) std::free(window);
  }
};

std::map<std::string, std::shared_ptr<World>>& worlds() {
  static std::map<std::string, std::shared_ptr<World>> all;
  return all;
}

std::shared_ptr<World> join(const std::string& name, int size) {
  const std::lock_guard lock(mutex);
  auto& world = worlds()[name];
  if (!world) world = std::make_shared<World>();
  world->size = size;
  ++world->arrived;
  return world;
}

}  // namespace

struct ncclWindow_vidmem {
  std::shared_ptr<World> world;
};

struct ncclComm {
  std::string name;
  std::shared_ptr<World> world;
  int rank = 0;
  std::unique_ptr<ncclWindow_vidmem> window;  // of a group that is aborted, it goes with it
};

struct CUstream_st {
  std::deque<std::function<bool()>> work;  // each: true once done
  std::size_t queued = 0, done = 0;

  void add(std::function<bool()> step) {
    work.push_back(std::move(step));
    ++queued;
  }
  void advance() {
    while (!work.empty() && work.front()()) {
      work.pop_front();
      ++done;
    }
  }
};

struct CUevent_st {
  cudaStream_t stream = nullptr;
  std::size_t after = 0;
};

namespace {

struct Transfer {
  bool is_send;
  void* memory;
  std::size_t bytes;
  int peer;
  std::shared_ptr<Message> message;  // of a send, once posted; of a receive, once taken
};

struct Launch {
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Transfer> transfers;

  // Posts what was not posted, takes what has come; true once all is done.
  bool advance() {
    const std::lock_guard lock(mutex);
    bool complete = true;
    for (Transfer& transfer : transfers) {
      auto& channels = comm->world->channels;
      if (transfer.is_send) {
        if (!transfer.message) {
          const char* from = static_cast<const char*>(transfer.memory);
          transfer.message = std::make_shared<Message>();
          transfer.message->bytes.assign(from, from + transfer.bytes);
          channels[{comm->rank, transfer.peer}].push_back(transfer.message);
        }
        complete = complete && transfer.message->taken;
        continue;
      }
      auto& channel = channels[{transfer.peer, comm->rank}];
      if (!transfer.message && !channel.empty()) {
        transfer.message = channel.front();
        channel.pop_front();
        if (transfer.message->bytes.size() != transfer.bytes) {
          std::fprintf(stderr, "fake NCCL: a pair disagrees about a size\n");
          std::abort();
        }
        std::memcpy(transfer.memory, transfer.message->bytes.data(), transfer.bytes);
        transfer.message->taken = true;
      }
      complete = complete && transfer.message;
    }
    return complete;
  }
};

thread_local std::shared_ptr<Launch> group;

ncclResult_t get_unique_id(ncclUniqueId* id) {
  static int next = 0;
  const std::lock_guard lock(mutex);
  std::memset(id, 0, sizeof(*id));
  std::snprintf(id->internal, sizeof(id->internal), "world %d", next++);
  return ncclSuccess;
}

ncclResult_t comm_init(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t*) {
  *comm = new ncclComm{id.internal, join(id.internal, size), rank};
  return ncclInProgress;
}

ncclResult_t comm_shrink(ncclComm_t comm, int* excluded, int num_excluded, ncclComm_t* smaller,
                         ncclConfig_t*, int) {
  std::string name = comm->name + " without";
  int rank = comm->rank;
  for (int at = 0; at < num_excluded; ++at) {
    name += " " + std::to_string(excluded[at]);
    if (excluded[at] < comm->rank) --rank;
  }
  *smaller = new ncclComm{name, join(name, comm->world->size - num_excluded), rank};
  return ncclInProgress;
}

ncclResult_t async_error(ncclComm_t comm, ncclResult_t* state) {
  const std::lock_guard lock(mutex);
  const World& world = *comm->world;
  const bool is_registering = comm->window && world.registered < world.size;
  *state = world.arrived >= world.size && !is_registering ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}

ncclResult_t end(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

ncclResult_t finalize(ncclComm_t) { return ncclSuccess; }

ncclResult_t group_start() {
  group = std::make_shared<Launch>();
  ++tandem::fake_counts().groups;
  return ncclSuccess;
}

ncclResult_t group_end() {
  if (group->stream != nullptr) group->stream->add([launch = group] { return launch->advance(); });
  group.reset();
  return ncclInProgress;
}

ncclResult_t add(bool is_send, void* memory, std::size_t bytes, int peer, ncclComm_t comm,
                 cudaStream_t stream) {
  group->comm = comm;
  group->stream = stream;
  group->transfers.push_back({is_send, memory, bytes, peer, nullptr});
  return ncclSuccess;
}

ncclResult_t send(const void* memory, std::size_t bytes, ncclDataType_t, int peer, ncclComm_t comm,
                  cudaStream_t stream) {
  return add(true, const_cast<void*>(memory), bytes, peer, comm, stream);
}

ncclResult_t receive(void* memory, std::size_t bytes, ncclDataType_t, int peer, ncclComm_t comm,
                     cudaStream_t stream) {
  return add(false, memory, bytes, peer, comm, stream);
}

ncclResult_t mem_alloc(void** memory, std::size_t bytes) {
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return ncclSuccess;
}

// As on GPUs, the peers' mappings keep the memory of a window: the last block of a peer may raise a
// word in it when this rank has left.
ncclResult_t mem_free(void* memory) {
  const std::lock_guard lock(mutex);
  for (const auto& [name, world] : worlds()) {
    if (std::ranges::find(world->windows, static_cast<std::byte*>(memory)) !=
        world->windows.end()) {
      return ncclSuccess;
    }
  }
  std::free(memory);
  return ncclSuccess;
}

ncclResult_t window_register(ncclComm_t comm, void* memory, std::size_t, tandem::NcclWindow* window,
                             int flags) {
  if (flags != 1) return ncclInvalidArgument;
  const std::lock_guard lock(mutex);
  World& world = *comm->world;
  world.windows.resize(static_cast<std::size_t>(world.size));
  world.windows[static_cast<std::size_t>(comm->rank)] = static_cast<std::byte*>(memory);
  ++world.registered;
  comm->window.reset(new ncclWindow_vidmem{comm->world});
  *window = comm->window.get();
  ++tandem::fake_counts().windows;
  return ncclInProgress;
}

ncclResult_t window_deregister(ncclComm_t comm, tandem::NcclWindow window) {
  if (comm->window.get() != window) return ncclInvalidArgument;
  comm->window.reset();
  --tandem::fake_counts().windows;
  return ncclSuccess;
}

tandem::NcclTeam team_lsa(ncclComm_t comm) { return {comm->world->size, comm->rank, 1}; }

const char* error_string(ncclResult_t) { return "an error of the fake"; }

}  // namespace

namespace tandem {

NcclLibrary& fake_nccl() {
  static NcclLibrary fake = {.get_unique_id = get_unique_id,
                             .comm_init = comm_init,
                             .comm_finalize = finalize,
                             .comm_destroy = end,
                             .comm_abort = end,
                             .async_error = async_error,
                             .group_start = group_start,
                             .group_end = group_end,
                             .send = send,
                             .receive = receive,
                             .error_string = error_string,
                             .comm_shrink = comm_shrink,
                             .mem_alloc = mem_alloc,
                             .mem_free = mem_free,
                             .window_register = window_register,
                             .window_deregister = window_deregister,
                             .team_lsa = team_lsa};
  return fake;
}

FakeCounts& fake_counts() {
  static FakeCounts counts;
  return counts;
}

std::byte* fake_window_memory(void* window, int rank) {
  const std::lock_guard lock(mutex);
  return static_cast<NcclWindow>(window)->world->windows[static_cast<std::size_t>(rank)];
}

void fake_enqueue(cudaStream_t stream, std::function<bool()> step) { stream->add(std::move(step)); }

const NcclLibrary* nccl_library() { return &fake_nccl(); }

const std::string& nccl_library_reason() {
  static const std::string none;
  return none;
}

}  // namespace tandem

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 64;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error of the fake"; }
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  return cudaMalloc(memory, bytes);
}
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  while (stream->done < stream->queued) stream->advance();
  return cudaSuccess;
}
cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  *event = {stream, stream->queued};
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  event->stream->advance();
  return event->stream->done >= event->after ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  stream->add([=] {
    std::memcpy(to, from, bytes);
    return true;
  });
  return cudaSuccess;
}

}  // extern "C"
