// SPDX-License-Identifier: Apache-2.0
//
// Reading of tokenizer.json.
#include "model/tokenizer/tokenizer_json.h"

#include <algorithm>

#include "common/error.h"
#include "model/loader/bounded_json.h"
#include "model/loader/printable.h"
#include "model/tokenizer/bpe_tokenizer.h"
#include "model/tokenizer/json_pipeline.h"
#include "model/tokenizer/normal_form.h"

namespace tandem::model {
namespace {

using nlohmann::json;

constexpr JsonLimits kLimits{
    .bytes = kMaxTokenizerBytes, .depth = 32, .values = std::size_t{1} << 20};
constexpr std::uint64_t kMostUnused = 65536;  // numbers without a token

class JsonTokenizerReader {
 public:
  JsonTokenizerReader(const HubTexts& texts, int vocab_size)
      : file_(texts.directory + "/tokenizer.json"), vocab_size_(vocab_size) {
    if (!texts.tokenizer) {
      throw Error("safetensors", file_ + ": is missing; other files of tokenizers are not read");
    }
    const auto take_token = [this](const std::string& text, const json& id) {
      if (id.is_array()) {  // of another model's list: named by check_model()
        is_list_ = true;
        return;
      }
      tokens_.emplace_back(text, id_of(id, "model.vocab['" + printable(text) + "']"));
    };
    const auto take_merge = [this](const std::string&, const json& merge) { read_merge(merge); };
    root_ = parse_json(*texts.tokenizer, file_, kLimits,
                       {{{"model", "vocab"}, take_token}, {{"model", "merges"}, take_merge}});
    const auto parse = [&](const std::optional<std::string>& text, const char* name) {
      return text ? parse_json(*text, texts.directory + name) : json();
    };
    config_ = parse(texts.config, "/config.json");
    generation_ = parse(texts.generation_config, "/generation_config.json");
    tokenizer_config_ = parse(texts.tokenizer_config, "/tokenizer_config.json");
  }

  std::unique_ptr<Tokenizer> read() {
    check_model();
    const JsonPipeline pipeline = read_json_pipeline(root_, file_);
    read_vocabulary(pipeline);
    read_roles(pipeline);
    MergeList merges = resolve_merges();
    if (!pipeline.is_byte_level) {
      if (model_flag("ignore_merges")) {
        fail("model.ignore_merges", "true is supported with ByteLevel only");
      }
      return std::make_unique<SpmTokenizer>(SpmSpec{.vocabulary = std::move(vocabulary_),
                                                    .merges = std::move(merges),
                                                    .prefix = pipeline.prefix,
                                                    .fuses_unknown = model_flag("fuse_unk"),
                                                    .splits_words = pipeline.splits_words});
    }
    if (pipeline.composes_characters && !can_compose()) {
      fail("normalizer", "NFC needs libutf8proc; install libutf8proc-dev and build again");
    }
    return std::make_unique<BpeTokenizer>(
        BpeSpec{.vocabulary = std::move(vocabulary_),
                .merges = std::move(merges),
                .pre_tokenizer = PreTokenizer(pipeline.splits),
                .takes_whole_words = model_flag("ignore_merges"),
                .prefixes_space = pipeline.prefixes_space,
                .composes_characters = pipeline.composes_characters});
  }

 private:
  struct TextMerge {
    std::string left, right;
  };

  [[noreturn]] void fail(const std::string& field, const std::string& what) const {
    throw Error("safetensors", file_ + ": field '" + field + "': " + what);
  }

  TokenId id_of(const json& id, const std::string& field) const {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kMaxTokens) {
      fail(field, printable_json(id) + " is not a token's number");
    }
    return static_cast<TokenId>(id.get<std::uint64_t>());
  }

  // "left right", or ["left", "right"].
  void read_merge(const json& merge) {
    const std::string field = "model.merges[" + std::to_string(merges_.size()) + "]";
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      merges_.push_back({merge[0].get<std::string>(), merge[1].get<std::string>()});
      return;
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : std::string();
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      fail(field, "must be two parts with a space between them, or a pair");
    }
    merges_.push_back({text.substr(0, space), text.substr(space + 1)});
  }

  bool model_flag(const char* field) const {
    const json& value = json_member(json_member(root_, "model"), field);
    if (value.is_null()) return false;
    if (!value.is_boolean()) fail(std::string("model.") + field, "must be true or false");
    return value.get<bool>();
  }

