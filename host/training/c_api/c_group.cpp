// SPDX-License-Identifier: Apache-2.0
//
// Groups of the C ABI. MPI is started once per process and ended when the process ends.
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "common/error.h"
#include "training/c_api/handles.h"
#include "training/c_api/last_error.h"
#include "training/c_api/options_json.h"
#include "transport/gloo/gloo.h"
#include "transport/gloo/store.h"
#include "transport/mpi/mpi.h"

namespace tandem::training {
namespace {

// Makes a store for the ranks from the caller's functions.
class CallerStore final : public transport::gloo::Store {
 public:
  explicit CallerStore(const tandem_store& store) : store_(store) {}

  bool put(const std::string& key, const std::string& value) override {
    const int written = store_.put(store_.context, key.c_str(), value.data(), value.size());
    if (written < 0) throw Error("training", "the store did not take the key " + key);
    return written > 0;
  }

  std::optional<std::string> get(const std::string& key) override {
    std::string value(kFirstCapacity, '\0');
    for (;;) {
      const std::int64_t size = store_.get(store_.context, key.c_str(), value.data(), value.size());
      if (size == -1) return std::nullopt;
      if (size < 0 || size > kMostBytes) {
        throw Error("training", "the store did not answer for the key " + key);
      }
      const bool whole = static_cast<std::size_t>(size) <= value.size();
      value.resize(static_cast<std::size_t>(size));
      if (whole) return value;
    }
  }

 private:
  static constexpr std::size_t kFirstCapacity = 64;  // addresses are longer
  static constexpr std::int64_t kMostBytes = 16 << 20;

  const tandem_store store_;
};

Deadline deadline_of(const GroupOptions& options) {
  return Deadline::after(
      std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1000) + 1));
}

std::unique_ptr<transport::Transport> connect_gloo(const GroupOptions& options,
                                                   const tandem_store* store) {
  transport::gloo::Options gloo;
  gloo.rank = options.rank;
  gloo.world = options.world;
  gloo.prefix = options.prefix;
  gloo.store_directory = options.store_directory;
  gloo.interface = options.interface;
  gloo.address = options.address;
  gloo.deadline = deadline_of(options);
  if (store != nullptr) {
    require_pointer(reinterpret_cast<const void*>(store->put), "the store's function put");
    require_pointer(reinterpret_cast<const void*>(store->get), "the store's function get");
    gloo.store = std::make_shared<CallerStore>(*store);
  }
  return transport::gloo::connect(gloo);
}

std::unique_ptr<transport::Transport> connect_mpi(const GroupOptions& options) {
  static transport::mpi::Environment environment;
  return transport::mpi::connect(environment, deadline_of(options));
}

}  // namespace
}  // namespace tandem::training

using namespace tandem;  // the functions below are C's

tandem_status tandem_group_create(const char* options, const tandem_store* store,
                                  tandem_group** group) {
  return training::guarded([&] {
    training::require_pointer(options, "options");
    training::require_pointer(group, "group");
    *group = nullptr;
    const training::GroupOptions parsed = training::group_options(options);
    if (parsed.transport != "gloo" && parsed.transport != "mpi") {
      throw Error("training",
                  "the option transport is '" + parsed.transport + "'; choose gloo or mpi");
    }
    auto connections = parsed.transport == "gloo" ? training::connect_gloo(parsed, store)
                                                  : training::connect_mpi(parsed);
    *group = new tandem_group{collectives::Group(std::move(connections))};
  });
}

void tandem_group_abort(tandem_group* group, const char* reason) {
  if (group == nullptr) return;
  training::guarded(
      [&] { group->group.abort(reason == nullptr ? "the caller has aborted" : reason); });
}

void tandem_group_destroy(tandem_group* group) { delete group; }
