// SPDX-License-Identifier: Apache-2.0
//
// Translation of config.json.
#include "model/loader/hub/config.h"

#include <algorithm>
#include <cmath>

#include "model/loader/bounded_json.h"
#include "model/loader/hub/rope.h"

namespace tandem::model {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxHubLayers = 4096;  // what families accept

struct Architecture {
  std::string_view hub, gguf;
};

constexpr Architecture kArchitectures[] = {
    {"LlamaForCausalLM", "llama"},       {"MistralForCausalLM", "llama"},
    {"MixtralForCausalLM", "llama"},     {"Qwen2ForCausalLM", "qwen2"},
    {"Qwen3ForCausalLM", "qwen3"},       {"Qwen2MoeForCausalLM", "qwen2moe"},
    {"Qwen3MoeForCausalLM", "qwen3moe"}, {"Gemma2ForCausalLM", "gemma2"},
    {"Gemma3ForCausalLM", "gemma3"},     {"Gemma3ForConditionalGeneration", "gemma3"},
    {"Phi3ForCausalLM", "phi3"},
};

struct Rule {
  const char* key;
  std::vector<const char*> fields;  // the last that is there
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"block_count", {"num_hidden_layers"}},
      {"context_length", {"max_position_embeddings"}},
      {"embedding_length", {"hidden_size"}},
      {"feed_forward_length", {"intermediate_size"}},
      {"attention.head_count", {"num_attention_heads"}},
      {"attention.head_count_kv", {"num_key_value_heads"}},
      {"attention.key_length", {"head_dim"}},
      {"attention.value_length", {"head_dim"}},
      {"attention.layer_norm_rms_epsilon", {"rms_norm_eps"}},
      {"vocab_size", {"vocab_size"}},
      {"attn_logit_softcapping", {"attn_logit_softcapping"}},
      {"final_logit_softcapping", {"final_logit_softcapping"}},
  };
  return kRules;
}

// Rules of classes with experts; other classes ignore these fields.
const std::vector<Rule>& expert_rules() {
  static const std::vector<Rule> kRules = {
      {"expert_count", {"num_local_experts", "num_experts"}},
      {"expert_used_count", {"num_experts_per_tok"}},
      {"expert_feed_forward_length", {"moe_intermediate_size"}},
      {"expert_shared_feed_forward_length", {"shared_expert_intermediate_size"}},
      {"expert_weights_norm", {"norm_topk_prob"}},
  };
  return kRules;
}

json qwen_defaults(std::string_view hub) {
  json defaults = {{"rms_norm_eps", 1e-6}, {"sliding_window", 4096}};
  const bool has_experts = hub.ends_with("MoeForCausalLM");
  if (has_experts) defaults["norm_topk_prob"] = false;
  if (hub == "Qwen3ForCausalLM") defaults["head_dim"] = 128;
  if (hub != "Qwen3MoeForCausalLM") defaults["max_window_layers"] = 28;
  return defaults;
}

// The defaults of Transformers' classes: published files omit fields of nested configurations that
// equal them.
json class_defaults(std::string_view hub) {
  if (hub.starts_with("Qwen")) return qwen_defaults(hub);
  if (hub.starts_with("Gemma2")) {
    return {{"head_dim", 256},
            {"query_pre_attn_scalar", 256},
            {"attn_logit_softcapping", 50.0},
            {"final_logit_softcapping", 30.0},
            {"sliding_window", 4096},
            {"rms_norm_eps", 1e-6},
            {"tie_word_embeddings", true}};
  }
  if (hub.starts_with("Gemma3")) {
    return {{"hidden_size", 2304},
            {"intermediate_size", 9216},
            {"num_hidden_layers", 26},
            {"num_attention_heads", 8},
            {"num_key_value_heads", 4},
            {"head_dim", 256},
            {"max_position_embeddings", 131072},
            {"rms_norm_eps", 1e-6},
            {"vocab_size", 262208},
            {"query_pre_attn_scalar", 256},
            {"sliding_window", 4096},
            {"sliding_window_pattern", 6},
            {"rope_theta", 1e6},
            {"rope_local_base_freq", 1e4},
            {"tie_word_embeddings", true}};
  }
  if (hub == "MistralForCausalLM") {
    return {{"num_key_value_heads", 8}, {"sliding_window", 4096}, {"rms_norm_eps", 1e-6}};
  }
  if (hub == "MixtralForCausalLM") {
    return {{"num_key_value_heads", 8}, {"rope_theta", 1e6}, {"rms_norm_eps", 1e-5}};
  }
  return {{"rms_norm_eps", hub == "Phi3ForCausalLM" ? 1e-5 : 1e-6}};
}