  void check_model() const {
    const json& model = json_member(root_, "model");
    if (!model.is_object()) fail("model", "must be an object");
    const json& type = json_member(model, "type");
    // Files of the library's first versions do not say; their vocabulary is an object.
    if (!type.is_null() && type != "BPE") {
      fail("model.type", printable_json(type) + " is not supported; supported: BPE");
    }
    if (is_list_) {
      fail("model.type", "is missing, and the vocabulary is a list as of Unigram; supported: BPE");
    }
    if (tokens_.empty()) fail("model.vocab", "must be an object that is not empty");
    for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      const json& value = json_member(model, field);
      if (!value.is_null() && value != "") {
        fail(std::string("model.") + field, printable_json(value) + " is not supported");
      }
    }
    const json& dropout = json_member(model, "dropout");
    if (!dropout.is_null() && dropout != 0.0) fail("model.dropout", "is not supported");
  }

  // Ids may have only a few gaps: a large id must not make a large vocabulary.
  void make_room() {
    std::uint64_t size = 0;
    for (const auto& [text, id] : tokens_) size = std::max(size, std::uint64_t(id) + 1);
    const json& added = json_member(root_, "added_tokens");
    if (vocab_size_ > 0 && size > static_cast<std::uint64_t>(vocab_size_)) {
      fail("model.vocab", "token " + std::to_string(size - 1) + " has no row in the embedding of " +
                              std::to_string(vocab_size_));
    }
    if (size > 2 * tokens_.size() + kMostUnused) {
      fail("model.vocab", "token " + std::to_string(size - 1) + " is far above the number of " +
                              std::to_string(tokens_.size()) + " tokens");
    }
    const std::uint64_t most = size + kMostUnused;
    for (std::size_t at = 0; at < added.size(); ++at) {
      const std::string field = "added_tokens[" + std::to_string(at) + "].id";
      const auto id = static_cast<std::uint64_t>(id_of(json_member(added[at], "id"), field));
      if (id >= most) fail(field, std::to_string(id) + " is far above the vocabulary's numbers");
      size = std::max(size, id + 1);
    }
    if (vocab_size_ > 0 && static_cast<std::uint64_t>(vocab_size_) > 2 * size + kMostUnused) {
      fail("model.vocab", "has " + std::to_string(tokens_.size()) + " tokens, far fewer than the " +
                              std::to_string(vocab_size_) + " rows of the embedding");
    }
    if (vocab_size_ > 0) size = static_cast<std::uint64_t>(vocab_size_);
    for (std::uint64_t id = 0; id < size; ++id) {
      vocabulary_.texts.push_back("[PAD" + std::to_string(id) + "]");
    }
    vocabulary_.kinds.assign(size, TokenKind::kUnused);
    vocabulary_.ends_generation.assign(size, false);
  }

  void read_vocabulary(const JsonPipeline& pipeline) {
    if (const json& added = json_member(root_, "added_tokens");
        !added.is_null() && !added.is_array()) {
      fail("added_tokens", "must be an array");
    }
    make_room();
    const bool has_bytes = model_flag("byte_fallback") && !pipeline.is_byte_level;
    for (auto& [text, id] : tokens_) {
      const auto index = static_cast<std::size_t>(id);
      if (vocabulary_.kinds[index] != TokenKind::kUnused) {
        fail("model.vocab", "two tokens have the number " + std::to_string(id));
      }
      const bool is_byte = has_bytes && SpmTokenizer::byte_of(text) >= 0;
      vocabulary_.kinds[index] = is_byte ? TokenKind::kByte : TokenKind::kNormal;
      vocabulary_.texts[index] = text;
      if (!ids_.emplace(std::move(text), id).second) {
        fail("model.vocab", "a token occurs twice");
      }
    }
    const json& added = json_member(root_, "added_tokens");
    for (std::size_t at = 0; at < added.size(); ++at) add_token(added[at], at);
    read_unknown();
    mark_known_ends(vocabulary_);
  }

  void add_token(const json& token, std::size_t at) {
    const std::string field = "added_tokens[" + std::to_string(at) + "].";
    const auto flag = [&](const char* name) {
      const json& value = json_member(token, name);
      if (!value.is_null() && !value.is_boolean()) fail(field + name, "must be true or false");
      return value.is_boolean() && value.get<bool>();
    };
    const json& content = json_member(token, "content");
    if (!content.is_string()) fail(field + "content", "must be a string");
    if (flag("single_word")) fail(field + "single_word", "true is not supported");
    // Without a normalizer it changes nothing.
    if (flag("normalized") && !json_member(root_, "normalizer").is_null()) {
      fail(field + "normalized", "true is not supported beside a normalizer");
    }
    const TokenId id = id_of(json_member(token, "id"), field + "id");
    if (id >= vocabulary_.size()) return;  // has no row in the embedding
    const auto index = static_cast<std::size_t>(id);
    vocabulary_.texts[index] = content.get<std::string>();
    vocabulary_.kinds[index] = flag("special") ? TokenKind::kControl : TokenKind::kUserDefined;
    ids_.emplace(vocabulary_.texts[index], id);
    const SwallowedBlanks swallows{flag("lstrip"), flag("rstrip")};
    if (swallows.before || swallows.behind) vocabulary_.swallows[id] = swallows;
  }

  void read_unknown() {
    const json& unknown = json_member(json_member(root_, "model"), "unk_token");
    if (unknown.is_null()) return;
    if (!unknown.is_string()) fail("model.unk_token", "must be a string");
    vocabulary_.unknown = find(unknown.get_ref<const std::string&>());
    if (vocabulary_.unknown == kNoToken) {
      fail("model.unk_token", printable_json(unknown) + " is not in the vocabulary");
    }
    vocabulary_.kinds[static_cast<std::size_t>(vocabulary_.unknown)] = TokenKind::kUnknown;
  }

  TokenId find(const std::string& text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? kNoToken : found->second;
  }

  // BOS or EOS as tokenizer_config.json names it: a text, or an object that holds one.
  TokenId named_token(const char* field) const {
    const json* text = &json_member(tokenizer_config_, field);
    if (text->is_object()) text = &json_member(*text, "content");
    return text->is_string() ? find(text->get_ref<const std::string&>()) : kNoToken;
  }

  // The ids of a field that holds one or several. Those outside the vocabulary are never generated.
  std::vector<TokenId> listed_tokens(const json& object, const char* field) const {
    const json& value = json_member(object, field);
    std::vector<TokenId> ids;
    const auto add = [&](const json& id) {
      if (id.is_number_unsigned() &&
          id.get<std::uint64_t>() < static_cast<std::uint64_t>(vocabulary_.size())) {
        ids.push_back(id.get<TokenId>());
      }
    };
    if (value.is_array()) {
      for (const json& id : value) add(id);
    } else {
      add(value);
    }
    return ids;
  }

  void read_roles(const JsonPipeline& pipeline) {
    vocabulary_.bos = named_token("bos_token");
    vocabulary_.eos = named_token("eos_token");
    const json* const sources[] = {&generation_, &config_, &json_member(config_, "text_config")};
    for (const json* object : sources) {
      const auto ends = listed_tokens(*object, "eos_token_id");
      for (const TokenId id : ends)
        vocabulary_.ends_generation[static_cast<std::size_t>(id)] = true;
      if (vocabulary_.eos == kNoToken && !ends.empty()) vocabulary_.eos = ends[0];
      const auto begins = listed_tokens(*object, "bos_token_id");
      // A tokenizer_config.json that names none means it.
      if (tokenizer_config_.is_null() && vocabulary_.bos == kNoToken && !begins.empty()) {
        vocabulary_.bos = begins[0];
      }
    }
    read_template(pipeline.before, "BOS", vocabulary_.bos, vocabulary_.adds_bos);
    read_template(pipeline.behind, "EOS", vocabulary_.eos, vocabulary_.adds_eos);
    read_choice("add_bos_token", vocabulary_.adds_bos);
    read_choice("add_eos_token", vocabulary_.adds_eos);
    if (vocabulary_.eos != kNoToken) {
      vocabulary_.ends_generation[static_cast<std::size_t>(vocabulary_.eos)] = true;
    }
  }

  // The special tokens that the post_processor puts on one side of every text.
  void read_template(const std::vector<std::string>& tokens, const char* role, TokenId& token,
                     bool& is_added) const {
    if (tokens.empty()) return;
    const TokenId id = find(tokens[0]);
    if (tokens.size() > 1 || id == kNoToken || (token != kNoToken && token != id)) {
      fail("post_processor", "'" + printable(tokens[0]) + "' must be one token, the " + role);
    }
    token = id;
    is_added = true;
  }

  // tokenizer_config.json overrides the other files.
  void read_choice(const char* field, bool& is_added) const {
    const json& value = json_member(tokenizer_config_, field);
    if (value.is_boolean()) is_added = value.get<bool>();
  }

  MergeList resolve_merges() {
    MergeList merges;
    merges.reserve(merges_.size());
    for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
      const TextMerge& merge = merges_[rank];
      const TokenId left = find(merge.left), right = find(merge.right),
                    whole = find(merge.left + merge.right);
      if (left == kNoToken || right == kNoToken || whole == kNoToken || merge.left.empty() ||
          merge.right.empty()) {
        fail("model.merges[" + std::to_string(rank) + "]",
             "names a token that is not in the vocabulary");
      }
      merges.add(left, right, whole);
    }
    return merges;
  }

  std::string file_;
  int vocab_size_;
  bool is_list_ = false;  // model.vocab holds pairs of texts and scores
  std::vector<std::pair<std::string, TokenId>> tokens_;  // of model.vocab
  std::vector<TextMerge> merges_;
  json root_, config_, generation_, tokenizer_config_;
  std::unordered_map<std::string, TokenId> ids_;
  Vocabulary vocabulary_;
};

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer_json(const HubTexts& texts, int vocab_size) {
  return JsonTokenizerReader(texts, vocab_size).read();
}

}  // namespace tandem::model
