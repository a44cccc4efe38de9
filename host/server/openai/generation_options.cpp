// SPDX-License-Identifier: Apache-2.0
//
// Ranges are OpenAI's for OpenAI's fields. top_k of -1 means "off", as in other servers.
#include "server/openai/generation_options.h"

#include <array>
#include <charconv>
#include <span>

#include "server/openai/api_error.h"

namespace tandem::server::openai {
namespace {

using json = nlohmann::ordered_json;

// Ignored: none of them changes the output.
constexpr std::array kIgnored = {
    "user",
    "metadata",
    "store",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "parallel_tool_calls",
};

bool is_empty_array(const json& value) { return value.is_array() && value.empty(); }
bool is_true(const json& value) { return value == json(true); }
bool is_false(const json& value) { return value == json(false); }
bool is_zero(const json& value) { return value == json(0); }
bool is_one(const json& value) { return value == json(1); }
bool is_empty_text(const json& value) { return value == json(""); }
bool is_no_tool(const json& value) { return value == json("none") || value == json("auto"); }
bool is_text_format(const json& value) { return value == json{{"type", "text"}}; }
bool is_text_modality(const json& value) { return value == json::array({"text"}); }

// Accepted only with the value that changes nothing.
struct NeutralField {
  const char* name;
  bool (*is_neutral)(const json&);
  const char* neutral;
};

constexpr std::array kNeutral = {
    NeutralField{"functions", is_empty_array, "[]"},
    NeutralField{"function_call", is_no_tool, "\"none\""},
    NeutralField{"response_format", is_text_format, "{\"type\": \"text\"}"},
    NeutralField{"modalities", is_text_modality, "[\"text\"]"},
    NeutralField{"suffix", is_empty_text, "\"\""},
    NeutralField{"min_tokens", is_zero, "0"},
    NeutralField{"use_beam_search", is_false, "false"},
    NeutralField{"length_penalty", is_one, "1"},
    NeutralField{"skip_special_tokens", is_true, "true"},
    NeutralField{"include_stop_str_in_output", is_false, "false"},
    NeutralField{"add_generation_prompt", is_true, "true"},
    NeutralField{"continue_final_message", is_false, "false"},
};

// Only chats have tools.
constexpr std::array kToolFields = {
    NeutralField{"tools", is_empty_array, "[]"},
    NeutralField{"tool_choice", is_no_tool, "\"none\""},
};

void read_neutral(FieldReader& fields, std::span<const NeutralField> list) {
  for (const NeutralField& field : list) {
    const json* value = fields.find(field.name);
    if (value == nullptr || field.is_neutral(*value)) continue;
    fail_field(fields.path(field.name), std::string("is not supported by this server; leave it "
                                                    "out or set it to ") +
                                            field.neutral);
  }
}

void read_neutral_fields(FieldReader& fields, int num_choices) {
  for (const char* name : kIgnored) fields.find(name);
  read_neutral(fields, kNeutral);
  const auto best_of = fields.integer("best_of", 1, 1 << 20);
  if (best_of && *best_of != 1 && *best_of != num_choices) {
    fail_field("best_of", "must be 1 or equal to 'n' (here " + std::to_string(num_choices) +
                              "): this server returns every choice that it generates");
  }
}

std::vector<std::string> read_stop(FieldReader& fields, const RequestLimits& limits) {
  std::vector<std::string> result;
  const json* stop = fields.find("stop");
  if (stop == nullptr) return result;
  const auto add = [&](const json& value, const std::string& path) {
    const std::string& text = string_value(value, path);
    if (text.empty()) fail_field(path, "must not be empty");
    if (text.size() > static_cast<std::size_t>(limits.max_stop_bytes)) {
      fail_field(path, "must have at most " + std::to_string(limits.max_stop_bytes) + " bytes");
    }
    result.push_back(text);
  };
  if (!stop->is_array()) {
    if (!stop->is_string()) fail_field("stop", "must be a string or an array of strings");
    add(*stop, "stop");
    return result;
  }
  check_count("stop", "texts", stop->size(), limits.max_stop_texts);
  for (std::size_t i = 0; i < stop->size(); ++i) {
    add((*stop)[i], indexed("stop", i));
  }
  return result;
}

std::vector<std::pair<TokenId, float>> read_logit_bias(FieldReader& fields,
                                                       const RequestContext& context) {
  std::vector<std::pair<TokenId, float>> result;
  const json* bias = fields.find("logit_bias");
  if (bias == nullptr) return result;
  object_value(*bias, "logit_bias");
  check_count("logit_bias", "tokens", bias->size(), context.limits.max_biases);
  for (const auto& [key, value] : bias->items()) {
    TokenId id = -1;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), id);
    const bool canonical = parsed.ec == std::errc() && std::to_string(id) == key;
    if (!canonical || id < 0 || id >= context.vocab_size) {
      fail_field("logit_bias", "has the key '" + key.substr(0, 40) +
                                   "'; keys must be token ids between 0 and " +
                                   std::to_string(context.vocab_size - 1));
    }
    const double amount = number_value(value, "logit_bias." + key, {-100, 100});
    result.emplace_back(id, static_cast<float>(amount));
  }
  return result;
}

