// SPDX-License-Identifier: Apache-2.0
//
// Pre-tokenizer expressions and their matching by PCRE2 (UTF, Unicode properties, JIT).
#define PCRE2_CODE_UNIT_WIDTH 8
#include "model/tokenizer/pre_tokenizer.h"

#include <pcre2.h>

#include <algorithm>

#include "common/error.h"
#include "common/utf8.h"
#include "model/tokenizer/oniguruma_expression.h"

namespace tandem::model {
namespace {

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

// \C would cut characters in two.
constexpr std::uint32_t kCompileOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;

Code compile(std::string_view expression, std::uint32_t options) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                          options, &error, &offset, nullptr));
  if (!code) throw Error("tokenizer", "pre-tokenizer expression: " + message_of(error));
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // without JIT it is slower, not wrong
  return code;
}

// A part of the text that an expression matched, or a gap.
struct Piece {
  std::string_view text;
  bool is_match = false;
};

// One pass of one expression over valid UTF-8.
class Cutter {
 public:
  // `budget`: steps left to all expressions together; null: those known are linear.
  Cutter(const pcre2_code* code, std::uint64_t* budget)
      : code_(code),
        match_(pcre2_match_data_create_from_pattern(code, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        budget_(budget) {
    if (!match_ || !context_) throw Error("tokenizer", "no memory for matching");
  }

  std::vector<Piece> cut(std::string_view text) {
    std::vector<Piece> pieces;
    std::size_t at = 0;
    while (at < text.size()) {
      if (!match(text, at)) {
        pieces.push_back({text.substr(at), false});
        break;
      }
      const PCRE2_SIZE* range = pcre2_get_ovector_pointer(match_.get());
      if (range[0] < at || range[1] <= range[0]) {
        throw Error("tokenizer", "a pre-tokenizer expression moves the start of its matches");
      }
      if (range[0] > at) pieces.push_back({text.substr(at, range[0] - at), false});
      pieces.push_back({text.substr(range[0], range[1] - range[0]), true});
      at = range[1];
    }
    return pieces;
  }

 private:
  // PCRE2 does not report the cost of a match, only that a limit was too low. So limits double, and
  // each limit that was too low is charged. A match within the first limit is free.
  bool match(std::string_view piece, std::size_t at) {
    constexpr std::uint32_t kFreeSteps = 4096;
    std::uint32_t limit = budget_ == nullptr ? UINT32_MAX : kFreeSteps;
    for (;;) {
      pcre2_set_match_limit(context_.get(), limit);
      const int result = match_within_limit(piece, at);
      if (result == PCRE2_ERROR_NOMATCH) return false;
      if (result >= 0) return true;
      if (result != PCRE2_ERROR_MATCHLIMIT || budget_ == nullptr || limit > *budget_ ||
          limit > UINT32_MAX / 2) {
        throw Error("tokenizer", "matching failed: " + message_of(result));
      }
      *budget_ -= limit;
      limit *= 2;
    }
  }

  int match_within_limit(std::string_view piece, std::size_t at) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
    constexpr std::uint32_t kOptions = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
    int result =
        pcre2_match(code_, subject, piece.size(), at, kOptions, match_.get(), context_.get());
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
      result = pcre2_match(code_, subject, piece.size(), at, kOptions | PCRE2_NO_JIT, match_.get(),
                           context_.get());
    }
    return result;
  }

  const pcre2_code* code_;
  std::unique_ptr<pcre2_match_data, FreeMatch> match_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;
  std::uint64_t* budget_;
};

// Two neighbours as one.
std::string_view joined(std::string_view left, std::string_view right) {
  return {left.data(), left.size() + right.size()};
}

