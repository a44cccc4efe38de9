// SPDX-License-Identifier: Apache-2.0
//
// Translation of rope_parameters, rope_scaling and rope_theta.
#include "model/loader/hub/rope.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "model/loader/bounded_json.h"

namespace tandem::model {
namespace {

using nlohmann::json;

constexpr double kMaxHubHeadDim = 4096;  // what families accept

class RopeReader {
 public:
  RopeReader(const HubFields& fields, bool has_local) : fields_(fields), has_local_(has_local) {
    path_ = fields.get("rope_parameters").is_null() ? "rope_scaling" : "rope_parameters";
    object_ = fields.get(path_);
    if (!object_.is_null() && !object_.is_object()) {
      throw fields.error(path_, "must be an object, is " + printable_json(object_));
    }
    local_ = json_member(object_, "sliding_attention");
    if (object_.contains("full_attention")) {
      object_ = object_["full_attention"];
      path_ += ".full_attention";
    }
    path_ += '.';
  }

  void read() {
    read_base();
    read_rotated_dims();
    const std::string kind = kind_of(object_, path_);
    if (kind == "linear" || kind == "yarn") {
      fields_.set("rope.scaling.type", kind, path_ + "rope_type");
      fields_.set("rope.scaling.factor", positive("factor"), path_ + "factor");
      if (kind == "yarn") read_yarn();
    } else if (kind == "llama3") {
      read_llama3();
    } else if (kind == "longrope" || kind == "su") {
      read_longrope();
    } else if (kind != "default") {
      throw fields_.error(path_ + kind_field(object_),
                          printable_json(kind) +
                              " is not supported; supported: default, linear, yarn, llama3, "
                              "longrope");
    }
    if (has_local_) read_local();
  }

 private:
  static const char* kind_field(const json& object) {
    return json_member(object, "rope_type").is_null() ? "type" : "rope_type";
  }

  std::string kind_of(const json& object, const std::string& path) const {
    const json& kind = json_member(object, kind_field(object));
    if (kind.is_null()) return "default";
    if (!kind.is_string()) throw fields_.error(path + kind_field(object), "must be a string");
    return kind.get<std::string>();
  }

  double number(const char* field, double fallback) const {
    return fields_.number_in(object_, field, path_, fallback);
  }

  double positive(const char* field) const {
    const double value = number(field, 0);
    if (json_member(object_, field).is_null()) throw fields_.error(path_ + field, "is missing");
    if (!(value > 0) || !std::isfinite(value)) {
      throw fields_.error(path_ + field, "must be greater than 0");
    }
    return value;
  }

  void read_base() {
    const bool is_inside = !json_member(object_, "rope_theta").is_null();
    base_ = is_inside ? number("rope_theta", 0) : fields_.number("rope_theta", 10000.0);
    fields_.set("rope.freq_base", base_, (is_inside ? path_ : std::string()) + "rope_theta");
  }

  void read_rotated_dims() {
    double head_dim = fields_.number("head_dim", 0);
    const double heads = fields_.number("num_attention_heads", 0);
    if (head_dim == 0 && heads > 0) {
      head_dim = std::floor(fields_.number("hidden_size", 0) / heads);
    }
    constexpr const char* kField = "partial_rotary_factor";
    const bool is_inside = !json_member(object_, kField).is_null();
    const double share = is_inside ? number(kField, 1) : fields_.number(kField, 1);
    const std::string field = (is_inside ? path_ : std::string()) + kField;
    if (!(share > 0 && share <= 1)) throw fields_.error(field, "must be in (0, 1]");
    rotated_ = std::floor(head_dim * share);
    if (share < 1) set_rotated_dims(field);
    fields_.config->fields[fields_.config->architecture + ".rope.dimension_count"] = field;
  }

  void set_rotated_dims(const std::string& field) const {
    static_cast<void>(pairs());  // in range
    fields_.set("rope.dimension_count", static_cast<std::uint64_t>(rotated_), field);
  }

  std::size_t pairs() const {
    if (!(rotated_ >= 2 && rotated_ <= kMaxHubHeadDim)) {
      throw fields_.error("head_dim",
                          "must be in 2.." + std::to_string(static_cast<int>(kMaxHubHeadDim)));
    }
    return static_cast<std::size_t>(rotated_) / 2;
  }

  // The context of the model's first training; the field is inside the object or next to it.
  double original_context() const {
    constexpr const char* kField = "original_max_position_embeddings";
    if (!json_member(object_, kField).is_null()) return positive(kField);
    const double beside = fields_.number(kField, 0);
    if (!(beside >= 0)) throw fields_.error(kField, "must be greater than 0");
    return beside > 0 ? beside : fields_.number("max_position_embeddings", 0);
  }

