// SPDX-License-Identifier: Apache-2.0
//
// Values from the events of nlohmann's parser; there is no recursion.
#include "model/chat/jinja/json_value.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/error.h"

namespace tandem::model::jinja {
namespace {

using nlohmann::json;

class ValueBuilder : public nlohmann::json_sax<json> {
 public:
  ValueBuilder(const std::string& what, const TextFilter& filter) : what_(what), filter_(filter) {}

  Value take_root() { return std::move(root_); }

  bool null() override { return add(Value::none()); }
  bool boolean(bool value) override { return add(Value::boolean(value)); }
  bool number_integer(number_integer_t value) override { return add(Value::integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(INT64_MAX)) {
      return add(Value::integer(static_cast<std::int64_t>(value)));
    }
    return add(Value::real(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(Value::real(value));
  }
  bool string(string_t& value) override { return add(Value::string(filtered(value))); }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON text has none
  bool start_object(std::size_t /*size*/) override { return open(true); }
  bool start_array(std::size_t /*size*/) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    levels_.back().key = filtered(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    throw Error("chat", what_ + " is not valid JSON at byte " + std::to_string(position));
  }

 private:
  struct Level {
    bool is_object;
    std::string key;  // of the member that comes next
    List items;
    Entries entries;
    std::unordered_map<std::string, std::size_t> places;  // of the keys in `entries`
  };

  std::string filtered(const std::string& text) const { return filter_ ? filter_(text) : text; }

  bool open(bool is_object) {
    if (levels_.size() >= static_cast<std::size_t>(Value::kMaxDepth)) {
      throw Error("chat",
                  what_ + " is nested more than " + std::to_string(Value::kMaxDepth) + " deep");
    }
    levels_.push_back({is_object, {}, {}, {}, {}});
    return true;
  }

  bool close() {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    return add(level.is_object ? Value::map(std::move(level.entries))
                               : Value::list(std::move(level.items)));
  }

  bool add(Value value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Level& level = levels_.back();
    if (!level.is_object) {
      level.items.push_back(std::move(value));
      return true;
    }
    const auto [place, is_new] = level.places.try_emplace(level.key, level.entries.size());
    if (is_new) {
      level.entries.emplace_back(level.key, std::move(value));
    } else {
      level.entries[place->second].second = std::move(value);
    }
    return true;
  }

  const std::string& what_;
  const TextFilter& filter_;
  std::vector<Level> levels_;
  Value root_;
};

}  // namespace

Value value_of_json(std::string_view text, const std::string& what, const TextFilter& filter) {
  ValueBuilder builder(what, filter);
  try {
    json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const Failure& failure) {
    throw Error("chat", what + ": " + failure.what());
  }
  return builder.take_root();
}

}  // namespace tandem::model::jinja
