// SPDX-License-Identifier: Apache-2.0
//
// A table of fields per object: a name and how its value is taken.
#include "training/c_api/options_json.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/error.h"
#include "common/suggestion.h"

namespace tandem::training {
namespace {

using Json = nlohmann::json;
using Take = std::function<void(const Json&, const std::string& field)>;
using Fields = std::map<std::string, Take>;

[[noreturn]] void refuse(const std::string& field, const Json& value, const char* wanted) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  throw Error("training", "the option " + field + " is " + text + "; it must be " + wanted);
}

void take_fields(const Json& object, const std::string& where, const Fields& fields) {
  if (!object.is_object()) refuse(where.empty() ? "object" : where, object, "a JSON object");
  std::vector<std::string_view> known;
  for (const auto& [name, take] : fields) known.push_back(name);
  for (const auto& [name, value] : object.items()) {
    const auto field = fields.find(name);
    if (field == fields.end()) {
      throw Error("training", "there is no option " + where + name + suggestion(name, known));
    }
    field->second(value, where + name);
  }
}

Json parsed(const std::string& json) {
  const Json value = Json::parse(json, nullptr, false);
  if (value.is_discarded())
    throw Error("training", "the options are no JSON: " + json.substr(0, 80));
  return value;
}

Take text(std::string& to) {
  return [&to](const Json& value, const std::string& field) {
    if (!value.is_string()) refuse(field, value, "a text");
    to = value.get<std::string>();
  };
}

Take truth(bool& to) {
  return [&to](const Json& value, const std::string& field) {
    if (!value.is_boolean()) refuse(field, value, "true or false");
    to = value.get<bool>();
  };
}

Take number(double& to) {
  return [&to](const Json& value, const std::string& field) {
    if (!value.is_number()) refuse(field, value, "a number");
    to = value.get<double>();
  };
}

template <typename Integer>
Take whole(Integer& to, std::uint64_t most = std::numeric_limits<Integer>::max()) {
  return [&to, most](const Json& value, const std::string& field) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
      const std::string wanted = "a whole number from 0 to " + std::to_string(most);
      refuse(field, value, wanted.c_str());
    }
    to = static_cast<Integer>(value.get<std::uint64_t>());
  };
}

// Does not change the option if the field is missing. take: called with the field's value.
template <typename T>
Take optional(std::optional<T>& to, Take (*take)(T&)) {
  return [&to, take](const Json& value, const std::string& field) {
    T given{};
    take(given)(value, field);
    to = given;
  };
}

Take count(std::uint64_t& to) { return whole(to); }

// One of the names.
template <typename T>
Take choice(T& to, const std::map<std::string, T>& names) {
  return [&to, names](const Json& value, const std::string& field) {
    std::string wanted;
    for (const auto& [name, meaning] : names) {
      wanted += (wanted.empty() ? "\"" : ", \"") + name + "\"";
    }
    const auto found = value.is_string() ? names.find(value.get<std::string>()) : names.end();
    if (found == names.end()) refuse(field, value, ("one of " + wanted).c_str());
    to = found->second;
  };
}

Take seconds(std::chrono::milliseconds& to) {
  return [&to](const Json& value, const std::string& field) {
    double count = 0;
    number(count)(value, field);
    if (!(count > 0 && count <= 1e6)) refuse(field, value, "a number of seconds up to a million");
    to = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(count * 1000)));
  };
}

Rule rule_of(const Json& value, const std::string& where) {
  Rule rule;
  std::string sparsifier, scheme;
  double density = 0;
  take_fields(value, where + ".",
              {{"match", text(rule.match)},
               {"sparsifier", text(sparsifier)},
               {"density", number(density)},
               {"scheme", text(scheme)}});
  if (value.contains("sparsifier")) rule.sparsifier = sparsifier;
  if (value.contains("density")) rule.density = density;
  if (value.contains("scheme")) rule.scheme = scheme;
  return rule;
}

Take rules(std::vector<Rule>& to) {
  return [&to](const Json& value, const std::string& field) {
    if (!value.is_array()) refuse(field, value, "a list of objects");
    for (std::size_t i = 0; i < value.size(); ++i) {
      to.push_back(rule_of(value[i], field + "[" + std::to_string(i) + "]"));
    }
  };
}

Fields algorithm_fields(collectives::SparsifierOptions& to) {
  return {
      {"only_own_entries", truth(to.only_own_entries)},
      {"hard_threshold", number(to.hard_threshold)},
      {"momentum", number(to.momentum)},
      {"clip_norm", number(to.clip_norm)},
      {"sidco_fit", choice<collectives::SidcoFit>(to.sidco_fit, collectives::sidco_fit_names())},
      {"published_control", truth(to.published_control)},
      {"threshold_steps", whole(to.threshold_steps)},
      {"local_steps", whole(to.local_steps)},
      {"decay", number(to.decay)}};
}

Fields reducer_fields(NamedReducerOptions& to) {
  ReducerOptions& options = to.options;
  Fields fields = algorithm_fields(options.algorithm);
  fields.insert(
      {{"sparsifier", text(options.sparsifier)},
       {"density", number(options.density)},
       {"scheme", text(options.scheme)},
       {"wire",
        choice<DType>(options.wire,
                      {{"f32", DType::kF32}, {"f16", DType::kF16}, {"bf16", DType::kBF16}})},
       {"dense_below", whole(options.dense_below)},
       {"dense_vectors", truth(options.dense_vectors)},
       {"warmup_steps", optional(options.warmup_steps, count)},
       {"warmup_density", optional(options.warmup_density, number)},
       {"non_finite", choice<OnNonFinite>(options.non_finite, {{"stop", OnNonFinite::kStop},
                                                               {"skip", OnNonFinite::kSkip},
                                                               {"clip", OnNonFinite::kClip},
                                                               {"pass", OnNonFinite::kPass}})},
       {"hidden_until", choice<HiddenUntil>(options.hidden_until, {{"wait", HiddenUntil::kWait},
                                                                   {"last", HiddenUntil::kLast}})},
       {"bucket_bytes", whole(options.bucket_bytes)},
       {"seed", whole(options.seed)},
       {"timeout_s", seconds(options.timeout)},
       {"threads", whole(options.threads)},
       {"log_every", whole(options.log_every)},
       {"timeline", text(to.timeline)},
       {"rules", rules(options.rules)}});
  return fields;
}

}  // namespace

GroupOptions group_options(const std::string& json) {
  GroupOptions options;
  take_fields(parsed(json), "",
              {{"transport", text(options.transport)},
               {"rank", whole(options.rank)},
               {"world", whole(options.world)},
               {"prefix", text(options.prefix)},
               {"store_directory", text(options.store_directory)},
               {"interface", text(options.interface)},
               {"address", text(options.address)},
               {"timeout_s", number(options.timeout_s)}});
  if (!(options.timeout_s > 0 && options.timeout_s <= 1e6)) {
    throw Error("training", "the option timeout_s must be a number of seconds up to a million");
  }
  return options;
}

NamedReducerOptions reducer_options(const std::string& json) {
  NamedReducerOptions named;
  named.options.hidden_until = HiddenUntil::kLast;  // other languages wait on a thread beside
  take_fields(parsed(json), "", reducer_fields(named));
  check_options(named.options);
  return named;
}

}  // namespace tandem::training
