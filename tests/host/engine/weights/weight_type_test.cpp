// SPDX-License-Identifier: Apache-2.0
//
// Perplexity of the engine for every type of weight, against a float64 reference on the same
// dequantised weights: the demonstration model with its matrices in that type (rows of 640 values
// in the fallback of the K types). The reference is held to recorded figures of two other float64
// implementations.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host/engine/engine_rig.h"
#include "host/model/shared_models.h"
#include "model/loader/gguf/gguf_conversion.h"
#include "support/reference/model.h"
#include "support/scratch_path.h"
#include "support/tree.h"
#include "tensor/quantize_matrix.h"

namespace tandem::engine {
namespace {

using nlohmann::json;

const std::filesystem::path kDemo = test::source_dir() / "host" / "model" / "demo";
const std::filesystem::path kDemoModel = kDemo / "tandem-stories-q8_0.gguf";

json demo_golden() {
  std::ifstream file(kDemo / "golden.json");
  return json::parse(file)["perplexity"];
}

std::vector<model::TokenId> text_ids() {
  return demo_golden()["ids"].get<std::vector<model::TokenId>>();
}

// The demonstration model with its matrices in another type; removed when the last user is gone.
class ConvertedModel {
 public:
  explicit ConvertedModel(const std::function<DType(const model::GgufTensor&)>& type) {
    const model::GgufFile file(kDemoModel);
    ThreadPool pool(2);
    const auto type_of = [&](const model::GgufTensor& tensor) {
      return model::is_matrix_of_products(tensor) ? type(tensor) : tensor.dtype;
    };
    model::convert_gguf(file, type_of, pool).save(file_.string());
  }
  std::string path() const { return file_.string(); }

 private:
  test::ScratchPath file_{"converted.gguf"};
};

std::vector<float> engine_logprobs(EngineRig& rig, const EngineOptions& options) {
  auto engine = rig.engine(rig.cpu_units({16}), options);
  Request request = greedy(text_ids(), 0);
  request.prompt_logprobs = true;
  return run_all(*engine, {request}).front().prompt_logprobs;
}

double perplexity(const std::vector<float>& logprobs) {
  return reference::perplexity(std::vector<double>(logprobs.begin(), logprobs.end()));
}

TEST(ReferenceModel, HasTheRecordedLogProbabilitiesOfTheDemoModel) {
  const json golden = demo_golden();
  const auto model = model::load_model(kDemoModel);
  const std::vector<double> logprobs = reference::log_probabilities(*model, text_ids());
  const auto nll = golden["nll"].get<std::vector<double>>();
  ASSERT_EQ(logprobs.size(), nll.size());
  for (std::size_t i = 0; i < nll.size(); ++i) EXPECT_NEAR(-logprobs[i], nll[i], 1e-4) << i;
  EXPECT_NEAR(reference::perplexity(logprobs), golden["perplexity"].get<double>(), 1e-4);
}

TEST(ReferenceModel, HasTheRecordedPerplexityOfRealModels) {
  TANDEM_REQUIRE_FILE(test::shared_models() / "golden.json");
  const json models = json::parse(test::read_text(test::shared_models() / "golden.json"))["models"];
  for (const auto& [name, entry] : models.items()) {
    const auto path = test::shared_models() / (name + ".gguf");
    TANDEM_REQUIRE_FILE(path);
    const auto model = model::load_model(path);
    const auto ids = entry["ppl"]["ids"].get<std::vector<model::TokenId>>();
    const double recorded = entry["ref64"]["ppl"].get<double>();
    const double got = reference::perplexity(reference::log_probabilities(*model, ids));
    EXPECT_NEAR(got / recorded, 1.0, 1e-5) << name;
  }
}

class WeightType : public testing::TestWithParam<DType> {};

TEST_P(WeightType, HasThePerplexityOfTheReferenceOnTheSameWeights) {
  const ConvertedModel file([](const auto& tensor) {
    return fitting_type(GetParam(), DType::kF32, static_cast<std::int64_t>(tensor.dims[0]));
  });
  EngineRig rig(file.path());
  EXPECT_EQ(rig.model().config().quantization, dtype_name(GetParam()));
  const double expected =
      reference::perplexity(reference::log_probabilities(rig.model(), text_ids()));
  const double got = perplexity(engine_logprobs(rig, {}));
  RecordProperty("reference", std::to_string(expected));
  RecordProperty("engine", std::to_string(got));
  EXPECT_NEAR(got / expected, 1.0, 0.005) << got << " where " << expected << " is right";
}

INSTANTIATE_TEST_SUITE_P(EveryType, WeightType,
                         testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0,
                                         DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                                         DType::kIQ4_NL, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

TEST(QuantiseOnLoad, ComputesWithTheWeightsOfAConvertedFile) {
  for (const DType type : {DType::kQ4_K, DType::kQ5_0}) {
    const ConvertedModel file([&](const auto& tensor) {
      return fitting_type(type, tensor.dtype, static_cast<std::int64_t>(tensor.dims[0]));
    });
    EngineRig converted(file.path());
    EngineRig original(kDemoModel);
    const std::vector<float> expected = engine_logprobs(converted, {});
    EngineOptions options;
    options.weights.quantize = type;
    EXPECT_EQ(engine_logprobs(original, options), expected) << dtype_name(type);
    EXPECT_NE(engine_logprobs(original, {}), expected) << dtype_name(type);
  }
}

}  // namespace
}  // namespace tandem::engine