class Translator {
 public:
  Translator(std::string_view text, const std::string& file) {
    config_.file = file;
    root_ = parse_json(text, file);
    if (!root_.is_object()) throw Error("safetensors", file + ": is not a JSON object");
    choose_architecture();
    fields_.config = &config_;
    fields_.prefix = root_.contains("text_config") ? "text_config." : "";
    fields_.text = fields_.prefix.empty() ? root_ : root_["text_config"];
    if (!fields_.text.is_object()) throw fields_.error("", "is not an object");
    // Only absent fields get the default: null means that there is none.
    const json defaults = class_defaults(hub_);
    for (const auto& [field, value] : defaults.items()) {
      if (!fields_.text.contains(field)) fields_.text[field] = value;
    }
  }

  HubConfig translate() {
    refuse_unsupported();
    read_quantization();
    for (const Rule& rule : rules()) copy(rule);
    if (has_experts()) {
      for (const Rule& rule : expert_rules()) copy(rule);
    }
    if (config_.architecture == "gemma2") read_absent_caps();
    read_gate();
    read_attention_scale();
    read_windows();
    read_rope_fields(fields_, config_.architecture == "gemma3");
    read_tie();
    return std::move(config_);
  }

 private:
  void choose_architecture() {
    const json& names = json_member(root_, "architectures");
    const auto fail = [&](const std::string& what) {
      std::string known;
      for (const Architecture& one : kArchitectures) {
        known += (known.empty() ? "" : ", ") + std::string(one.hub);
      }
      throw Error("safetensors",
                  config_.file + ": field 'architectures': " + what + "; supported: " + known);
    };
    if (!names.is_array() || names.empty() || !names[0].is_string()) {
      fail("must name the model's class");
    }
    const auto name = names[0].get<std::string>();
    const auto* found = std::ranges::find(kArchitectures, name, &Architecture::hub);
    if (found == std::end(kArchitectures)) fail(printable_json(names[0]) + " is not supported");
    hub_ = found->hub;
    config_.architecture = found->gguf;
    config_.is_gemma = hub_.starts_with("Gemma");
    config_.values["general.architecture"] = config_.architecture;
    config_.fields["general.architecture"] = "architectures";
  }

  void refuse_unsupported() const {
    if (fields_.flag("use_bidirectional_attention")) {
      throw fields_.error("use_bidirectional_attention", "only causal models are supported");
    }
    if (!has_experts()) return;
    const json& dense = fields_.get("mlp_only_layers");
    if (dense.is_array() && !dense.empty()) {
      throw fields_.error("mlp_only_layers", "layers without experts are not supported");
    }
    if (fields_.number("decoder_sparse_step", 1) != 1) {
      throw fields_.error("decoder_sparse_step", "must be 1: every layer has experts");
    }
  }

  // The field is next to text_config if there is one, or inside it.
  void read_quantization() {
    constexpr const char* kField = "quantization_config";
    const bool is_outside = !json_member(root_, kField).is_null();
    const json& quantization = is_outside ? json_member(root_, kField) : fields_.get(kField);
    const std::string prefix = is_outside ? "" : fields_.prefix;
    config_.quantization =
        read_hub_quantization(quantization, config_.file + ": field '" + prefix + kField);
  }

  bool has_experts() const {
    return hub_ == "MixtralForCausalLM" || hub_.ends_with("MoeForCausalLM");
  }

  // Null means that there is none; an absent key means the family's default.
  void read_absent_caps() const {
    for (const char* field : {"attn_logit_softcapping", "final_logit_softcapping"}) {
      if (fields_.get(field).is_null()) fields_.set(field, 0.0, field);
    }
  }

  void copy(const Rule& rule) {
    const char* chosen = rule.fields.front();
    for (const char* field : rule.fields) {
      if (!fields_.get(field).is_null()) chosen = field;
    }
    fields_.set(rule.key, fields_.get(chosen), chosen);
  }

  void read_gate() const {
    const char* field = "hidden_act";
    if (config_.is_gemma && !fields_.get("hidden_activation").is_null()) {
      field = "hidden_activation";
    }
    const json& gate = fields_.get(field);
    if (gate.is_null()) return;
    // Gemma's early files say "gelu" and mean its approximation.
    const std::vector<std::string> known =
        config_.is_gemma ? std::vector<std::string>{"gelu_pytorch_tanh", "gelu"}
                         : std::vector<std::string>{"silu", "swish"};
    const bool is_known =
        gate.is_string() && std::ranges::count(known, gate.get<std::string>()) > 0;
    if (!is_known) {
      throw fields_.error(field, printable_json(gate) + " is not supported for " + hub_ +
                                     "; supported: " + known[0]);
    }
  }

