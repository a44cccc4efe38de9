// SPDX-License-Identifier: Apache-2.0
//
// Builds the document from nlohmann-json's SAX events. Pointers to open containers stay valid
// because only the innermost container grows.
#include "server/openai/json_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "server/openai/api_error.h"

namespace tandem::server::openai {
namespace {

using json = nlohmann::ordered_json;

// operator[] would look for the name each time. A vector that grows by itself copies the values,
// since names are const.
json& append(json::object_t& object, std::string name, json value) {
  if (object.size() == object.capacity()) {
    json::object_t grown;
    grown.reserve(2 * object.size() + 1);
    for (auto& [old_name, old_value] : object) grown.emplace_back(old_name, std::move(old_value));
    object = std::move(grown);
  }
  return object.emplace_back(std::move(name), std::move(value)).second;
}

class DocumentBuilder final : public nlohmann::json_sax<json> {
 public:
  explicit DocumentBuilder(const DocumentLimits& limits) : limits_(limits) {}

  json take() { return std::move(root_); }

  bool null() override { return place(json(nullptr)) != nullptr; }
  bool boolean(bool value) override { return place(json(value)) != nullptr; }
  bool number_integer(number_integer_t value) override { return place(json(value)) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return place(json(value)) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return place(json(value)) != nullptr;
  }
  bool string(string_t& value) override { return place(json(std::move(value))) != nullptr; }
  bool binary(binary_t&) override { return false; }  // not in text

  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override {
    check_names();
    return close();
  }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    key_ = std::move(name);
    return true;
  }

  // The library's own message names its classes and lines; a position is enough.
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    throw ApiError(
        400, "the body is not valid JSON: unexpected input at byte " + std::to_string(position));
  }

 private:
  json* place(json value) {
    if (++num_values_ > limits_.max_values) {
      throw ApiError(
          400, "the JSON body has more than " + std::to_string(limits_.max_values) + " values");
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &append(parent.get_ref<json::object_t&>(), std::move(key_), std::move(value));
  }

  bool open(json container) {
    if (open_.size() >= limits_.max_depth) {
      throw ApiError(400, "the JSON body is nested deeper than " +
                              std::to_string(limits_.max_depth) + " levels");
    }
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  void check_names() const {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : open_.back()->get_ref<const json::object_t&>()) {
      names.push_back(name);
    }
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice == names.end()) return;
    const std::string name(*twice);
    throw ApiError(400, "duplicate field '" + name + "' in the JSON body",
                   open_.size() == 1 ? name : std::string());
  }

  DocumentLimits limits_;
  json root_;
  std::vector<json*> open_;
  std::string key_;
  std::size_t num_values_ = 0;
};

}  // namespace

json parse_document(std::string_view text, const DocumentLimits& limits) {
  if (text.starts_with("\x1f\x8b")) {
    throw ApiError(415, "the body is compressed (gzip); send it as it is", "",
                   "unsupported_media_type");
  }
  DocumentBuilder builder(limits);
  json::sax_parse(text.begin(), text.end(), &builder);
  json document = builder.take();
  if (!document.is_object()) throw ApiError(400, "the body must be a JSON object");
  return document;
}

}  // namespace tandem::server::openai
