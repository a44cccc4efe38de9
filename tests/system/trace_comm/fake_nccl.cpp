// SPDX-License-Identifier: Apache-2.0
//
// A program that does to a profiler plugin what NCCL does: fake_nccl VERSION RANKS
// processes|threads|groups|foreign|calls.
//
// It loads the plugin that NCCL_PROFILER_PLUGIN names and replays the callbacks of a small job. It
// places fields by the byte, as NCCL's documentation lays them out, and does not see the plugin's
// header. `processes`: a rank per process. `threads`: all ranks in this one. `groups`: a rank per
// process, with communicators of the even and the odd ranks besides. `foreign`: as processes, but
// proxies work for another process. `calls`: prints the nanoseconds that an all-reduce costs.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

using Init4 = int (*)(void**, int*, const char*, std::uint64_t, int, int, int, void*);
using Init5 = int (*)(void**, std::uint64_t, int*, const char*, int, int, int, void*);
using StartEvent = int (*)(void*, void**, void*);
using StopEvent = int (*)(void*);
using RecordState = int (*)(void*, int, void*);

struct Plugin {
  const char* name;
  void* init;
  StartEvent start;
  StopEvent stop;
  RecordState record;
  StopEvent finalize;
};

constexpr int kSendPeerWait = 20, kSendWait = 9;

int fake_version = 0;
const Plugin* plugin = nullptr;

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "fake_nccl: %s\n", text.c_str());
  std::exit(1);
}

// A descriptor: bytes at places.
class Event {
 public:
  Event(std::uint64_t type, void* parent, int rank) {
    // Version 4 has one byte here; NCCL leaves what follows as it is.
    if (fake_version == 4) {
      std::memset(bytes_, 0xa5, 8);
      bytes_[0] = static_cast<unsigned char>(type);
    } else {
      put(0, type);
    }
    put(8, parent);
    put(16, rank);
  }

  template <typename Value>
  Event& put(std::size_t at, Value value) {
    std::memcpy(bytes_ + at, &value, sizeof value);
    return *this;
  }
  void* start(void* context) {
    void* event = nullptr;
    if (plugin->start(context, &event, bytes_) != 0) fail("startEvent fails");
    return event;
  }

 private:
  alignas(8) unsigned char bytes_[128] = {};
};

class Communicator {
 public:
  Communicator(std::uint64_t id, int ranks, int rank) : rank_(rank), ranks_(ranks) {
    const int code = fake_version == 4 ? reinterpret_cast<Init4>(plugin->init)(
                                             &context_, &mask_, "job", id, 1, ranks, rank, nullptr)
                                       : reinterpret_cast<Init5>(plugin->init)(
                                             &context_, id, &mask_, "job", 1, ranks, rank, nullptr);
    if (code != 0) fail("init gives " + std::to_string(code));
  }

  void* collective(const char* function, std::size_t count, const char* type, const char* algorithm,
                   std::uint64_t bit = 1 << 1) {
    if ((mask_ & bit) == 0) return nullptr;
    Event event(bit, nullptr, rank_);
    event.put(24, std::uint64_t{1}).put(32, function).put(56, count).put(64, 0).put(72, type);
    if (bit == 1 << 1) event.put(88, algorithm).put(96, "SIMPLE");
    void* handle = event.start(context_);
    if (handle != nullptr) plugin->stop(handle);
    return handle;
  }
  void send(int peer, std::size_t count, const char* type, const char* function = "Send") {
    Event event(1 << 2, nullptr, rank_);
    void* handle =
        event.put(24, function).put(40, type).put(48, count).put(56, peer).start(context_);
    if (handle != nullptr) plugin->stop(handle);
  }
  // Two steps of a proxy, each with what NCCL records of it.
  void proxy(void* parent, int peer, std::size_t step_bytes, bool is_send, bool is_foreign) {
    Event operation(1 << 3, is_foreign ? reinterpret_cast<void*>(8) : parent, rank_);
    operation.put(24, is_foreign ? pid_t{1} : getpid())
        .put(32, peer)
        .put(36, 2)
        .put(44, is_send ? 1 : 0);
    // The context of another process is an address there.
    void* handle = operation.start(is_foreign ? reinterpret_cast<void*>(8) : context_);
    for (int step = 0; step < 2; ++step) {
      void* one = Event(1 << 4, handle, rank_).put(24, step).start(is_foreign ? nullptr : context_);
      if (one == nullptr) continue;
      std::size_t arguments = 0;
      plugin->record(one, kSendPeerWait, &arguments);
      arguments = step_bytes;
      plugin->record(one, kSendWait, &arguments);
      plugin->stop(one);
    }
    if (handle != nullptr) plugin->stop(handle);
  }
  void end() { plugin->finalize(context_); }

