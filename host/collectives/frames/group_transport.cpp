// SPDX-License-Identifier: Apache-2.0
//
// Exchanges report their errors to the group, which keeps the first.
#include "collectives/frames/group_transport.h"

#include <utility>

namespace tandem::collectives {
namespace {

using transport::Exchange;
using transport::Incoming;
using transport::TransportError;

class GroupExchange final : public Exchange {
 public:
  GroupExchange(transport::Traffic& traffic, GroupTransport& group, std::unique_ptr<Exchange> inner)
      : Exchange(traffic), group_(group), inner_(std::move(inner)) {}

  void finish(Deadline deadline) override {
    try {
      inner_->finish(deadline);
    } catch (const TransportError& error) {
      group_.fail(error);
      throw;
    }
  }

 private:
  std::optional<Incoming> do_next(Deadline deadline) override {
    try {
      return inner_->next(deadline);
    } catch (const TransportError& error) {
      group_.fail(error);
      throw;
    }
  }

  GroupTransport& group_;
  std::unique_ptr<Exchange> inner_;
};

}  // namespace

GroupTransport::GroupTransport(std::unique_ptr<transport::Transport> connections)
    : Transport(connections->rank(), connections->world()), connections_(std::move(connections)) {
  connections_->set_failure_scope(transport::FailureScope::kGroup);
}

std::unique_ptr<Exchange> GroupTransport::do_start(std::vector<transport::Outgoing> sends,
                                                   std::vector<transport::Source> sources) {
  throw_if_broken();
  try {
    auto inner = connections_->start(std::move(sends), std::move(sources));
    return std::make_unique<GroupExchange>(counters(), *this, std::move(inner));
  } catch (const TransportError& error) {
    fail(error);
    throw;
  }
}

void GroupTransport::throw_if_broken() const {
  const std::lock_guard lock(mutex_);
  if (broken_) throw TransportError(*broken_);
}

void GroupTransport::fail(const TransportError& error) noexcept {
  const std::lock_guard lock(mutex_);
  if (!broken_) broken_ = error;
}

void GroupTransport::close(int, const std::string& reason) noexcept { abort(reason); }

void GroupTransport::abort(const std::string& reason) noexcept { connections_->abort(reason); }

std::unique_ptr<transport::Transport> GroupTransport::shrink(Deadline deadline) {
  std::optional<TransportError> error;
  {
    const std::lock_guard lock(mutex_);
    error = broken_;
  }
  if (error) connections_->abort(transport::plain_text(*error));  // for peers that have not noticed
  return std::make_unique<GroupTransport>(connections_->shrink(deadline));
}

}  // namespace tandem::collectives
