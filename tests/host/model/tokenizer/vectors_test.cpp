// SPDX-License-Identifier: Apache-2.0
//
// Published vocabularies with strings and the ids expected of them: every case must agree.
#include <gtest/gtest.h>

#include <sstream>

#include "host/model/shared_models.h"
#include "model/model.h"

namespace tandem::model {
namespace {

std::vector<std::string> read_inputs(const std::filesystem::path& path) {
  // Every string is followed by this, its own newlines included.
  constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
  const std::string text = test::read_text(path);
  std::vector<std::string> inputs;
  std::size_t at = 0;
  for (std::size_t end; (end = text.find(kSeparator, at)) != std::string::npos;) {
    inputs.push_back(text.substr(at, end - at));
    at = end + kSeparator.size();
  }
  if (at < text.size()) inputs.push_back(text.substr(at));
  return inputs;
}

std::vector<std::vector<TokenId>> read_ids(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::vector<TokenId>> all;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::vector<TokenId> ids;
    for (TokenId id; words >> id;) ids.push_back(id);
    all.push_back(ids);
  }
  return all;
}

class PublishedVectors : public testing::TestWithParam<const char*> {};

TEST_P(PublishedVectors, EncodeToTheExpectedIdsAndBack) {
  const std::string base = std::string("ggml-vocab-") + GetParam() + ".gguf";
  const auto path = test::shared_models() / "vocab" / base;
  TANDEM_REQUIRE_FILE(path);
  const auto tokenizer = load_tokenizer(path);
  const auto inputs = read_inputs(path.string() + ".inp");
  const auto expected = read_ids(path.string() + ".out");
  ASSERT_EQ(inputs.size(), expected.size());
  ASSERT_GE(inputs.size(), 40u);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto ids = tokenizer->encode(inputs[i], {.add_special = false});
    EXPECT_EQ(ids, expected[i]) << "case " << i << ": \"" << inputs[i] << '"';
    EXPECT_EQ(decode(*tokenizer, ids), inputs[i]) << "case " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, PublishedVectors,
                         testing::Values("llama-spm", "gpt-2", "falcon", "deepseek-coder"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace tandem::model
