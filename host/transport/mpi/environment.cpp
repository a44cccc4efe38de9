// SPDX-License-Identifier: Apache-2.0
//
// Starting and ending MPI. The ranks meet in a non-blocking barrier before MPI_Finalize, which
// takes no deadline.
#include <unistd.h>

#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <string>

#include "transport/mpi/backoff.h"
#include "transport/mpi/checked.h"
#include "transport/mpi/mpi.h"
#include "transport/mpi/transport.h"

namespace tandem::transport::mpi {
namespace {

std::atomic<bool> environment_exists{false};

// Of all MPI calls; never destroyed, since a leaked transport may still use it.
std::mutex& mpi_lock() {
  static auto* lock = new std::mutex;
  return *lock;
}

// True once `request` is complete; false at the deadline.
bool wait(MPI_Request& request, Deadline deadline) {
  Backoff backoff;
  for (;;) {
    int done = 0;
    {
      const std::lock_guard lock(mpi_lock());
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    }
    if (done) return true;
    if (deadline.expired()) return false;
    backoff.pause();
  }
}

// The machine and, where there are such, the network namespace.
std::string this_node() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  std::string node(name.data(), static_cast<std::size_t>(length));
  std::array<char, 64> link{};
  const auto size = readlink("/proc/self/ns/net", link.data(), link.size());
  if (size > 0) node.append("/").append(link.data(), static_cast<std::size_t>(size));
  return node;
}

void require_serialized(int level) {
  if (level >= MPI_THREAD_SERIALIZED) return;
  throw Error("transport",
              "this MPI runs with a thread level below MPI_THREAD_SERIALIZED; initialise it with "
              "MPI_Init_thread, or leave that to this library");
}

}  // namespace

bool available() { return true; }
std::string unavailable_reason() { return {}; }

class Environment::State {
 public:
  explicit State(const Options& options) : options_(options) {
    if (environment_exists.exchange(true)) {
      throw Error("transport", "a process can have one Environment only: share the existing one");
    }
    try {
      start();
    } catch (...) {
      environment_exists = false;
      throw;
    }
  }

  ~State() {
    environment_exists = false;
    if (!started_here_) return;
    try {
      leave();
    } catch (const Error&) {
      // MPI is broken; the launcher cleans up after a process that ends without MPI_Finalize.
    }
  }

  MPI_Comm communicator() const { return communicator_; }
  const Options& options() const { return options_; }

 private:
  void start() {
    int finalized = 0;
    int initialized = 0;
    MPI_Finalized(&finalized);
    MPI_Initialized(&initialized);
    if (finalized) throw Error("transport", "MPI has been ended and cannot be started again");
    int level = 0;
    if (initialized) {
      MPI_Query_thread(&level);
    } else {
      check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level),
                "MPI_Init_thread");
      started_here_ = true;
    }
    require_serialized(level);
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }

  void leave() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized) return;
    MPI_Request everyone = MPI_REQUEST_NULL;
    {
      const std::lock_guard lock(mpi_lock());
      check_mpi(MPI_Ibarrier(communicator_, &everyone), "MPI_Ibarrier");
    }
    if (wait(everyone, Deadline::after(options_.leave_timeout))) MPI_Finalize();
  }

  Options options_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  bool started_here_ = false;
};

Environment::Environment(const Options& options) : state_(std::make_unique<State>(options)) {}
Environment::~Environment() = default;

int Environment::rank() const {
  int rank = 0;
  check_mpi(MPI_Comm_rank(state_->communicator(), &rank), "MPI_Comm_rank");
  return rank;
}

int Environment::world() const {
  int world = 0;
  check_mpi(MPI_Comm_size(state_->communicator(), &world), "MPI_Comm_size");
  return world;
}

std::unique_ptr<Transport> connect(Environment& environment, Deadline deadline) {
  const std::size_t part = environment.state().options().max_part_bytes;
  if (part == 0 || part > std::numeric_limits<int>::max()) {
    throw Error("transport",
                "max_part_bytes is " + std::to_string(part) + "; it must be from 1 to 2^31 - 1");
  }
  // MPI writes both until the request completes, which after a timeout it never may.
  auto pending = std::make_unique<std::pair<MPI_Comm, MPI_Request>>();
  {
    const std::lock_guard lock(mpi_lock());
    check_mpi(MPI_Comm_idup(environment.state().communicator(), &pending->first, &pending->second),
              "MPI_Comm_idup");
  }
  if (!wait(pending->second, deadline)) {
    static_cast<void>(pending.release());
    throw TransportError(TransportError::Kind::kTimeout, -1,
                         "not all ranks have made their mpi transport by the deadline");
  }
  return make_mpi_transport(
      {pending->first, mpi_lock(), part, this_node(), environment.rank(), environment.world()});
}

}  // namespace tandem::transport::mpi
