// SPDX-License-Identifier: Apache-2.0
//
// Submissions: no generation continues after its request has ended.
#include "server/openai/submissions.h"

#include <gtest/gtest.h>

#include "host/server/fake_service.h"

namespace tandem::server::openai {
namespace {

GenerationId submit(test::FakeService& service) {
  GenerationRequest request;
  request.prompt = {'a'};
  std::vector<Submission> one;
  one.push_back({std::move(request), [](GenerationEvent) {}});
  return service.submit(std::move(one)).ids.front();
}

TEST(Submissions, WhoeverDestroysThemCancelsTheUnfinishedOnes) {
  test::FakeService service({.hold_after = 0});
  {
    Submissions submissions(service);
    for (std::size_t i = 0; i < 3; ++i) submissions.add(i, submit(service));
    submissions.finished(1);
  }
  while (service.num_cancelled() < 2) std::this_thread::yield();
  service.release();
  EXPECT_TRUE(service.wait_until_idle());
  EXPECT_EQ(service.num_cancelled(), 2u);
}

TEST(Submissions, OneThatIsAcceptedTooLateIsCancelledAtOnce) {
  test::FakeService service({.hold_after = 0});
  Submissions submissions(service);
  submissions.cancel_all();
  submissions.add(0, submit(service));
  EXPECT_TRUE(service.wait_until_idle());
  EXPECT_EQ(service.num_cancelled(), 1u);
}

}  // namespace
}  // namespace tandem::server::openai