  void set_original_context() const {
    const double context = original_context();
    if (!(context >= 1 && context < 4294967296.0)) {
      throw fields_.error(path_ + "original_max_position_embeddings", "must be in 1..4294967295");
    }
    fields_.set("rope.scaling.original_context_length", static_cast<std::uint64_t>(context),
                path_ + "original_max_position_embeddings");
  }

  void read_yarn() const {
    set_original_context();
    const json& truncate = json_member(object_, "truncate");
    if (truncate.is_boolean() && !truncate.get<bool>()) {
      throw fields_.error(path_ + "truncate", "false is not supported");
    }
    for (const char* field : {"mscale", "mscale_all_dim"}) {
      if (!json_member(object_, field).is_null()) {
        throw fields_.error(path_ + field, "is not supported");
      }
    }
    for (const char* field : {"beta_fast", "beta_slow"}) {
      if (json_member(object_, field).is_null()) continue;
      fields_.set(std::string("rope.scaling.yarn_") + field, positive(field), path_ + field);
    }
    if (json_member(object_, "attention_factor").is_null()) return;
    // GGUF's factor multiplies the one that follows from the extension.
    const double implied = 1.0 + 0.1 * std::log(positive("factor"));
    fields_.set("rope.scaling.attn_factor", positive("attention_factor") / implied,
                path_ + "attention_factor");
  }

  // Slow frequencies are divided by the factor, fast ones kept, those between interpolated.
  void read_llama3() const {
    const double factor = positive("factor"), low = positive("low_freq_factor"),
                 high = positive("high_freq_factor"), context = original_context();
    if (!(high > low)) {
      throw fields_.error(path_ + "high_freq_factor", "must be greater than low_freq_factor");
    }
    if (!(base_ > 0)) throw fields_.error("rope_theta", "must be greater than 0");
    std::vector<float> divisors;
    for (std::size_t pair = 0; pair < pairs(); ++pair) {
      const double frequency = std::pow(base_, -2.0 * static_cast<double>(pair) / rotated_);
      const double wavelength = 2.0 * std::numbers::pi / frequency;
      double divisor = 1.0;
      if (wavelength > context / low) {
        divisor = factor;
      } else if (wavelength >= context / high) {
        const double smooth = (context / wavelength - low) / (high - low);
        divisor = 1.0 / ((1.0 - smooth) / factor + smooth);
      }
      divisors.push_back(static_cast<float>(divisor));
    }
    fields_.config->tensors["rope_freqs.weight"] = std::move(divisors);
    fields_.config->fields["rope_freqs.weight"] = fields_.prefix + path_ + "factor";
  }

  void read_longrope() const {
    set_original_context();
    read_factors("short_factor", "rope_factors_short.weight");
    read_factors("long_factor", "rope_factors_long.weight");
    double magnitude = 1;
    if (!json_member(object_, "attention_factor").is_null()) {
      magnitude = positive("attention_factor");
    } else {
      const double original = original_context();
      const double extension = json_member(object_, "factor").is_null()
                                   ? fields_.number("max_position_embeddings", 0) / original
                                   : positive("factor");
      if (extension > 1 && original > 1) {
        magnitude = std::sqrt(1.0 + std::log(extension) / std::log(original));
      }
    }
    fields_.set("rope.scaling.attn_factor", magnitude, path_ + "attention_factor");
  }

  void read_factors(const char* field, const char* tensor) const {
    const json& factors = json_member(object_, field);
    if (!factors.is_array() || factors.size() != pairs()) {
      throw fields_.error(path_ + field,
                          "must be an array of " + std::to_string(pairs()) + " numbers");
    }
    std::vector<float> values;
    for (const json& factor : factors) {
      const double value = factor.is_number() ? factor.get<double>() : NAN;
      if (!(std::abs(value) <= std::numeric_limits<float>::max())) {
        throw fields_.error(path_ + field, "must hold numbers of 32 bits only");
      }
      values.push_back(static_cast<float>(value));
    }
    fields_.config->tensors[tensor] = std::move(values);
    fields_.config->fields[tensor] = fields_.prefix + path_ + field;
  }

  void read_local() const {
    const std::string path = "rope_parameters.sliding_attention.";
    if (local_.is_null()) {
      fields_.set("rope.freq_base_swa", fields_.get("rope_local_base_freq"),
                  "rope_local_base_freq");
      return;
    }
    if (kind_of(local_, path) != "default") {
      throw fields_.error(path + kind_field(local_), "layers with a window cannot be scaled");
    }
    fields_.set("rope.freq_base_swa", fields_.number_in(local_, "rope_theta", path, 10000.0),
                path + "rope_theta");
  }

  const HubFields& fields_;
  const bool has_local_;
  json object_, local_;
  std::string path_;  // of object_, with a dot at the end
  double base_ = 0, rotated_ = 0;
};

}  // namespace

void read_rope_fields(const HubFields& fields, bool has_local) {
  RopeReader(fields, has_local).read();
}

}  // namespace tandem::model