  int next() const { return (rank_ + 1) % ranks_; }

 private:
  void* context_ = nullptr;
  int mask_ = 0, rank_, ranks_;
};

void work(Communicator& world, bool is_foreign) {
  void* handle = world.collective("AllReduce", 1000, "ncclFloat32", "RING");
  world.proxy(handle, world.next(), 3000, true, is_foreign);
  world.proxy(handle, world.next(), 3000, false, is_foreign);
  world.collective("AllGather", 100, "ncclInt8", "RING");
  world.collective("AllGather", 8, "ncclFloat64", nullptr, 1 << 12);
  world.send(world.next(), 50, "ncclBfloat16");
  world.send(world.next(), 50, "ncclBfloat16", "Recv");
  world.collective("Dance", 1, "ncclInt8", "RING");
}

// Real NCCL's ranks meet as a communicator begins. For one meeting: a rank that is fast must not
// take the word to go of one that is slow.
class Meeting {
 public:
  Meeting() {
    if (pipe(arrived_) != 0 || pipe(go_) != 0) fail("pipe");
  }
  // Of a rank, after its communicator is made.
  void meet() {
    char token = 0;
    if (write(arrived_[1], &token, 1) != 1 || read(go_[0], &token, 1) != 1) fail("no meeting");
  }
  // Of the parent; false when ranks ended before they came.
  bool lead(int ranks) {
    close(arrived_[1]);
    char token = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      if (read(arrived_[0], &token, 1) != 1) return false;
    }
    const std::string tokens(static_cast<std::size_t>(ranks), 0);
    return write(go_[1], tokens.data(), tokens.size()) == ranks;
  }

 private:
  int arrived_[2], go_[2];
};

constexpr unsigned kMostSeconds = 120;  // a rank that others wait for may be lost
constexpr std::uint64_t kWorld = 77, kEven = 78, kOdd = 79;

int rank_process(int ranks, int rank, const std::string& mode, Meeting& all, Meeting& halves) {
  alarm(kMostSeconds);
  Communicator world(kWorld, ranks, rank);
  all.meet();
  work(world, mode == "foreign");
  if (mode == "groups") {
    Communicator half(rank % 2 == 0 ? kEven : kOdd, ranks / 2, rank / 2);
    halves.meet();
    half.collective("AllReduce", 500, "ncclFloat16", "RING");
    half.end();
  }
  // The last rank leaves its communicator to its end.
  if (rank + 1 < ranks) world.end();
  return 0;
}

void all_ranks(int ranks) {
  std::vector<Communicator> all;
  for (int rank = 0; rank < ranks; ++rank) all.emplace_back(kWorld, ranks, rank);
  for (Communicator& world : all) work(world, false);
  for (Communicator& world : all) world.end();
}

// Of one rank's calls, with what this program itself takes.
void time_calls(int ranks) {
  constexpr int kCalls = 200'000;
  Communicator world(kWorld, ranks, 0);
  const std::clock_t begin = std::clock();
  for (int i = 0; i < kCalls; ++i) world.collective("AllReduce", 1000, "ncclFloat32", "RING");
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%.1f ns per all-reduce\n", seconds / kCalls * 1e9);
  world.end();
}

}  // namespace

int main(int argc, char** argv) {
  const char* path = std::getenv("NCCL_PROFILER_PLUGIN");
  if (argc != 4 || path == nullptr) fail("VERSION RANKS MODE, and NCCL_PROFILER_PLUGIN");
  fake_version = std::atoi(argv[1]);
  const int ranks = std::atoi(argv[2]);
  const std::string mode = argv[3];
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  plugin = static_cast<const Plugin*>(
      dlsym(library, ("ncclProfiler_v" + std::to_string(fake_version)).c_str()));
  if (plugin == nullptr) fail("the plugin has no such version");
  if (mode == "threads" || mode == "calls") {
    mode == "calls" ? time_calls(ranks) : all_ranks(ranks);
    dlclose(library);
    return 0;
  }
  Meeting all, halves;
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() == 0) std::exit(rank_process(ranks, rank, mode, all, halves));
  }
  const bool met = all.lead(ranks) && (mode != "groups" || halves.lead(ranks));
  int code = met ? 0 : 1;
  for (int status = 0; wait(&status) > 0;) code |= status;
  return code == 0 ? 0 : 1;
}
