// SPDX-License-Identifier: Apache-2.0
//
// A request whose logits cannot be sampled fails alone: the requests beside and behind it get the
// same tokens as without it.
//
// The model is the rig's with NaN for the embedding of one token, so that prompts with that token
// have NaN logits and all others are untouched.
#include <gmock/gmock.h>

#include <limits>

#include "host/engine/engine_rig.h"
#include "support/queued_compute_unit.h"

namespace tandem::engine {
namespace {

using ::testing::HasSubstr;

constexpr model::TokenId kPoison = 7;

class PoisonedModel final : public model::Model {
 public:
  explicit PoisonedModel(const model::Model& model)
      : model_(model), output_(copy(model.output(), output_values_)) {
    embedding_ = copy(model.embedding(), values_);
    const auto columns = static_cast<std::size_t>(embedding_.columns);
    std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(kPoison * columns), columns,
                std::numeric_limits<float>::quiet_NaN());
  }
  const model::ModelConfig& config() const override { return model_.config(); }
  const std::vector<model::LayerTensors>& layers() const override { return model_.layers(); }
  const TensorView& embedding() const override { return embedding_; }
  const TensorView& output_norm() const override { return model_.output_norm(); }
  const TensorView& output() const override { return output_; }
  const model::Tokenizer& tokenizer() const override { return model_.tokenizer(); }
  const model::ChatTemplate* chat_template() const override { return nullptr; }
  const std::string& chat_template_error() const override { return model_.chat_template_error(); }

 private:
  static TensorView copy(TensorView view, std::vector<float>& values) {
    const auto* data = reinterpret_cast<const float*>(view.data);
    values.assign(data, data + view.rows * view.columns);
    view.data = reinterpret_cast<const std::byte*>(values.data());
    return view;
  }

  const model::Model& model_;
  std::vector<float> values_, output_values_;
  TensorView embedding_, output_;
};

class DamagedLogits : public testing::Test {
 protected:
  Request sound(std::size_t length, std::uint32_t seed) const {
    Request request = greedy(rig_.prompt(length, seed), 12);
    std::ranges::replace(request.prompt, kPoison, kPoison + 1);
    return request;
  }
  Request damaged(std::size_t length, std::uint32_t seed) const {
    Request request = sound(length, seed);
    request.prompt.back() = kPoison;
    return request;
  }
  std::unique_ptr<Engine> engine(const EngineOptions& options) {
    return engine_on(rig_.compute(), options);
  }
  std::unique_ptr<Engine> engine_on(device::ComputeUnit& compute, const EngineOptions& options) {
    return std::make_unique<Engine>(model_, compute, rig_.cpu_units({32}), options, Fallbacks{},
                                    nullptr);
  }

  EngineRig rig_;
  PoisonedModel model_{rig_.model()};
};

TEST_F(DamagedLogits, FailOnlyTheirOwnRequest) {
  EngineOptions options;
  options.max_running = 3;  // some run beside the damaged ones, some wait behind them
  std::vector<Request> requests = {sound(20, 1),  damaged(33, 2), sound(40, 3),
                                   damaged(5, 4), sound(9, 5),    sound(33, 6)};
  requests[1].prompt_logprobs = true;
  std::vector<Answer> alone;
  for (const Request& request : requests) {
    alone.push_back(run_all(*engine(options), {request}).front());
  }
  auto shared = engine(options);
  const std::vector<Answer> answers = run_all(*shared, requests);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    SCOPED_TRACE(i);
    if (i == 1 || i == 3) {
      EXPECT_EQ(answers[i].finish, FinishReason::kError);
      EXPECT_THAT(answers[i].last.error, HasSubstr("no finite logit"));
      EXPECT_TRUE(answers[i].tokens.empty());
    } else {
      EXPECT_EQ(answers[i].finish, FinishReason::kLength) << answers[i].last.error;
      EXPECT_EQ(answers[i].tokens.size(), 12u);
      EXPECT_EQ(answers[i].tokens, alone[i].tokens);
    }
  }
  EXPECT_FALSE(shared->status().broken);
  EXPECT_EQ(run_all(*shared, {requests[4]}).front().tokens, alone[4].tokens);
}

TEST_F(DamagedLogits, LeaveNoPrefixBehind) {
  auto shared = engine({});
  Request request = damaged(33, 2);
  std::swap(request.prompt[0], request.prompt[32]);
  EXPECT_EQ(run_all(*shared, {request}).front().finish, FinishReason::kError);
  EXPECT_EQ(shared->status().units[0].pages_cached, 0u);
}

TEST_F(DamagedLogits, FailOnlyTheirOwnRequestWhereTheDeviceSamples) {
  std::vector<Request> requests = {sound(20, 1), damaged(33, 2), sound(40, 3)};
  for (Request& request : requests) request.top_logprobs.reset();
  const auto expected = run_all(*engine({}), {requests[0], requests[2]});
  test::QueuedComputeUnit compute(rig_.compute(), {.samples = true});
  auto sampling = engine_on(compute, {});
  const auto answers = run_all(*sampling, requests);
  EXPECT_GT(compute.counts().sampled_rows, 0u);
  EXPECT_EQ(answers[1].finish, FinishReason::kError);
  EXPECT_THAT(answers[1].last.error, HasSubstr("no finite logit"));
  EXPECT_EQ(answers[0].tokens, expected[0].tokens);
  EXPECT_EQ(answers[2].tokens, expected[1].tokens);
}

}  // namespace
}  // namespace tandem::engine
