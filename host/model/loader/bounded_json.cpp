// SPDX-License-Identifier: Apache-2.0
//
// A builder of JSON values that counts what it keeps, driven by nlohmann's event parser.
#include "model/loader/bounded_json.h"

#include <algorithm>

#include "common/error.h"
#include "common/text_parts.h"
#include "model/loader/printable.h"

namespace tandem::model {
namespace {

using nlohmann::json;

class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(const std::string& name, const JsonLimits& limits, const std::vector<JsonStream>& streams)
      : name_(name), limits_(limits), streams_(streams) {}

  json take_root() { return std::move(root_); }

  bool null() override { return add(json()); }
  bool boolean(bool value) override { return add(json(value)); }
  bool number_integer(number_integer_t value) override { return add(json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(json(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(json(value));
  }
  bool string(string_t& value) override { return add(json(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON text has none
  bool start_object(std::size_t /*size*/) override { return open(json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    Level& level = levels_.back();
    if (level.stream == nullptr && level.value.contains(value)) {
      fail("the key '" + printable(value) + "' occurs twice");
    }
    level.key = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& error) override {
    fail("is not valid JSON at byte " + std::to_string(position) + ": " +
         printable(without_tag(error.what())));
  }

 private:
  struct Level {
    json value;                   // the container as far as it is built
    std::string key;              // of the member that comes next
    const JsonStream* stream;     // where members go, null: into `value`
    std::size_t kept_before = 0;  // what was kept when a streamed member began
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error("safetensors", name_ + ": " + what);
  }

  // The stream that takes what the container begun now holds. Its path leads through objects only:
  // a key is left empty by arrays.
  const JsonStream* stream_here() const {
    for (const JsonStream& stream : streams_) {
      if (std::ranges::equal(stream.path, levels_, {}, {}, &Level::key)) return &stream;
    }
    return nullptr;
  }

  void count() {
    if (++kept_ > limits_.values) {
      fail("holds more than " + std::to_string(limits_.values) + " values");
    }
  }

  bool open(json container) {
    if (levels_.size() >= limits_.depth) {
      fail("is nested more than " + std::to_string(limits_.depth) + " deep");
    }
    count();
    Level level{std::move(container), {}, stream_here()};
    level.kept_before = kept_;
    levels_.push_back(std::move(level));
    return true;
  }

  bool close() {
    json value = std::move(levels_.back().value);
    levels_.pop_back();
    return store(std::move(value));
  }

  bool add(json value) {
    count();
    return store(std::move(value));
  }

  bool store(json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Level& level = levels_.back();
    if (level.stream != nullptr) {
      level.stream->take(level.key, std::move(value));
      kept_ = level.kept_before;
    } else if (level.value.is_object()) {
      level.value[level.key] = std::move(value);
    } else {
      level.value.push_back(std::move(value));
    }
    return true;
  }

  const std::string& name_;
  const JsonLimits& limits_;
  const std::vector<JsonStream>& streams_;
  std::vector<Level> levels_;
  json root_;
  std::size_t kept_ = 0;
};

}  // namespace

json parse_json(std::string_view text, const std::string& name, const JsonLimits& limits,
                const std::vector<JsonStream>& streams) {
  if (text.size() > limits.bytes) {
    throw Error("safetensors", name + ": has " + std::to_string(text.size()) +
                                   " bytes, more than the " + std::to_string(limits.bytes) +
                                   " that are read");
  }
  Builder builder(name, limits, streams);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take_root();
}

const json& json_member(const json& object, std::string_view key) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string printable_json(const json& value) {
  if (value.is_object()) return "{...}";
  if (value.is_array()) return "[...]";
  if (value.is_string()) return '"' + printable(value.get_ref<const std::string&>()) + '"';
  return value.dump();
}

}  // namespace tandem::model
