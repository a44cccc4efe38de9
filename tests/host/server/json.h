// SPDX-License-Identifier: Apache-2.0
//
// Json: a JSON value for tests that read answers and write bodies.
//
// A thin front of nlohmann::json, whose header alone costs a test two seconds of compiling, and its
// templates three more. Values are immutable but for set(), update() and push_back(); a copy is a
// pointer. A member that is absent reads as null. Threads: as std::shared_ptr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tandem::test {

class Json {
 public:
  // Conversions are implicit, since literals are values in bodies and comparisons.
  Json() : Json(nullptr) {}
  Json(std::nullptr_t);
  Json(const char* text);
  Json(const std::string& text);
  Json(const std::vector<std::string>& texts);
  Json(std::initializer_list<Json>);  // an object where all are pairs that begin with a string
  template <typename T>
  requires std::is_arithmetic_v<T> Json(T value) : Json(number(value)) {}

  static Json parse(const std::string& text);  // throws std::runtime_error
  static Json object();
  static Json array(std::initializer_list<Json> elements = {});

  Json operator[](const char* key) const;
  Json operator[](std::size_t index) const;
  Json operator[](int index) const { return (*this)[static_cast<std::size_t>(index)]; }
  Json at(const char* key) const;  // throws std::runtime_error where it is absent
  bool contains(const char* key) const;
  bool is_null() const;
  std::size_t size() const;
  std::vector<Json> elements() const;

  std::string text() const;  // throws std::runtime_error where it is no string
  std::string text_or(const std::string& fallback) const;
  std::int64_t integer() const;  // throws as text()
  operator std::string() const { return text(); }

  void set(const char* key, const Json& value);
  void update(const Json& other);
  void push_back(const Json& element);
  std::string dump() const;

  friend bool operator==(const Json& a, const Json& b);
  friend std::ostream& operator<<(std::ostream& out, const Json& value);

 private:
  explicit Json(std::shared_ptr<const nlohmann::json> value) : value_(std::move(value)) {}
  template <typename T>
  static Json number(T value) {
    if constexpr (std::is_same_v<T, bool>) return from_bool(value);
    if constexpr (std::is_floating_point_v<T>) return from_double(value);
    if constexpr (std::is_unsigned_v<T>) return from_unsigned(value);
    return from_signed(static_cast<std::int64_t>(value));
  }
  static Json from_bool(bool value);
  static Json from_double(double value);
  static Json from_signed(std::int64_t value);
  static Json from_unsigned(std::uint64_t value);

  std::shared_ptr<const nlohmann::json> value_;
};

}  // namespace tandem::test
