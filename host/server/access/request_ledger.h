// SPDX-License-Identifier: Apache-2.0
//
// RequestLedger: the requests in progress, for the operator's routes.
//
// It holds weak pointers: a record leaves the ledger when its exchange ends. Threads: any; records
// may outlive the ledger.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "server/access/request_record.h"

namespace tandem::server {

class RequestLedger {
 public:
  explicit RequestLedger(trace::Metrics* metrics) : metrics_(metrics) {}

  std::shared_ptr<RequestRecord> open(RequestIdentity identity);
  std::vector<std::shared_ptr<RequestRecord>> in_progress() const;  // oldest first

 private:
  struct Records {
    std::mutex mutex;
    std::map<std::uint64_t, std::weak_ptr<RequestRecord>> by_number;
    std::uint64_t next = 0;
  };

  trace::Metrics* const metrics_;
  const std::shared_ptr<Records> records_ = std::make_shared<Records>();
};

}  // namespace tandem::server
