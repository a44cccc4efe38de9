// SPDX-License-Identifier: Apache-2.0
//
// What every family takes from a file and what it refuses: each tensor and number missing,
// misshapen or hostile is named.
#include <gmock/gmock.h>

#include <cmath>

#include "model/families/family.h"
#include "model/loader/gguf/gguf_file.h"
#include "support/family_files.h"

namespace tandem::model {
namespace {

using test::family_file;
using test::FamilyFile;
using test::GgufWriter;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kVocab = 320;

// A file's family, with the bytes it lies in.
struct Read {
  explicit Read(const FamilyFile& description) : bytes(description.writer().bytes()) {
    file = std::make_unique<GgufFile>(std::as_bytes(std::span(bytes)), "test");
    weights = read_family(*file, kVocab);
  }
  std::string bytes;
  std::unique_ptr<GgufFile> file;
  FamilyWeights weights;
};

std::string family_error(const FamilyFile& description) {
  try {
    const Read read(description);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

class EveryFamily : public testing::TestWithParam<std::string> {
 protected:
  const FamilyFile file_ = family_file(GetParam());
};

TEST_P(EveryFamily, IsReadWhole) {
  const Read read(file_);
  EXPECT_EQ(read.weights.config.architecture, file_.architecture);
  ASSERT_EQ(read.weights.layers.size(), 2u);
  const LayerTensors& layer = read.weights.layers[1];
  EXPECT_EQ(layer.wq.rows, 32);
  EXPECT_EQ(layer.wk.rows, 16);
  EXPECT_EQ(layer.experts.size(), static_cast<std::size_t>(read.weights.config.experts.count));
}

TEST_P(EveryFamily, NamesEveryTensorThatIsMissing) {
  for (const auto& [name, dims] : file_.tensors) {
    FamilyFile file = file_;
    file.tensors.erase(name);
    EXPECT_THAT(family_error(file), HasSubstr("'" + name + "'"));
  }
}

TEST_P(EveryFamily, NamesEveryTensorOfAnotherShape) {
  for (const auto& [name, dims] : file_.tensors) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      FamilyFile file = file_;
      file.tensors[name][i] += 32;
      EXPECT_THAT(family_error(file), HasSubstr("'" + name + "'")) << "dimension " << i;
    }
  }
}

TEST_P(EveryFamily, RefusesATensorThatItDoesNotKnow) {
  FamilyFile file = file_;
  file.tensors["blk.1.attn_sinks.weight"] = {2};
  EXPECT_THAT(family_error(file), HasSubstr("'blk.1.attn_sinks.weight'"));
}

TEST_P(EveryFamily, NamesEveryNumberOutOfRange) {
  for (const auto& [key, number] : file_.numbers) {
    for (const std::uint32_t value : {0u, 0x7fffffffu, 0xffffffffu}) {
      if (key == "expert_count" && value == 0) continue;  // the family without experts
      if (key == "attention.sliding_window" && value == 0x7fffffffu) continue;
      FamilyFile file = file_;
      file.numbers[key] = value;
      const std::string error = family_error(file);
      EXPECT_THAT(error, HasSubstr("'" + file.architecture + "." + key + "'")) << value;
    }
  }
}

TEST_P(EveryFamily, NamesEveryNumberThatIsMissing) {
  for (const auto& [key, number] : file_.numbers) {
    if (key.starts_with("attention.") || key.starts_with("rope.") || key == "expert_count") {
      continue;  // has a default, or makes another family of it
    }
    FamilyFile file = file_;
    file.numbers.erase(key);
    EXPECT_THAT(family_error(file), HasSubstr("'" + file.architecture + "." + key + "'"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryFamily, testing::ValuesIn(test::kFamilyNames),
                         [](const auto& info) { return info.param; });

TEST(Families, RefuseMoreExpertsPerTokenThanThereAre) {
  FamilyFile file = family_file("qwen3moe");
  file.numbers["expert_used_count"] = 4;
  EXPECT_THAT(family_error(file), HasSubstr("'qwen3moe.expert_used_count'"));
  EXPECT_THAT(family_error(file), HasSubstr("4 of 3 experts"));
}

TEST(Families, RefuseCapsBelowNoneAndTakeZeroForNone) {
  FamilyFile file = family_file("gemma2");
  file.floats["attn_logit_softcapping"] = -1.0f;
  EXPECT_THAT(family_error(file), HasSubstr("'gemma2.attn_logit_softcapping'"));
  file.floats["attn_logit_softcapping"] = 0.0f;
  EXPECT_EQ(Read(file).weights.config.attention_softcap, 0.0f);
}

TEST(Families, NeedTheirWindow) {
  for (const char* name : {"gemma2", "gemma3"}) {
    FamilyFile file = family_file(name);
    file.numbers.erase("attention.sliding_window");
    EXPECT_THAT(family_error(file), HasSubstr(".attention.sliding_window'"));
  }
}

TEST(Families, GiveWindowsToTheLayersThatHaveThem) {
  EXPECT_THAT(Read(family_file("mistral")).weights.config.windows, ElementsAre(20, 20));
  EXPECT_THAT(Read(family_file("gemma2")).weights.config.windows, ElementsAre(20, 0));
  EXPECT_THAT(Read(family_file("gemma3")).weights.config.windows, ElementsAre(20, 20));
  EXPECT_TRUE(Read(family_file("qwen3")).weights.config.windows.empty());
  const ModelConfig gemma3 = Read(family_file("gemma3")).weights.config;
  EXPECT_FLOAT_EQ(gemma3.rope_of(0).inverse_frequencies[1], std::pow(10000.0f, -1.0f / 8));
  EXPECT_FLOAT_EQ(gemma3.rope.inverse_frequencies[1], std::pow(1000000.0f, -1.0f / 8));
}

TEST(Families, ScaleQueriesOfTheLargestGemmaByTheWidth) {
  const ModelConfig small = Read(family_file("gemma2")).weights.config;
  EXPECT_FLOAT_EQ(small.attention_scale, 1.0f / std::sqrt(16.0f));
  EXPECT_FLOAT_EQ(small.embedding_scale, std::sqrt(32.0f));
  FamilyFile file = family_file("gemma2");
  file.numbers["block_count"] = 46;
  file.numbers["attention.head_count"] = 1;  // so that width / heads is not head_dim
  const auto block = [](const std::string& name) { return name.substr(0, 6) == "blk.0."; };
  const auto tensors = file.tensors;
  for (const auto& [name, dims] : tensors) {
    auto narrow = dims;
    if (name.ends_with("attn_q.weight")) narrow[1] = 16;
    if (name.ends_with("attn_output.weight")) narrow[0] = 16;
    file.tensors[name] = narrow;
    for (int layer = 0; block(name) && layer < 46; ++layer) {
      file.tensors["blk." + std::to_string(layer) + name.substr(5)] = narrow;
    }
  }
  EXPECT_FLOAT_EQ(Read(file).weights.config.attention_scale, 1.0f / std::sqrt(32.0f));
}

TEST(Families, ChooseLongFactorsForLongContexts) {
  FamilyFile file = family_file("phi3");
  EXPECT_FLOAT_EQ(Read(file).weights.config.rope.magnitude, 1.0f);
  EXPECT_FLOAT_EQ(Read(file).weights.config.rope.inverse_frequencies[0], 0.5f);
  file.numbers["rope.scaling.original_context_length"] = 64;
  EXPECT_FLOAT_EQ(Read(file).weights.config.rope.inverse_frequencies[0], 1.0f);
  file.floats["rope.scaling.attn_factor"] = 1.25f;
  EXPECT_FLOAT_EQ(Read(file).weights.config.rope.magnitude, 1.25f);
}

TEST(Families, TakeWindowsOfLayersAsTheFileLists) {
  GgufWriter writer = family_file("gemma3").writer();
  writer.set_i32s("gemma3.attention.sliding_window_pattern", {0, 1});
  const std::string bytes = writer.bytes();
  const GgufFile file(std::as_bytes(std::span(bytes)), "test");
  EXPECT_THAT(read_family(file, kVocab).config.windows, ElementsAre(0, 20));
  GgufWriter period = family_file("gemma3").writer();
  period.set_u32("gemma3.attention.sliding_window_pattern", 2);
  const std::string every_other = period.bytes();
  const GgufFile alternating(std::as_bytes(std::span(every_other)), "test");
  EXPECT_THAT(read_family(alternating, kVocab).config.windows, ElementsAre(20, 0));
  GgufWriter longer = family_file("gemma3").writer();
  longer.set_i32s("gemma3.attention.sliding_window_pattern", {0, 1, 1});
  const std::string more = longer.bytes();
  const GgufFile wrong(std::as_bytes(std::span(more)), "test");
  EXPECT_THROW(read_family(wrong, kVocab), Error);
}

}  // namespace
}  // namespace tandem::model
