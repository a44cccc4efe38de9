// SPDX-License-Identifier: Apache-2.0
//
// Reading of the steps around a tokenizer.json's model.
#include "model/tokenizer/json_pipeline.h"

#include <algorithm>

#include "common/error.h"
#include "model/loader/bounded_json.h"

namespace tandem::model {
namespace {

using nlohmann::json;

constexpr const char* kMetaspace = "\xe2\x96\x81";  // U+2581

// One step and its place in the file.
struct Step {
  const json* value;
  std::string path;
};

class PipelineReader {
 public:
  PipelineReader(const json& root, const std::string& file) : root_(root), file_(file) {}

  JsonPipeline read() {
    for (const Step& step : steps("normalizer", "normalizers")) read_normalizer(step);
    for (const Step& step : steps("pre_tokenizer", "pretokenizers")) read_pre_tokenizer(step);
    check_kind();
    for (const Step& step : steps("post_processor", "processors")) read_post_processor(step);
    for (const Step& step : steps("decoder", "decoders")) check_decoder(step);
    return std::move(pipeline_);
  }

 private:
  [[noreturn]] void fail(const std::string& path, const std::string& what) const {
    throw Error("safetensors", file_ + ": field '" + path + "': " + what);
  }

  [[noreturn]] void refuse(const Step& step, const char* field, const char* supported) const {
    fail(step.path + '.' + field, printable_json(json_member(*step.value, field)) +
                                      " is not supported; supported: " + supported);
  }

  std::string type(const Step& step) const {
    const json& type = json_member(*step.value, "type");
    if (!type.is_string()) fail(step.path, "must be an object with a 'type'");
    return type.get<std::string>();
  }

  // A sequence's steps, or the one there is.
  std::vector<Step> steps(const char* field, const char* list) const {
    std::vector<Step> all;
    if (const json& value = json_member(root_, field); !value.is_null()) {
      append_steps({&value, field}, list, all);
    }
    return all;
  }

  void append_steps(const Step& step, const char* list, std::vector<Step>& all) const {
    if (type(step) != "Sequence") {
      all.push_back(step);
      return;
    }
    const std::string path = step.path + '.' + list;
    const json& members = json_member(*step.value, list);
    if (!members.is_array()) fail(path, "must be an array");
    for (std::size_t number = 0; number < members.size(); ++number) {
      append_steps({&members[number], path + '[' + std::to_string(number) + ']'}, list, all);
    }
  }

  bool flag(const Step& step, const char* field, bool fallback) const {
    const json& value = json_member(*step.value, field);
    if (value.is_null()) return fallback;
    if (!value.is_boolean()) fail(step.path + '.' + field, "must be true or false");
    return value.get<bool>();
  }

  void read_normalizer(const Step& step) {
    const std::string kind = type(step);
    if (kind == "NFC") {
      pipeline_.composes_characters = true;
    } else if (kind == "Prepend") {
      if (json_member(*step.value, "prepend") != kMetaspace || replaces_) {
        refuse(step, "prepend", "U+2581, before spaces are replaced by it");
      }
      pipeline_.prefix = SpacePrefix::kOpening;
    } else if (kind == "Replace") {
      if (json_member(json_member(*step.value, "pattern"), "String") != " ") {
        refuse(step, "pattern", "the string ' '");
      }
      if (json_member(*step.value, "content") != kMetaspace) refuse(step, "content", "U+2581");
      replaces_ = true;
    } else {
      refuse(step, "type", "NFC, Prepend, Replace");
    }
  }

  void read_pre_tokenizer(const Step& step) {
    const std::string kind = type(step);
    if (pipeline_.is_byte_level) fail(step.path, "no step may follow ByteLevel");
    if (kind == "ByteLevel") {
      read_byte_level(step);
    } else if (kind == "Split") {
      read_split(step);
    } else if (kind == "Digits") {
      const bool is_single = flag(step, "individual_digits", false);
      pipeline_.splits.push_back({.expression = is_single ? "\\p{N}" : "\\p{N}+"});
    } else if (kind == "Metaspace") {
      read_metaspace(step);
    } else {
      refuse(step, "type", "ByteLevel, Digits, Metaspace, Split");
    }
  }

  void read_byte_level(const Step& step) {
    pipeline_.is_byte_level = true;
    pipeline_.prefixes_space = flag(step, "add_prefix_space", true);
    if (pipeline_.prefixes_space && !pipeline_.splits.empty()) {
      refuse(step, "add_prefix_space", "false after other steps");
    }
    if (flag(step, "use_regex", true)) {
      pipeline_.splits.push_back({.expression = PreTokenizer::gpt2_expression()});
    }
  }

