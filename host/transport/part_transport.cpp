// SPDX-License-Identifier: Apache-2.0
//
// Ranks are renumbered on the way in and out; nothing else changes.
#include "transport/part_transport.h"

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace tandem::transport {
namespace {

int place_of(const std::vector<int>& members, int rank) {
  const auto found = std::ranges::find(members, rank);
  TANDEM_CHECK(found != members.end());
  return static_cast<int>(found - members.begin());
}

class PartExchange final : public Exchange {
 public:
  PartExchange(Traffic& traffic, std::unique_ptr<Exchange> whole, const std::vector<int>& members)
      : Exchange(traffic), whole_(std::move(whole)), members_(members) {}

  void finish(Deadline deadline) override { whole_->finish(deadline); }

 private:
  std::optional<Incoming> do_next(Deadline deadline) override {
    auto message = whole_->next(deadline);
    if (message) message->peer = place_of(members_, message->peer);
    return message;
  }

  std::unique_ptr<Exchange> whole_;
  const std::vector<int>& members_;
};

}  // namespace

PartTransport::PartTransport(Transport& whole, std::vector<int> members)
    : Transport(place_of(members, whole.rank()), static_cast<int>(members.size())),
      whole_(whole),
      members_(std::move(members)) {}

void PartTransport::close(int peer, const std::string& reason) noexcept {
  whole_.close(members_[static_cast<std::size_t>(peer)], reason);
}

std::unique_ptr<Transport> PartTransport::shrink(Deadline) {
  throw Error("transport", "a part of a world cannot shrink; end the run and start it again");
}

std::unique_ptr<Exchange> PartTransport::do_start(std::vector<Outgoing> sends,
                                                  std::vector<Source> sources) {
  for (Outgoing& outgoing : sends) {
    outgoing.peer = members_[static_cast<std::size_t>(outgoing.peer)];
  }
  for (Source& source : sources) source.peer = members_[static_cast<std::size_t>(source.peer)];
  return std::make_unique<PartExchange>(counters(), whole_.start(std::move(sends), sources),
                                        members_);
}

}  // namespace tandem::transport