  void read_attention_scale() {
    constexpr const char* kField = "query_pre_attn_scalar";
    if (!config_.is_gemma || fields_.get(kField).is_null()) return;
    const double scalar = fields_.number(kField, 0);
    if (!(scalar > 0)) throw fields_.error(kField, "must be greater than 0");
    fields_.set("attention.scale", 1.0 / std::sqrt(scalar), kField);
  }

  // The window, and the layers that have it if not all do. Llama's class ignores the field, and
  // only Qwen's classes read use_sliding_window.
  void read_windows() {
    const json& window = fields_.get("sliding_window");
    const bool is_off = hub_ == "LlamaForCausalLM" ||
                        (hub_.starts_with("Qwen") && !fields_.flag("use_sliding_window"));
    if (window.is_null() || window == 0 || is_off) return;
    const std::vector<bool> slides = layers_with_window();
    fields_.set("attention.sliding_window", window, "sliding_window");
    if (slides.empty()) return;
    const char* field = fields_.get("layer_types").is_null() ? pattern_field() : "layer_types";
    fields_.set("attention.sliding_window_pattern", slides, field);
  }

  const char* pattern_field() const {
    return hub_.starts_with("Qwen") ? "max_window_layers" : "sliding_window_pattern";
  }

  // [layers]; empty: all of them. Classes with equal layers ignore layer_types.
  std::vector<bool> layers_with_window() const {
    std::vector<bool> slides;
    const bool are_alike = config_.architecture == "llama" || config_.architecture == "phi3" ||
                           config_.architecture == "qwen3moe";
    if (are_alike) return slides;
    const json& types = fields_.get("layer_types");
    if (!types.is_null()) {
      if (!types.is_array()) throw fields_.error("layer_types", "must be an array");
      for (const json& type : types) {
        if (type != "sliding_attention" && type != "full_attention") {
          throw fields_.error("layer_types", printable_json(type) +
                                                 " is not supported; supported: full_attention, "
                                                 "sliding_attention");
        }
        slides.push_back(type == "sliding_attention");
      }
      return slides;
    }
    const double layers = fields_.number("num_hidden_layers", 0);
    if (!(layers >= 1 && layers <= static_cast<double>(kMaxHubLayers))) return slides;
    const auto pattern = static_cast<std::uint64_t>(
        std::clamp(fields_.number("sliding_window_pattern", 6), 1.0, 4096.0));
    const double first = fields_.number("max_window_layers", 0);
    for (std::uint64_t layer = 0; layer < static_cast<std::uint64_t>(layers); ++layer) {
      if (config_.architecture == "gemma2") {
        slides.push_back(layer % 2 == 0);
      } else if (config_.architecture == "gemma3") {
        slides.push_back((layer + 1) % pattern != 0);
      } else if (config_.architecture == "qwen2moe") {
        slides.push_back(layer % 2 == 0 && static_cast<double>(layer) < first);
      } else {
        slides.push_back(static_cast<double>(layer) >= first);
      }
    }
    return slides;
  }

  void read_tie() {
    // The field is next to text_config if there is one, inside it, or absent.
    const json& outer = json_member(root_, "tie_word_embeddings");
    config_.ties_embeddings =
        outer.is_boolean() ? outer.get<bool>() : fields_.flag("tie_word_embeddings");
  }

  HubConfig config_;
  json root_;
  std::string hub_;
  HubFields fields_;
};

}  // namespace

Error HubConfig::field_error(std::string_view key, const std::string& what) const {
  const auto field = fields.find(std::string(key));
  return Error("safetensors", file + ": field '" +
                                  (field != fields.end() ? field->second : std::string(key)) +
                                  "': " + what);
}

const json& HubFields::get(std::string_view field) const { return json_member(text, field); }

Error HubFields::error(std::string_view field, const std::string& what) const {
  return Error("safetensors",
               config->file + ": field '" + prefix + std::string(field) + "': " + what);
}

bool HubFields::flag(std::string_view field) const {
  const json& value = get(field);
  if (value.is_null()) return false;
  if (!value.is_boolean()) {
    throw error(field, "must be true or false, is " + printable_json(value));
  }
  return value.get<bool>();
}

double HubFields::number(std::string_view field, double fallback) const {
  return number_in(text, field, "", fallback);
}

double HubFields::number_in(const json& object, std::string_view field, const std::string& path,
                            double fallback) const {
  const json& value = json_member(object, field);
  if (value.is_null()) return fallback;
  if (!value.is_number()) {
    throw error(path + std::string(field), "must be a number, is " + printable_json(value));
  }
  return value.get<double>();
}

void HubFields::set(const std::string& key, json value, const std::string& field) const {
  const std::string full = config->architecture + '.' + key;
  config->fields[full] = prefix + field;
  if (!value.is_null()) config->values[full] = std::move(value);
}

HubConfig read_hub_config(std::string_view text, const std::string& file) {
  return Translator(text, file).translate();
}

}  // namespace tandem::model
