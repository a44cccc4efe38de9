// SPDX-License-Identifier: Apache-2.0
//
// The one file of the server's socket tests that instantiates nlohmann::json.
#include "host/server/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>

namespace tandem::test {
namespace {

using Value = nlohmann::json;

std::shared_ptr<const Value> made(Value value) {
  return std::make_shared<const Value>(std::move(value));
}

}  // namespace

Json::Json(std::nullptr_t) : value_(made(nullptr)) {}
Json::Json(const char* text) : value_(made(text)) {}
Json::Json(const std::string& text) : value_(made(text)) {}
Json::Json(const std::vector<std::string>& texts) : value_(made(texts)) {}
Json Json::from_bool(bool value) { return Json(made(value)); }
Json Json::from_double(double value) { return Json(made(value)); }
Json Json::from_signed(std::int64_t value) { return Json(made(value)); }
Json Json::from_unsigned(std::uint64_t value) { return Json(made(value)); }

Json::Json(std::initializer_list<Json> values) {
  const bool pairs = std::all_of(values.begin(), values.end(), [](const Json& value) {
    return value.value_->is_array() && value.size() == 2 && value.value_->front().is_string();
  });
  Value result = pairs ? Value::object() : Value::array();
  for (const Json& value : values) {
    if (pairs) {
      result[value.value_->at(0).get<std::string>()] = value.value_->at(1);
    } else {
      result.push_back(*value.value_);
    }
  }
  value_ = made(std::move(result));
}

Json Json::parse(const std::string& text) {
  Value value = Value::parse(text, nullptr, false);
  if (value.is_discarded()) throw std::runtime_error("not JSON: " + text);
  return Json(made(std::move(value)));
}

Json Json::object() { return Json(made(Value::object())); }

Json Json::array(std::initializer_list<Json> elements) {
  Json result(made(Value::array()));
  for (const Json& element : elements) result.push_back(element);
  return result;
}

Json Json::operator[](const char* key) const { return contains(key) ? at(key) : Json(); }

Json Json::operator[](std::size_t index) const {
  if (!value_->is_array() || index >= value_->size()) return Json();
  return Json(std::shared_ptr<const Value>(value_, &(*value_)[index]));
}

Json Json::at(const char* key) const {
  if (!contains(key)) throw std::runtime_error(dump() + " has no '" + key + "'");
  return Json(std::shared_ptr<const Value>(value_, &value_->at(key)));
}

bool Json::contains(const char* key) const { return value_->contains(key); }
bool Json::is_null() const { return value_->is_null(); }
std::size_t Json::size() const { return value_->size(); }

std::vector<Json> Json::elements() const {
  std::vector<Json> result;
  for (const Value& element : *value_) {
    result.push_back(Json(std::shared_ptr<const Value>(value_, &element)));
  }
  return result;
}

std::string Json::text() const {
  if (!value_->is_string()) throw std::runtime_error(dump() + " is no string");
  return value_->get<std::string>();
}

std::string Json::text_or(const std::string& fallback) const {
  return value_->is_string() ? text() : fallback;
}

std::int64_t Json::integer() const {
  if (!value_->is_number_integer()) throw std::runtime_error(dump() + " is no integer");
  return value_->get<std::int64_t>();
}

void Json::set(const char* key, const Json& value) {
  Value changed = *value_;
  changed[key] = *value.value_;
  value_ = made(std::move(changed));
}

void Json::update(const Json& other) {
  Value changed = *value_;
  changed.update(*other.value_);
  value_ = made(std::move(changed));
}

void Json::push_back(const Json& element) {
  Value changed = *value_;
  changed.push_back(*element.value_);
  value_ = made(std::move(changed));
}

std::string Json::dump() const {
  return value_->dump(-1, ' ', false, Value::error_handler_t::replace);
}

bool operator==(const Json& a, const Json& b) { return *a.value_ == *b.value_; }
std::ostream& operator<<(std::ostream& out, const Json& value) { return out << value.dump(); }

}  // namespace tandem::test
