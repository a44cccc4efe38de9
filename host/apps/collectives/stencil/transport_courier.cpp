// SPDX-License-Identifier: Apache-2.0
//
// A delivery is an exchange; its tag is the number of the step, as all ranks make the same steps.
#include "apps/collectives/stencil/transport_courier.h"

namespace tandem::apps {
namespace {

constexpr transport::Tag kTags = 1 << 24;

class ExchangeDelivery final : public tiling::Delivery {
 public:
  ExchangeDelivery(std::unique_ptr<transport::Exchange> exchange, Deadline deadline)
      : exchange_(std::move(exchange)), deadline_(deadline) {}

  tiling::Received next() override {
    const auto message = exchange_->next(deadline_);
    last_ = message.value();
    return {last_.peer, last_.payload.bytes()};
  }
  void finish() override { exchange_->finish(deadline_); }

 private:
  std::unique_ptr<transport::Exchange> exchange_;
  Deadline deadline_;
  transport::Incoming last_;
};

}  // namespace

std::unique_ptr<tiling::Delivery> TransportCourier::start(std::vector<tiling::Parcel> sends,
                                                          std::vector<int> sources) {
  const transport::Tag tag = step_;
  step_ = (step_ + 1) % kTags;
  std::vector<transport::Outgoing> outgoing;
  for (tiling::Parcel& parcel : sends) {
    outgoing.push_back({parcel.rank, transport::Payload(std::move(parcel.bytes)), tag});
  }
  std::vector<transport::Source> awaited;
  for (const int source : sources) awaited.push_back({source, tag});
  return std::make_unique<ExchangeDelivery>(
      transport_.start(std::move(outgoing), std::move(awaited)), Deadline::after(timeout_));
}

}  // namespace tandem::apps
