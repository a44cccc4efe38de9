// SPDX-License-Identifier: Apache-2.0
//
// Child processes run this program again with --rank; they meet in a separate folder.
#include "apps/collectives/launch_ranks.h"

#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "collectives/collective.h"
#include "common/error.h"
#include "common/scratch_folder.h"
#include "transport/gloo/gloo.h"
#include "transport/inproc/inproc.h"
#include "transport/mpi/mpi.h"
#include "transport/nccl/nccl.h"

extern char** environ;

namespace tandem::apps {
namespace {

using collectives::Group;
using transport::Transport;

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

int run_threads(int world, const RankBody& body) {
  auto transports = transport::inproc::make_world(world);
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

// While an object exists, signals that end the launcher or report the end of a rank are blocked and
// can be fetched.
class Signals {
 public:
  Signals() {
    sigemptyset(&awaited_);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&awaited_, signal);
    pthread_sigmask(SIG_BLOCK, &awaited_, &before_);
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  const sigset_t& before() const { return before_; }

  // A signal that asks the launcher to end, or 0 after a rank's end or a fifth of a second.
  int next() const {
    const timespec patience{0, 200'000'000};
    const int signal = sigtimedwait(&awaited_, nullptr, &patience);
    return signal == SIGCHLD || signal < 0 ? 0 : signal;
  }

 private:
  sigset_t awaited_;
  sigset_t before_;
};

// The ranks started here; the destructor kills those that still run.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const pid_t child : running_) {
      kill(child, SIGKILL);
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }

  void start(std::vector<std::string> arguments) {
    std::vector<char*> argv;
    for (std::string& each : arguments) argv.push_back(each.data());
    argv.push_back(nullptr);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &signals_.before());
    pid_t child = -1;
    const int code =
        posix_spawn(&child, "/proc/self/exe", nullptr, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    if (code != 0) {
      throw Error("allreduce-bench", std::string("cannot start a rank: ") + std::strerror(code));
    }
    running_.push_back(child);
  }

  // The smallest code that is not 0: the cause (2, bad input), not its effect (3, a peer failed). A
  // rank that fails breaks the group, so the others end by themselves. The destructor ends a rank
  // that still runs after `patience`.
  int wait_for_all(std::chrono::duration<double> patience) {
    int code = 0;
    std::optional<std::chrono::steady_clock::time_point> failed_at;
    while (!running_.empty()) {
      if (const int signal = signals_.next(); signal != 0) return 128 + signal;
      for (const int ended : reap()) {
        if (ended == 0) continue;
        code = code == 0 ? ended : std::min(code, ended);
        if (!failed_at) failed_at = std::chrono::steady_clock::now();
      }
      if (failed_at && std::chrono::steady_clock::now() - *failed_at > patience) return code;
    }
    return code;
  }

 private:
  // Exit codes of the ranks that have ended since the last call.
  std::vector<int> reap() {
    std::vector<int> codes;
    std::erase_if(running_, [&](pid_t child) {
      int status = 0;
      if (waitpid(child, &status, WNOHANG) != child) return false;
      codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : kPeerFailed);
      return true;
    });
    return codes;
  }

  Signals signals_;
  std::vector<pid_t> running_;
};

// A launcher that is killed cannot end its ranks; the kernel does.
void end_with_launcher(pid_t launcher) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launcher) std::_Exit(kPeerFailed);  // it was killed before
}

int run_processes(const BenchOptions& options, const std::vector<std::string>& arguments) {
  const ScratchFolder scratch("allreduce-bench", "tandem-ranks-");
  Children children;
  for (int rank = 0; rank < world_of(options); ++rank) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--launcher", std::to_string(getpid()), "--rank", std::to_string(rank)});
    if (options.store.empty()) all.insert(all.end(), {"--store", scratch.path()});
    if (options.address.empty() && options.interface.empty()) {
      all.insert(all.end(), {"--address", "127.0.0.1"});
    }
    children.start(std::move(all));
  }
  return children.wait_for_all(std::chrono::duration<double>(options.timeout_s + 2));
}

Deadline meeting_deadline(const BenchOptions& options) {
  return Deadline::after(
      std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1e3)));
}

// redis://host:port, or a folder.
void set_store(const std::string& store, transport::gloo::Options& options) {
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
  transport::gloo::Options gloo;
  gloo.rank = options.rank;
  gloo.world = world_of(options);
  set_store(options.store, gloo);
  gloo.interface = options.interface;
  if (gloo.interface.empty()) gloo.address = options.address;
  gloo.deadline = meeting_deadline(options);
  return transport::gloo::connect(gloo);
}

// Ranks with one GPU each; they use gloo to exchange NCCL's id.
std::unique_ptr<Transport> meet_on_gpus(const BenchOptions& options) {
  namespace nccl = transport::nccl;
  if (!nccl::available()) throw Error("allreduce-bench", nccl::unavailable_reason());
  Group meeting(meet(options));
  nccl::Options gpu;
  gpu.rank = options.rank;
  gpu.world = world_of(options);
  gpu.device_index = options.gpu < 0 ? options.rank : options.gpu;
  if (options.rank == 0) gpu.id = nccl::make_unique_id();
  collectives::broadcast(meeting, gpu.id, 0);
  gpu.deadline = meeting_deadline(options);
  gpu.symmetric = options.symmetric;
  return nccl::connect(gpu);
}

}  // namespace

void rethrow_cause(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr echo;
  for (const auto& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const transport::TransportError& failure) {
      if (failure.kind() != transport::TransportError::Kind::kAborted) throw;
      echo = error;
    }
  }
  if (echo) std::rethrow_exception(echo);
}

int launch_ranks(const BenchOptions& options, const std::vector<std::string>& arguments,
                 const RankBody& body) {
  if (options.transport == "inproc") return run_threads(world_of(options), body);
  if (options.transport == "gloo" || options.transport == "nccl") {
    if (options.rank < 0) return run_processes(options, arguments);
    if (options.launcher != 0) end_with_launcher(options.launcher);
    return run_rank(options.transport == "gloo" ? meet(options) : meet_on_gpus(options), body);
  }
  transport::mpi::Environment environment;
  if (options.world > 0 && options.world != environment.world()) {
    throw Error("allreduce-bench",
                "--world " + std::to_string(options.world) + ", but the MPI job has " +
                    std::to_string(environment.world()) + "; start it with mpirun -n " +
                    std::to_string(options.world));
  }
  if (options.world <= 0 && environment.world() == 1) {
    throw Error("allreduce-bench",
                "the MPI job has one rank, which measures nothing; start it with mpirun -n 4, or "
                "set --world 1");
  }
  return run_rank(transport::mpi::connect(environment, meeting_deadline(options)), body);
}

}  // namespace tandem::apps
