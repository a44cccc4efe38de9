// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: a tokenizer.json with what stands beside it, and a text, from hostile bytes.
// Whatever loads must encode any text to ids inside the vocabulary, which must decode.
//
// Input: the lengths of tokenizer.json and tokenizer_config.json in four bytes each, the two, then
// the text.
#include <cstdlib>
#include <cstring>

#include "common/error.h"
#include "model/tokenizer/tokenizer_json.h"
#include "support/fuzz_main.h"

namespace tandem::test {
namespace {

const char* const kText = "the <|end|> Then 12 \xf0\x9f\x98\x80\n\n don't \xff\xc3 e\xcc\x81";
const char* const kConfig =
    R"({"bos_token":"<s>","eos_token":{"content":"<|end|>"},"add_bos_token":true,)"
    R"("chat_template":[{"name":"default","template":"x"}]})";

std::string seed(const std::string& tokenizer) {
  const auto size = static_cast<std::uint32_t>(tokenizer.size()),
             config_size = static_cast<std::uint32_t>(std::strlen(kConfig));
  std::string out(8, '\0');
  std::memcpy(out.data(), &size, 4);
  std::memcpy(out.data() + 4, &config_size, 4);
  return out + tokenizer + kConfig + kText;
}

const char* const kAdded =
    R"("added_tokens":[{"id":0,"content":"<s>","special":true},)"
    R"({"id":9,"content":"<|end|>","special":true,"rstrip":true,"lstrip":true}],)";

std::string byte_level(const std::string& splits) {
  return std::string("{") + kAdded +
         R"("normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[)" +
         splits +
         R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":true}]},"decoder":{"type":)"
         R"("ByteLevel"},"model":{"type":"BPE","ignore_merges":true,"vocab":{"<s>":0,"t":1,"h":2,)"
         R"("e":3,"th":4,"the":5,"\u0120":6},"merges":["t h",["th","e"]]}})";
}

std::string spm(const std::string& around) {
  return std::string("{") + kAdded + around +
         R"(,"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}},)"
         R"({"Sequence":{"id":"A"}}]},"model":{"type":"BPE","byte_fallback":true,"fuse_unk":true,)"
         R"("unk_token":"<s>","vocab":{"<s>":0,"t":1,"h":2,"\u2581":3,"th":4,"\u2581th":5,)"
         R"("<0xFF>":6},"merges":["t h","\u2581 th"]}})";
}

}  // namespace

void add_fuzz_seeds(std::vector<std::string>& seeds) {
  seeds.push_back(seed(byte_level("")));
  seeds.push_back(seed(byte_level(
      R"({"type":"Split","pattern":{"Regex":"(?i:'s)|\\s+(?!\\S)|\\p{N}{1,3}|[^\\r\\n\\s]+"},)"
      R"("behavior":"Isolated","invert":false},)")));
  seeds.push_back(seed(byte_level(
      R"({"type":"Digits","individual_digits":true},{"type":"Split","pattern":{"String":","},)"
      R"("behavior":"MergedWithNext"},{"type":"Split","pattern":{"Regex":"a+"},"behavior":)"
      R"("Removed","invert":true},)")));
  seeds.push_back(seed(
      spm(R"("normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"\u2581"},)"
          R"({"type":"Replace","pattern":{"String":" "},"content":"\u2581"}]})")));
  seeds.push_back(seed(
      spm(R"("pre_tokenizer":{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"first",)"
          R"("split":true})")));
}

}  // namespace tandem::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tandem::model;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  std::uint32_t sizes[2];
  if (size < sizeof sizes) return 0;
  std::memcpy(sizes, data, sizeof sizes);
  input.remove_prefix(sizeof sizes);
  if (std::uint64_t{sizes[0]} + sizes[1] > input.size()) return 0;
  HubTexts texts;
  texts.directory = "fuzz";
  texts.tokenizer = input.substr(0, sizes[0]);
  texts.tokenizer_config = input.substr(sizes[0], sizes[1]);
  const std::string_view text = input.substr(sizes[0] + sizes[1]);
  try {
    hub_chat_template(texts);
  } catch (const tandem::Error&) {
  }
  for (const int vocab_size : {0, 16}) {
    try {
      const auto tokenizer = read_tokenizer_json(texts, vocab_size);
      const auto ids = tokenizer->encode(text, {.parse_special = vocab_size == 0});
      for (const TokenId id : ids) {
        if (id < 0 || id >= tokenizer->vocab_size()) std::abort();
      }
      decode(*tokenizer, ids);
    } catch (const tandem::Error&) {
    }
  }
  return 0;
}