  void read_split(const Step& step) {
    static const std::pair<const char*, SplitBehaviour> kBehaviours[] = {
        {"Isolated", SplitBehaviour::kIsolated},
        {"Removed", SplitBehaviour::kRemoved},
        {"MergedWithPrevious", SplitBehaviour::kMergedWithPrevious},
        {"MergedWithNext", SplitBehaviour::kMergedWithNext},
        {"Contiguous", SplitBehaviour::kContiguous}};
    Split split;
    const json& pattern = json_member(*step.value, "pattern");
    const json& regex = json_member(pattern, "Regex");
    const json& literal = json_member(pattern, "String");
    if (!regex.is_string() && !literal.is_string()) {
      fail(step.path + ".pattern", "must hold a Regex or a String");
    }
    split.is_literal = !regex.is_string();
    split.expression = (split.is_literal ? literal : regex).get<std::string>();
    const json& behaviour = json_member(*step.value, "behavior");
    const auto* found = std::ranges::find_if(
        kBehaviours, [&](const auto& known) { return behaviour == known.first; });
    if (found == std::end(kBehaviours)) {
      refuse(step, "behavior", "Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous");
    }
    split.behaviour = found->second;
    split.is_inverted = flag(step, "invert", false);
    // Gemma's split at spaces, of which the normalizer has left none.
    if (replaces_ && split.is_literal && split.expression == " ") return;
    try {
      PreTokenizer({split});
    } catch (const Error& error) {
      fail(step.path + ".pattern", error.what());
    }
    pipeline_.splits.push_back(std::move(split));
  }

  void read_metaspace(const Step& step) {
    if (json_member(*step.value, "replacement") != kMetaspace)
      refuse(step, "replacement", "U+2581");
    if (replaces_ || pipeline_.prefix != SpacePrefix::kNone) {
      fail(step.path, "spaces are replaced already");
    }
    replaces_ = true;
    pipeline_.splits_words = flag(step, "split", true);
    const json& scheme = json_member(*step.value, "prepend_scheme");
    if (scheme == "never" || !flag(step, "add_prefix_space", true)) return;
    if (!scheme.is_null() && scheme != "always" && scheme != "first") {
      refuse(step, "prepend_scheme", "always, first, never");
    }
    pipeline_.prefix = scheme == "first" ? SpacePrefix::kFirstBare : SpacePrefix::kOpeningBare;
  }

  void check_kind() const {
    if (pipeline_.is_byte_level && (replaces_ || pipeline_.prefix != SpacePrefix::kNone)) {
      fail("normalizer", "Prepend and Replace are not supported with ByteLevel");
    }
    if (pipeline_.is_byte_level) return;
    if (!replaces_) {
      fail("pre_tokenizer",
           "must be ByteLevel or Metaspace where the normalizer does not replace spaces");
    }
    if (!pipeline_.splits.empty()) fail("pre_tokenizer", "Split is supported with ByteLevel only");
    if (pipeline_.composes_characters) {
      fail("normalizer", "NFC is supported with ByteLevel only");
    }
  }

  void read_post_processor(const Step& step) {
    const std::string kind = type(step);
    if (kind == "ByteLevel") return;  // concerns offsets only
    if (kind != "TemplateProcessing") refuse(step, "type", "ByteLevel, TemplateProcessing");
    const json& single = json_member(*step.value, "single");
    const std::string path = step.path + ".single";
    if (!single.is_array()) fail(path, "must be an array");
    bool has_text = false;
    for (const json& piece : single) {
      const json& token = json_member(json_member(piece, "SpecialToken"), "id");
      if (token.is_string()) {
        (has_text ? pipeline_.behind : pipeline_.before).push_back(token.get<std::string>());
      } else if (json_member(piece, "Sequence").is_object() && !has_text) {
        has_text = true;
      } else {
        fail(path, "must be special tokens around one Sequence");
      }
    }
  }

  // Decoding follows from the kind; a decoder of another kind would be left out silently.
  void check_decoder(const Step& step) const {
    static constexpr std::string_view kSpm[] = {"Replace", "ByteFallback", "Fuse", "Strip",
                                                "Metaspace"};
    const std::string kind = type(step);
    const bool is_known =
        pipeline_.is_byte_level ? kind == "ByteLevel" : std::ranges::count(kSpm, kind) > 0;
    if (!is_known) {
      refuse(
          step, "type",
          pipeline_.is_byte_level ? "ByteLevel" : "Replace, ByteFallback, Fuse, Strip, Metaspace");
    }
  }

  const json& root_;
  const std::string& file_;
  JsonPipeline pipeline_;
  bool replaces_ = false;
};

}  // namespace

JsonPipeline read_json_pipeline(const json& root, const std::string& file) {
  return PipelineReader(root, file).read();
}

}  // namespace tandem::model
