// SPDX-License-Identifier: Apache-2.0
//
// Child processes are this program again with --rank; they meet in a folder of their own.
#include "apps/collectives/launch_ranks.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>

#include "collectives/collective.h"
#include "collectives/transport/gloo/gloo.h"
#include "collectives/transport/inproc/inproc.h"
#include "collectives/transport/mpi/mpi.h"
#include "collectives/transport/nccl/nccl.h"
#include "common/error.h"

extern char** environ;

namespace tandem::apps {
namespace {

using collectives::Group;
using collectives::Transport;

constexpr int kPeerFailed = 3;

int run_rank(std::unique_ptr<Transport> transport, const RankBody& body) {
  Group group(std::move(transport));
  try {
    body(group);
  } catch (const std::exception& error) {
    if (!group.broken()) group.abort(error.what());
    throw;
  }
  return 0;
}

// The cause rather than its echo: a rank's own error before those of ranks that were aborted by it.
void rethrow_cause(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr echo;
  for (const auto& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const collectives::TransportError& failure) {
      if (failure.kind() != collectives::TransportError::Kind::kAborted) throw;
      echo = error;
    }
  }
  if (echo) std::rethrow_exception(echo);
}

int run_threads(int world, const RankBody& body) {
  auto transports = collectives::inproc::make_world(world);
  std::vector<std::exception_ptr> errors(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&errors, &body, rank, transport = std::move(transports[rank])]() mutable {
      try {
        run_rank(std::move(transport), body);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  rethrow_cause(errors);
  return 0;
}

// A folder of this run's own, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tandem-ranks-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error("allreduce-bench", "cannot make a folder for the ranks to meet in: " +
                                         std::string(std::strerror(errno)));
    }
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

pid_t spawn_rank(const BenchOptions& options, const std::vector<std::string>& arguments, int rank,
                 const std::string& store) {
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--rank", std::to_string(rank)});
  if (options.store.empty()) all.insert(all.end(), {"--store", store});
  if (options.address.empty() && options.interface.empty()) {
    all.insert(all.end(), {"--address", "127.0.0.1"});
  }
  std::vector<char*> argv;
  for (std::string& each : all) argv.push_back(each.data());
  argv.push_back(nullptr);
  pid_t child = -1;
  const int code = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, argv.data(), environ);
  if (code != 0) {
    throw Error("allreduce-bench", std::string("cannot start a rank: ") + std::strerror(code));
  }
  return child;
}

// The ranks started so far; those that remain when it goes are ended.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const pid_t child : running_) {
      kill(child, SIGKILL);
      wait_for(child);
    }
  }

  void add(pid_t child) { running_.push_back(child); }

  // The least code of those that are not 0: the cause (2, bad input) rather than its echo (3, a
  // peer failed). A rank that fails breaks the group, so the others end by themselves.
  int wait_for_all() {
    int code = 0;
    while (!running_.empty()) {
      const int status = wait_for(running_.back());
      running_.pop_back();
      const int ended = WIFEXITED(status) ? WEXITSTATUS(status) : kPeerFailed;
      if (ended != 0) code = code == 0 ? ended : std::min(code, ended);
    }
    return code;
  }

 private:
  static int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  std::vector<pid_t> running_;
};

int run_processes(const BenchOptions& options, const std::vector<std::string>& arguments) {
  const ScratchFolder scratch;
  Children children;
  for (int rank = 0; rank < options.world; ++rank) {
    children.add(spawn_rank(options, arguments, rank, scratch.path()));
  }
  return children.wait_for_all();
}

Deadline meeting_deadline(const BenchOptions& options) {
  return Deadline::after(
      std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1e3)));
}

// redis://host:port, or a folder.
void set_store(const std::string& store, collectives::gloo::Options& options) {
  constexpr std::string_view kRedis = "redis://";
  if (!store.starts_with(kRedis)) {
    options.store_directory = store;
    return;
  }
  const std::string address = store.substr(kRedis.size());
  const auto colon = address.rfind(':');
  options.redis_host = address.substr(0, colon);
  if (colon == std::string::npos) return;
  const char* end = address.data() + address.size();
  const auto parsed = std::from_chars(address.data() + colon + 1, end, options.redis_port);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    throw Error("allreduce-bench", "--store " + store + " does not end in a port");
  }
}

std::unique_ptr<Transport> meet(const BenchOptions& options) {
  collectives::gloo::Options gloo;
  gloo.rank = options.rank;
  gloo.world = options.world;
  set_store(options.store, gloo);
  gloo.interface = options.interface;
  if (gloo.interface.empty()) gloo.address = options.address;
  gloo.deadline = meeting_deadline(options);
  return collectives::gloo::connect(gloo);
}

// Ranks with a GPU each; they meet over gloo to share NCCL's id.
std::unique_ptr<Transport> meet_on_gpus(const BenchOptions& options) {
  namespace nccl = collectives::nccl;
  if (!nccl::available()) throw Error("allreduce-bench", nccl::unavailable_reason());
  Group meeting(meet(options));
  nccl::Options gpu;
  gpu.rank = options.rank;
  gpu.world = options.world;
  gpu.device_index = options.gpu < 0 ? options.rank : options.gpu;
  if (options.rank == 0) gpu.id = nccl::make_unique_id();
  collectives::broadcast(meeting, gpu.id, 0);
  gpu.deadline = meeting_deadline(options);
  return nccl::connect(gpu);
}

}  // namespace

int launch_ranks(const BenchOptions& options, const std::vector<std::string>& arguments,
                 const RankBody& body) {
  if (options.transport == "inproc") return run_threads(options.world, body);
  if (options.transport == "gloo" || options.transport == "nccl") {
    if (options.rank < 0) return run_processes(options, arguments);
    return run_rank(options.transport == "gloo" ? meet(options) : meet_on_gpus(options), body);
  }
  collectives::mpi::Environment environment;
  return run_rank(collectives::mpi::connect(environment, meeting_deadline(options)), body);
}

}  // namespace tandem::apps
