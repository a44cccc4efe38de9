// SPDX-License-Identifier: Apache-2.0
//
// What a record does by itself, without a connection.
#include "server/access/request_record.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/access/key_store.h"

namespace tandem::server {
namespace {

TEST(RequestRecord, KeepsAnIdOfAtMost128Bytes) {
  const std::string longest(128, 'a');
  EXPECT_EQ(request_id(longest), longest);
  EXPECT_NE(request_id(longest + "a"), longest + "a");
  EXPECT_NE(request_id("a b"), "a b");
}

TEST(RequestRecord, ANewIdHasAllHexadecimalDigitsInAllPlaces) {
  std::vector<std::set<char>> digits(32);
  for (int i = 0; i < 400; ++i) {
    const std::string id = request_id("");
    ASSERT_EQ(id.size(), 32u);
    for (std::size_t place = 0; place < id.size(); ++place) digits[place].insert(id[place]);
  }
  const std::string all = "0123456789abcdef";
  for (const std::set<char>& seen : digits) EXPECT_EQ(std::string(seen.begin(), seen.end()), all);
}

class RecordOfAKey : public testing::Test {
 protected:
  std::unique_ptr<RequestRecord> record() const {
    auto record = std::make_unique<RequestRecord>(
        RequestIdentity{"r", "POST", "/v1/completions", ""}, nullptr, std::function<void()>());
    record->set_caller({key_, usage_});
    return record;
  }

  std::shared_ptr<const ApiKey> key_ = [] {
    auto key = std::make_shared<ApiKey>();
    key->name = "team";
    key->limits.concurrent_requests = 2;
    return key;
  }();
  std::shared_ptr<KeyUsage> usage_ = std::make_shared<KeyUsage>(real_clock());
};

TEST_F(RecordOfAKey, TakesOnePlaceHoweverOftenItAsks) {
  const auto first = record(), second = record(), third = record();
  EXPECT_FALSE(first->take_place());
  EXPECT_FALSE(first->take_place());
  EXPECT_FALSE(second->take_place());
  EXPECT_TRUE(third->take_place());
  first->end(0, http::ExchangeEnd::kComplete);
  EXPECT_FALSE(third->take_place());
  EXPECT_TRUE(record()->take_place());
}

TEST_F(RecordOfAKey, ARefusedRequestGivesNoPlaceBack) {
  const auto first = record(), second = record();
  EXPECT_FALSE(first->take_place());
  EXPECT_FALSE(second->take_place());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(record()->take_place());
}

TEST_F(RecordOfAKey, ACancelledRequestBeginsNoGeneration) {
  const auto cancelled = record();
  EXPECT_TRUE(cancelled->add_generation(7));
  EXPECT_FALSE(cancelled->is_cancelled());
  EXPECT_EQ(cancelled->cancel(), std::vector<GenerationId>{7});
  EXPECT_TRUE(cancelled->is_cancelled());
  EXPECT_FALSE(cancelled->add_generation(8));
  EXPECT_EQ(cancelled->num_generations(), 2u);
}

}  // namespace
}  // namespace tandem::server
