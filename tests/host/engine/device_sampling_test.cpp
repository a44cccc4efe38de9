// SPDX-License-Identifier: Apache-2.0
//
// A compute unit that samples: it makes plain draws itself and keeps their logits; other draws get
// their logits on the host. The tokens are those of the host's sampler.
#include <gmock/gmock.h>

#include <algorithm>

#include "host/engine/equivalence.h"
#include "support/queued_attention_unit.h"

namespace tandem::engine {
namespace {

class DeviceSampling : public Equivalence {
 protected:
  std::vector<Request> varied() const {
    std::vector<Request> all = requests();
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].top_logprobs.reset();
      model::SamplingParams& sampling = all[i].sampling;
      sampling.seed = i;
      sampling.temperature = i % 4 == 0 ? 0.0f : 0.9f;
      if (i % 4 == 2) sampling.top_k = 5;
      if (i % 4 == 3) sampling.top_p = 0.7f, sampling.top_k = 30;
    }
    return all;
  }

  // The steps of the two engines may differ, and the order of a product's sums changes with its
  // rows.
  static void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
    EXPECT_THAT(got, testing::Pointwise(testing::FloatNear(1e-4f), expected));
  }

  std::vector<Answer> on_host(const std::vector<Request>& requests) {
    auto engine = rig_.engine(rig_.cpu_units({256}), {});
    return run_all(*engine, requests);
  }
};

TEST_F(DeviceSampling, DrawsAsTheHostDoesAndKeepsTheLogits) {
  const std::vector<Request> requests = varied();
  const std::vector<Answer> expected = on_host(requests);
  test::QueuedComputeUnit compute(rig_.compute(), {.samples = true});
  std::vector<NamedUnit> units;
  units.push_back({"queued", std::make_unique<test::QueuedAttentionUnit>(
                                 compute, std::move(rig_.cpu_unit(256).unit))});
  auto engine = rig_.engine_on(compute, std::move(units), {});
  const std::vector<Answer> answers = run_all(*engine, requests);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].tokens, expected[i].tokens) << "request " << i;
    EXPECT_EQ(answers[i].text, expected[i].text);
  }
  EXPECT_EQ(compute.counts().sampled_rows, requests.size() * kOutput);
  EXPECT_EQ(compute.counts().copies, 0u);
}

TEST_F(DeviceSampling, LeavesToTheHostWhatNeedsMoreThanARow) {
  std::vector<Request> requests = varied();
  requests.resize(6);
  requests[0].top_logprobs = 2;
  requests[1].sampling.repetition_penalty = 1.3f;
  requests[2].sampling.min_p = 0.05f;
  requests[3].sampling.logit_bias = {{5, 2.0f}};
  requests[4].prompt_logprobs = true;  // of the prompt; what follows is a plain draw
  const std::vector<Answer> expected = on_host(requests);
  test::QueuedComputeUnit compute(rig_.compute(), {.samples = true});
  auto engine = rig_.engine_on(compute, rig_.cpu_units({256}), {});
  const std::vector<Answer> answers = run_all(*engine, requests);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].tokens, expected[i].tokens) << "request " << i;
    expect_near(answers[i].logprobs, expected[i].logprobs);
    expect_near(answers[i].prompt_logprobs, expected[i].prompt_logprobs);
  }
  EXPECT_EQ(compute.counts().sampled_rows, std::uint64_t{2 * kOutput - 1});
}

// A draw of an interrupted step is repeated with the same random number.
TEST_F(DeviceSampling, DrawsAgainWithTheSameNumberAfterALoss) {
  const std::vector<Request> requests = varied();
  const std::vector<Answer> expected = on_host(requests);
  for (const std::uint64_t lose_after : {100, 250, 400}) {
    SCOPED_TRACE(lose_after);
    test::QueuedComputeUnit first(rig_.compute(), {.lose_after = lose_after, .samples = true});
    auto engine =
        rig_.engine_on(first, rig_.cpu_units({256}), {},
                       {{}, [this] {
                          return NamedCompute{
                              "host", std::make_unique<test::QueuedComputeUnit>(rig_.compute()), 0};
                        }});
    const std::vector<Answer> answers = run_all(*engine, requests);
    EXPECT_TRUE(first.lost());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(answers[i].tokens, expected[i].tokens) << "request " << i;
    }
  }
}

}  // namespace
}  // namespace tandem::engine