Sampling read_sampling(FieldReader& fields, const RequestContext& context) {
  Sampling sampling;
  const auto read = [&](const char* name, float& to, NumberRange range) {
    if (const auto value = fields.number(name, range)) to = static_cast<float>(*value);
  };
  read("temperature", sampling.temperature, {0, 2});
  read("top_p", sampling.top_p, {0, 1});
  read("min_p", sampling.min_p, {0, 1});
  const NumberRange penalties = {0.01, 100};
  // Other servers call it repeat_penalty; where both are given, repetition_penalty counts.
  if (!context.strict) read("repeat_penalty", sampling.repetition_penalty, penalties);
  read("repetition_penalty", sampling.repetition_penalty, penalties);
  read("presence_penalty", sampling.presence_penalty, {-2, 2});
  read("frequency_penalty", sampling.frequency_penalty, {-2, 2});
  if (const auto top_k = fields.integer("top_k", -1, std::numeric_limits<int>::max())) {
    sampling.top_k = *top_k == -1 ? 0 : static_cast<int>(*top_k);
  }
  if (const auto seed = fields.integer("seed", std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max())) {
    sampling.seed = static_cast<std::uint64_t>(*seed);
  }
  sampling.logit_bias = read_logit_bias(fields, context);
  return sampling;
}

void read_stream(FieldReader& fields, const RequestContext& context, GenerationOptions& options) {
  options.stream = fields.boolean("stream").value_or(false);
  const json* value = fields.find("stream_options");
  if (value == nullptr) return;
  FieldReader stream_options(object_value(*value, "stream_options"), "stream_options.");
  if (!options.stream) fail_field("stream_options", "is only allowed together with stream: true");
  options.include_usage = stream_options.boolean("include_usage").value_or(false);
  stream_options.boolean("include_obfuscation");  // padding; there is none here
  stream_options.check_unread(options.unknown_fields(context.strict));
}

// The field of other servers counts before OpenAI's tier.
std::optional<int> read_priority(FieldReader& fields, bool strict) {
  constexpr int kTier = 10;
  const json* tier = fields.find("service_tier");
  if (tier != nullptr && !tier->is_string()) fail_field("service_tier", "must be a string");
  if (!strict) {
    if (const auto value = fields.integer("priority", -kWorstPriority, kWorstPriority)) {
      return static_cast<int>(*value);
    }
  }
  if (tier == nullptr) return std::nullopt;
  if (*tier == "priority") return -kTier;
  return *tier == "flex" ? std::optional(kTier) : std::nullopt;
}

// A request without a priority counts as 0.
void bound_priority(std::optional<int> asked, std::optional<int> best, GenerationOptions& options) {
  options.priority = std::max(asked.value_or(0), best.value_or(asked.value_or(0)));
  options.asked_better_priority = asked.has_value() && *asked < options.priority;
}

}  // namespace

void read_no_tools(FieldReader& fields) { read_neutral(fields, kToolFields); }

std::vector<TokenId> read_token_ids(const json& array, const std::string& path,
                                    const RequestContext& context) {
  if (!array.is_array()) fail_field(path, "must be an array of token ids");
  std::vector<TokenId> result;
  result.reserve(array.size());
  for (const json& value : array) {
    const bool valid = value.is_number_integer() && value >= 0 && value < context.vocab_size;
    if (!valid) {
      fail_field(indexed(path, result.size()),
                 "must be a token id between 0 and " + std::to_string(context.vocab_size - 1));
    }
    result.push_back(value.get<TokenId>());
  }
  return result;
}

GenerationOptions read_generation_options(FieldReader& fields, const RequestContext& context) {
  GenerationOptions options;
  options.sampling = read_sampling(fields, context);
  options.num_choices =
      static_cast<int>(fields.integer("n", 1, context.limits.max_choices).value_or(1));
  options.stop = read_stop(fields, context.limits);
  if (const json* ids = fields.find("stop_token_ids")) {
    const std::size_t count = ids->is_array() ? ids->size() : 0;
    check_count("stop_token_ids", "tokens", count, context.limits.max_stop_tokens);
    options.stop_tokens = read_token_ids(*ids, "stop_token_ids", context);
  }
  options.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  bound_priority(read_priority(fields, context.strict), context.limits.best_priority, options);
  read_stream(fields, context, options);
  read_neutral_fields(fields, options.num_choices);
  return options;
}

}  // namespace tandem::server::openai
