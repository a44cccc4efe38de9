// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: a vocabulary and a text from hostile bytes. Whatever loads must encode any text to
// ids inside the vocabulary, which must decode.
//
// Input: the GGUF's length in four bytes, the GGUF, then the text; or 0xff, the number of a good
// vocabulary, and the text, so that texts are mutated often without breaking the vocabulary.
#include <cstdlib>
#include <cstring>

#include "common/error.h"
#include "model/tokenizer/read_tokenizer.h"
#include "support/fuzz_main.h"
#include "support/gguf_writer.h"

namespace tandem::test {
namespace {

std::string seed(const GgufWriter& writer, const std::string& text) {
  const std::string file = writer.bytes();
  const auto size = static_cast<std::uint32_t>(file.size());
  std::string out(4, '\0');
  std::memcpy(out.data(), &size, 4);
  return out + file + text;
}

GgufWriter byte_level(const char* pre) {
  GgufWriter writer;
  std::vector<std::string> tokens;
  for (char letter = '!'; letter <= '~'; ++letter) tokens.emplace_back(1, letter);
  tokens.insert(tokens.end(), {"\xc4\xa0", "\xc4\x8a", "th", "the", "\xc4\xa0the", "<|end|>"});
  std::vector<std::int32_t> kinds(tokens.size(), 1);
  kinds.back() = 3;
  writer.set_string("tokenizer.ggml.model", "gpt2");
  writer.set_string("tokenizer.ggml.pre", pre);
  writer.set_strings("tokenizer.ggml.tokens", tokens);
  writer.set_i32s("tokenizer.ggml.token_type", kinds);
  writer.set_strings("tokenizer.ggml.merges", {"t h", "th e", "\xc4\xa0 the"});
  return writer;
}

const char* const kText = "the <|end|>Then 123456 \xf0\x9f\x98\x80\n\n don't \xff\xc3 \xe2\x96\x81";
constexpr const char* kPreTokenizers[] = {"gpt-2",  "llama-bpe",      "qwen2",
                                          "falcon", "deepseek-coder", "smollm"};

std::vector<GgufWriter> good_vocabularies() {
  std::vector<GgufWriter> all(1);
  set_test_vocabulary(all[0], 320);
  for (const char* pre : kPreTokenizers) all.push_back(byte_level(pre));
  return all;
}

}  // namespace

void add_fuzz_seeds(std::vector<std::string>& seeds) {
  char number = 0;
  for (const GgufWriter& writer : good_vocabularies()) {
    seeds.push_back(seed(writer, kText));
    seeds.push_back(std::string("\xff") + number++ + kText);
  }
}

const model::Tokenizer& good_tokenizer(std::size_t number) {
  static const auto kAll = [] {
    std::vector<std::unique_ptr<model::Tokenizer>> all;
    for (const GgufWriter& writer : good_vocabularies()) {
      const std::string bytes = writer.bytes();
      all.push_back(model::read_tokenizer(
          model::GgufFile(std::as_bytes(std::span(bytes.data(), bytes.size())), "good")));
    }
    return all;
  }();
  return *kAll[number % kAll.size()];
}

}  // namespace tandem::test

namespace {

void encode_and_decode(const tandem::model::Tokenizer& tokenizer, std::string_view text) {
  for (const bool special : {false, true}) {
    const auto ids = tokenizer.encode(text, {.add_special = special, .parse_special = special});
    for (const tandem::model::TokenId id : ids) {
      if (id < 0 || id >= tokenizer.vocab_size()) std::abort();
    }
    tandem::model::decode(tokenizer, ids);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size >= 2 && data[0] == 0xff) {
    encode_and_decode(tandem::test::good_tokenizer(data[1]), input.substr(2));
    return 0;
  }
  std::uint32_t file_size = 0;
  if (size < 4) return 0;
  std::memcpy(&file_size, data, 4);
  if (file_size > size - 4) return 0;
  try {
    const tandem::model::GgufFile file(std::as_bytes(std::span(data + 4, file_size)), "fuzz");
    encode_and_decode(*tandem::model::read_tokenizer(file), input.substr(4 + file_size));
  } catch (const tandem::Error&) {
  }
  return 0;
}
