// SPDX-License-Identifier: Apache-2.0
//
// Exchanges drive the rounds of their transport; connecting and shrinking make communicators.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "transport/nccl/nccl.h"
#include "transport/nccl/rounds.h"

namespace tandem::transport::nccl {
namespace {

static_assert(sizeof(ncclUniqueId) == sizeof(UniqueId));

class NcclExchange final : public Exchange {
 public:
  NcclExchange(Traffic& traffic, Rounds& rounds, std::vector<Source> sources,
               std::shared_ptr<int> unsent)
      : Exchange(traffic),
        rounds_(rounds),
        sources_(std::move(sources)),
        unsent_(std::move(unsent)) {}

  // Also takes what was expected and not taken, so that its senders can finish.
  void finish(Deadline deadline) override {
    while (*unsent_ > 0) rounds_.run(deadline);
    while (do_next(deadline)) {
    }
  }

 private:
  std::optional<Incoming> do_next(Deadline deadline) override {
    rounds_.throw_if_broken();
    while (!sources_.empty()) {
      for (auto source = sources_.begin(); source != sources_.end(); ++source) {
        auto payload = rounds_.take(*source);
        if (!payload) continue;
        Incoming message{source->peer, std::move(*payload)};
        sources_.erase(source);
        return message;
      }
      rounds_.run(deadline);
    }
    return std::nullopt;
  }

  Rounds& rounds_;
  std::vector<Source> sources_;
  std::shared_ptr<int> unsent_;
};

class NcclTransport final : public Transport {
 public:
  NcclTransport(Options options, ncclComm_t comm)
      : Transport(options.rank, options.world),
        options_(std::move(options)),
        rounds_(comm, options_) {}

  std::string_view kind() const override { return "nccl"; }

  std::string node_name() const override {
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    return std::string(host) + " " + boot;
  }

  // A kernel of NCCL that waits for a lost peer holds the messages of all others up.
  bool fails_alone() const override { return false; }
  void set_failure_scope(FailureScope) override {}
  void close(int, const std::string& reason) noexcept override { rounds_.abort(reason); }
  void abort(const std::string& reason) noexcept override { rounds_.abort(reason); }

  std::unique_ptr<Transport> shrink(Deadline deadline) override {
    if (!options_.agree_on_survivors) {
      throw Error("transport",
                  "a smaller nccl group needs to know which ranks are alive: set "
                  "nccl::Options::agree_on_survivors");
    }
    const std::vector<int> survivors = options_.agree_on_survivors(deadline);
    const auto own = std::find(survivors.begin(), survivors.end(), rank());
    if (own == survivors.end()) {
      throw TransportError(TransportError::Kind::kTimeout, rank(),
                           "the smaller group was formed without rank " + std::to_string(rank()));
    }
    std::vector<int> excluded;
    for (int rank = 0; rank < world(); ++rank) {
      if (!std::binary_search(survivors.begin(), survivors.end(), rank)) excluded.push_back(rank);
    }
    Options smaller = options_;
    smaller.rank = static_cast<int>(own - survivors.begin());
    smaller.world = static_cast<int>(survivors.size());
    smaller.deadline = deadline;
    ncclComm_t comm = rounds_.shrink(std::move(excluded), deadline);
    return std::make_unique<NcclTransport>(std::move(smaller), comm);
  }

 private:
  std::unique_ptr<Exchange> do_start(std::vector<Outgoing> sends,
                                     std::vector<Source> sources) override {
    rounds_.throw_if_broken();
    const auto unsent = std::make_shared<int>(static_cast<int>(sends.size()));
    for (Outgoing& send : sends) rounds_.post(std::move(send), unsent);
    for (const Source& source : sources) rounds_.expect(source);
    return std::make_unique<NcclExchange>(counters(), rounds_, std::move(sources), unsent);
  }

  Options options_;
  Rounds rounds_;
};

}  // namespace

std::string unavailable_reason() {
  const NcclLibrary* library = nccl_library();
  if (library == nullptr) return nccl_library_reason();
  if (library->comm_init == nullptr || library->comm_finalize == nullptr) {
    return "libnccl.so.2 is too old: the nccl transport needs NCCL 2.14 or later";
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    return std::string("no GPU can be used: ") + cudaGetErrorString(error);
  }
  return count == 0 ? "there is no GPU" : "";
}

bool available() { return unavailable_reason().empty(); }

UniqueId make_unique_id() {
  if (!available()) throw Error("transport", unavailable_reason());
  ncclUniqueId id;
  const ncclResult_t result = nccl_library()->get_unique_id(&id);
  if (result != ncclSuccess) {
    throw Error("transport",
                std::string("NCCL makes no unique id: ") + nccl_library()->error_string(result));
  }
  UniqueId bytes;
  std::memcpy(bytes.data(), &id, sizeof(id));
  return bytes;
}

std::unique_ptr<Transport> connect(const Options& options) {
  if (!available()) throw Error("transport", unavailable_reason());
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    throw Error("transport", "rank " + std::to_string(options.rank) + " of " +
                                 std::to_string(options.world) + " ranks is not a rank");
  }
  check_cuda(cudaSetDevice(options.device_index), "choosing the device");
  ncclUniqueId id;
  std::memcpy(&id, options.id.data(), sizeof(id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const ncclResult_t result =
      nccl_library()->comm_init(&comm, options.world, id, options.rank, &config);
  if (comm == nullptr || (result != ncclSuccess && result != ncclInProgress)) {
    throw Error("transport",
                std::string("NCCL makes no communicator: ") + nccl_library()->error_string(result));
  }
  return std::make_unique<NcclTransport>(options, comm);
}

}  // namespace tandem::transport::nccl