// Appends what becomes of the pieces of one text.
void take_pieces(const std::vector<Piece>& pieces, SplitBehaviour behaviour,
                 std::vector<std::string_view>& words) {
  const std::size_t begin = words.size();
  bool before = false;  // whether the piece before was a match
  const auto merges = [&](const Piece& piece) {
    return behaviour == SplitBehaviour::kContiguous ? piece.is_match == before
                                                    : piece.is_match && !before;
  };
  if (behaviour == SplitBehaviour::kMergedWithNext) {
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      if (words.size() > begin && merges(*piece)) {
        words.back() = joined(piece->text, words.back());
      } else {
        words.push_back(piece->text);
      }
      before = piece->is_match;
    }
    std::reverse(words.begin() + static_cast<std::ptrdiff_t>(begin), words.end());
    return;
  }
  const bool may_merge =
      behaviour == SplitBehaviour::kMergedWithPrevious || behaviour == SplitBehaviour::kContiguous;
  for (const Piece& piece : pieces) {
    if (behaviour == SplitBehaviour::kRemoved && piece.is_match) continue;
    if (may_merge && words.size() > begin && merges(piece)) {
      words.back() = joined(words.back(), piece.text);
    } else {
      words.push_back(piece.text);
    }
    before = piece.is_match;
  }
}

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
  struct Step {
    Code code;
    SplitBehaviour behaviour = SplitBehaviour::kIsolated;
    bool is_inverted = false;
  };
  const Style* style = nullptr;  // null: of a model's own file
  std::vector<Step> steps;
};

PreTokenizer::PreTokenizer(std::string_view name) : impl_(std::make_unique<Impl>()) {
  impl_->style = find_style(name);
  if (impl_->style == nullptr) {
    throw Error("tokenizer",
                "unknown pre-tokenizer '" + std::string(name) + "'; known: " + known_names());
  }
  for (const char* expression : impl_->style->expressions) {
    impl_->steps.push_back({compile(expression, kCompileOptions)});
  }
}

PreTokenizer::PreTokenizer(const std::vector<Split>& splits) : impl_(std::make_unique<Impl>()) {
  constexpr std::size_t kMaxExpression = 16384, kMaxSplits = 32;
  if (splits.size() > kMaxSplits) {
    throw Error("tokenizer", "more than " + std::to_string(kMaxSplits) + " splits");
  }
  for (const Split& split : splits) {
    if (split.expression.empty() || split.expression.size() > kMaxExpression ||
        !is_valid_utf8(split.expression)) {
      throw Error("tokenizer", "a pre-tokenizer expression must have 1.." +
                                   std::to_string(kMaxExpression) + " bytes of UTF-8");
    }
    Code code = split.is_literal ? compile(split.expression, PCRE2_UTF | PCRE2_LITERAL)
                                 : compile(translated_expression(split.expression),
                                           kCompileOptions | PCRE2_MULTILINE);
    impl_->steps.push_back({std::move(code), split.behaviour, split.is_inverted});
  }
}

PreTokenizer::~PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;

bool PreTokenizer::ignores_merges() const {
  return impl_->style != nullptr && impl_->style->ignores_merges;
}
bool PreTokenizer::adds_bos_by_default() const {
  return impl_->style != nullptr && impl_->style->adds_bos;
}
bool PreTokenizer::is_known(std::string_view name) { return find_style(name) != nullptr; }

const char* PreTokenizer::gpt2_expression() { return kGpt2; }

std::string PreTokenizer::known_names() {
  std::string names;
  for (const Style& style : styles()) {
    names += names.empty() ? "" : ", ";
    names += style.name;
  }
  return names;
}

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  // Guards against expressions that backtrack without end.
  constexpr std::uint64_t kLeastSteps = 1'000'000, kStepsPerByte = 64;
  std::uint64_t budget = kLeastSteps + kStepsPerByte * text.size();
  std::vector<Cutter> cutters;
  for (const Impl::Step& step : impl_->steps) {
    cutters.emplace_back(step.code.get(), impl_->style != nullptr ? nullptr : &budget);
  }
  std::vector<std::string_view> words;
  for_each_run(text, [&](std::string_view run, bool valid) {
    if (!valid) {
      words.push_back(run);
      return;
    }
    std::vector<std::string_view> texts = {run}, next;
    for (std::size_t number = 0; number < cutters.size(); ++number) {
      const Impl::Step& step = impl_->steps[number];
      next.clear();
      for (const std::string_view one : texts) {
        std::vector<Piece> pieces = cutters[number].cut(one);
        for (Piece& piece : pieces) piece.is_match = piece.is_match != step.is_inverted;
        take_pieces(pieces, step.behaviour, next);
      }
      texts.swap(next);
    }
    words.insert(words.end(), texts.begin(), texts.end());
  });
  return words;
}

}  // namespace tandem::model
