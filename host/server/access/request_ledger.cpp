// SPDX-License-Identifier: Apache-2.0
//
// A record removes itself when it ends.
#include "server/access/request_ledger.h"

#include <utility>

namespace tandem::server {

std::shared_ptr<RequestRecord> RequestLedger::open(RequestIdentity identity) {
  const std::lock_guard lock(records_->mutex);
  const std::uint64_t number = records_->next++;
  auto record =
      std::make_shared<RequestRecord>(std::move(identity), metrics_, [records = records_, number] {
        const std::lock_guard ending(records->mutex);
        records->by_number.erase(number);
      });
  records_->by_number.emplace(number, record);
  return record;
}

std::vector<std::shared_ptr<RequestRecord>> RequestLedger::in_progress() const {
  const std::lock_guard lock(records_->mutex);
  std::vector<std::shared_ptr<RequestRecord>> result;
  for (const auto& [number, weak] : records_->by_number) {
    if (auto record = weak.lock()) result.push_back(std::move(record));
  }
  return result;
}

}  // namespace tandem::server
