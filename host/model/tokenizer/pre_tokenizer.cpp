// SPDX-License-Identifier: Apache-2.0
//
// Pre-tokenizer expressions and their matching by PCRE2 (UTF, Unicode properties, JIT).
//
// White space is spelt out as Unicode's White_Space property, because PCRE2's \s adds U+180E.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/pre_tokenizer.h"

#include <pcre2.h>

#include <algorithm>

#include "common/error.h"
#include "common/utf8.h"

namespace tandem::model {
namespace {

#define TANDEM_SPACE R"(\t-\r\x{85}\p{Z})"

constexpr const char* kGpt2 =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" TANDEM_SPACE "\\p{L}\\p{N}]+|[" TANDEM_SPACE
    "]+(?![^" TANDEM_SPACE "])|[" TANDEM_SPACE "]+";

#define TANDEM_CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define TANDEM_TAIL                                                                          \
  "| ?[^" TANDEM_SPACE "\\p{L}\\p{N}]+[\\r\\n]*|[" TANDEM_SPACE "]*[\\r\\n]+|[" TANDEM_SPACE \
  "]+(?![^" TANDEM_SPACE "])|[" TANDEM_SPACE "]+"

constexpr const char* kLlama3 =
    TANDEM_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}" TANDEM_TAIL;
constexpr const char* kQwen2 =
    TANDEM_CONTRACTION "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" TANDEM_TAIL;

struct Style {
  std::string_view name;
  std::vector<const char*> expressions;
  bool ignores_merges = false;
  bool adds_bos = false;
};

const std::vector<Style>& styles() {
  static const std::vector<Style> kStyles = {
      {"gpt-2", {kGpt2}},
      {"default", {kGpt2}},
      {"llama-bpe", {kLlama3}, true, true},
      {"llama3", {kLlama3}, true, true},
      {"llama-v3", {kLlama3}, true, true},
      {"qwen2", {kQwen2}},
      {"deepseek-r1-qwen", {kQwen2}},
      {"smollm", {"\\p{N}", kGpt2}},
      {"starcoder", {"\\p{N}", kGpt2}},
      {"refact", {"\\p{N}", kGpt2}},
      {"command-r", {"\\p{N}", kGpt2}},
      {"falcon", {"[\\p{P}\\$\\+<=>\\^~\\|`]+", kGpt2, "[0-9][0-9][0-9]"}},
      {"deepseek-coder",
       {"[\\r\\n]", "[" TANDEM_SPACE "]?\\p{L}+", "[" TANDEM_SPACE "]?\\p{P}+",
        "[\\x{4e00}-\\x{9fa5}\\x{0800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+", "\\p{N}"}},
  };
  return kStyles;
}

const Style* find_style(std::string_view name) {
  const auto found = std::find_if(styles().begin(), styles().end(),
                                  [&](const Style& style) { return style.name == name; });
  return found == styles().end() ? nullptr : &*found;
}

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

using Code = std::unique_ptr<pcre2_code, FreeCode>;

std::string message_of(int error) {
  PCRE2_UCHAR text[160] = {};
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

Code compile(const char* expression) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression), PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr));
  if (!code) throw Error("tokenizer", "pre-tokenizer expression: " + message_of(error));
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // without JIT it is slower, not wrong
  return code;
}

// One pass of one expression over valid UTF-8.
class Cutter {
 public:
  explicit Cutter(const pcre2_code* code)
      : code_(code),
        match_(pcre2_match_data_create_from_pattern(code, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    if (!match_ || !context_) throw Error("tokenizer", "no memory for matching");
    // Limits guard against expressions that backtrack without end; ours are linear.
    pcre2_set_match_limit(context_.get(), UINT32_MAX);
  }

  void cut(std::string_view piece, std::vector<std::string_view>& words) {
    std::size_t at = 0;
    while (at < piece.size()) {
      if (!match(piece, at)) {
        words.push_back(piece.substr(at));
        return;
      }
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match_.get());
      if (range[0] > at) words.push_back(piece.substr(at, range[0] - at));
      words.push_back(piece.substr(range[0], range[1] - range[0]));
      at = range[1];
    }
  }

 private:
  bool match(std::string_view piece, std::size_t at) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
    constexpr std::uint32_t kOptions = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    int result =
        pcre2_match(code_, subject, piece.size(), at, kOptions, match_.get(), context_.get());
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
      result = pcre2_match(code_, subject, piece.size(), at, kOptions | PCRE2_NO_JIT, match_.get(),
                           context_.get());
    }
    if (result == PCRE2_ERROR_NOMATCH) return false;
    if (result < 0) throw Error("tokenizer", "matching failed: " + message_of(result));
    return true;
  }

  const pcre2_code* code_;
  std::unique_ptr<pcre2_match_data, FreeMatch> match_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;
};

// Runs of valid UTF-8, and single bytes between them (valid = false).
template <typename Take>
void for_each_run(std::string_view text, const Take& take) {
  std::size_t begin = 0, at = 0;
  while (at < text.size()) {
    const Utf8Sequence sequence = next_utf8(text.substr(at));
    if (sequence.valid) {
      at += sequence.length;
      continue;
    }
    if (at > begin) take(text.substr(begin, at - begin), true);
    take(text.substr(at, 1), false);
    begin = ++at;
  }
  if (at > begin) take(text.substr(begin), true);
}

}  // namespace

struct PreTokenizer::Impl {
  const Style* style = nullptr;
  std::vector<Code> codes;
};

PreTokenizer::PreTokenizer(std::string_view name) : impl_(std::make_unique<Impl>()) {
  impl_->style = find_style(name);
  if (impl_->style == nullptr) {
    throw Error("tokenizer",
                "unknown pre-tokenizer '" + std::string(name) + "'; known: " + known_names());
  }
  for (const char* expression : impl_->style->expressions) {
    impl_->codes.push_back(compile(expression));
  }
}

PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;

bool PreTokenizer::ignores_merges() const { return impl_->style->ignores_merges; }
bool PreTokenizer::adds_bos_by_default() const { return impl_->style->adds_bos; }
bool PreTokenizer::is_known(std::string_view name) { return find_style(name) != nullptr; }

std::string PreTokenizer::known_names() {
  std::string names;
  for (const Style& style : styles()) {
    names += names.empty() ? "" : ", ";
    names += style.name;
  }
  return names;
}

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  std::vector<Cutter> cutters;
  for (const Code& code : impl_->codes) cutters.emplace_back(code.get());
  std::vector<std::string_view> words;
  for_each_run(text, [&](std::string_view run, bool valid) {
    if (!valid) {
      words.push_back(run);
      return;
    }
    std::vector<std::string_view> pieces = {run}, next;
    for (Cutter& cutter : cutters) {
      next.clear();
      for (const std::string_view piece : pieces) cutter.cut(piece, next);
      pieces.swap(next);
    }
    words.insert(words.end(), pieces.begin(), pieces.end());
  });
  return words;
}

}  // namespace tandem::model
