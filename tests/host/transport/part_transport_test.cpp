// SPDX-License-Identifier: Apache-2.0
//
// Parts of a world: a grid's rows and columns exchange at the same time, with numbers of their own.
#include "transport/part_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "support/ranks.h"

namespace tandem::transport {
namespace {

Deadline soon() { return Deadline::after(std::chrono::seconds(20)); }

Payload message_of(int number) {
  ByteBuffer bytes;
  append_value(bytes, number);
  return Payload(std::move(bytes));
}
int number_in(const Payload& payload) {
  int number = 0;
  std::memcpy(&number, payload.bytes().data(), sizeof(number));
  return number;
}

TEST(PartTransport, RowsAndColumnsOfAGridExchangeWithTheSameTags) {
  test::run_ranks(6, [](std::unique_ptr<Transport> whole) {  // two rows of three
    const int rank = whole->rank(), row = rank / 3, column = rank % 3;
    PartTransport of_row(*whole, {3 * row, 3 * row + 1, 3 * row + 2});
    PartTransport of_column(*whole, {column, column + 3});
    EXPECT_EQ(of_row.rank(), column);
    EXPECT_EQ(of_row.world(), 3);
    EXPECT_EQ(of_column.rank(), row);
    EXPECT_EQ(of_column.world(), 2);
    EXPECT_EQ(of_row.kind(), whole->kind());
    const auto exchange = [&](PartTransport& part) {
      std::vector<Outgoing> sends;
      std::vector<Source> sources;
      for (int peer = 0; peer < part.world(); ++peer) {
        if (peer == part.rank()) continue;
        sends.push_back({peer, message_of(100 * rank + peer), 5});
        sources.push_back({peer, 5});
      }
      return part.start(std::move(sends), sources);
    };
    const auto rows = exchange(of_row), columns = exchange(of_column);
    for (int left = 0; left < 2; ++left) {
      const auto message = rows->next(soon());
      EXPECT_EQ(number_in(message->payload), 100 * (3 * row + message->peer) + column);
    }
    const auto message = columns->next(soon());
    EXPECT_EQ(message->peer, 1 - row);
    EXPECT_EQ(number_in(message->payload), 100 * (3 * (1 - row) + column) + row);
    EXPECT_FALSE(rows->next(soon()));
    rows->finish(soon());
    columns->finish(soon());
    EXPECT_EQ(of_row.traffic().bytes_sent(), 2 * sizeof(int));
    EXPECT_EQ(of_column.traffic().bytes_sent(), sizeof(int));
    EXPECT_EQ(whole->traffic().bytes_sent(), 3 * sizeof(int));
  });
}

TEST(PartTransport, AnAbortEndsTheWholeWorldsWaits) {
  test::run_ranks(3, [](std::unique_ptr<Transport> whole) {
    whole->set_failure_scope(FailureScope::kGroup);
    if (whole->rank() == 2) {  // in no part
      EXPECT_THROW(whole->receive(1, 3, soon()), TransportError);
      return;
    }
    PartTransport part(*whole, {0, 1});
    EXPECT_FALSE(part.fails_alone());
    if (part.rank() == 1) return part.abort("the reason");
    EXPECT_THAT([&] { part.receive(1, 3, soon()); },
                testing::ThrowsMessage<TransportError>(testing::HasSubstr("the reason")));
  });
}

TEST(PartTransport, DoesNotShrink) {
  test::run_ranks(2, [](std::unique_ptr<Transport> whole) {
    PartTransport part(*whole, {0, 1});
    EXPECT_THROW(part.shrink(soon()), Error);
  });
}

}  // namespace
}  // namespace tandem::transport
