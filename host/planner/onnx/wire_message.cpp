// SPDX-License-Identifier: Apache-2.0
//
// Types of fields: 0 a number of 7-bit groups, 1 eight bytes, 2 a length and bytes, 5 four bytes.
#include "planner/onnx/wire_message.h"

#include <optional>

#include "common/error.h"

namespace tandem::planner {
namespace {

constexpr int kVarint = 0, kEightBytes = 1, kLength = 2, kFourBytes = 5;

// Reads one number from the front; returns nothing if it does not end.
std::optional<std::uint64_t> take_varint(std::string_view& from) {
  std::uint64_t value = 0;
  for (std::size_t at = 0; at < from.size() && at < 10; ++at) {
    const auto byte = static_cast<unsigned char>(from[at]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * at);
    if (byte < 0x80) {
      from.remove_prefix(at + 1);
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string WirePath::text() const {
  std::string text = parent != nullptr ? parent->text() : std::string();
  if (!text.empty()) text += '.';
  text += name;
  if (index >= 0) text += '[' + std::to_string(index) + ']';
  return text;
}

void WirePath::refuse(const std::string& what) const {
  const std::string where = text();
  throw Error("onnx", (where.empty() ? "the model" : where) + ": " + what);
}

bool WireMessage::next() {
  if (rest_.empty()) return false;
  const auto key = take_varint(rest_);
  if (!key || *key >> 3 == 0 || *key >> 3 > (1u << 29) - 1) {
    path_.refuse("a field has no valid number; this is not an ONNX model, or it is damaged");
  }
  field_ = static_cast<int>(*key >> 3);
  type_ = static_cast<int>(*key & 7);
  std::uint64_t length = 0;
  if (type_ == kVarint || type_ == kLength) {
    const auto value = take_varint(rest_);
    if (!value) path_.refuse("field " + std::to_string(field_) + ": the number has no end");
    (type_ == kVarint ? value_ : length) = *value;
  } else if (type_ == kEightBytes || type_ == kFourBytes) {
    length = type_ == kEightBytes ? 8 : 4;
  } else {
    path_.refuse("field " + std::to_string(field_) + " has the type " + std::to_string(type_) +
                 ", which ONNX does not use; the model is damaged");
  }
  if (length > rest_.size()) {
    path_.refuse("field " + std::to_string(field_) + " has " + std::to_string(length) +
                 " bytes, but " + std::to_string(rest_.size()) +
                 " are left; the model is cut off or damaged");
  }
  bytes_ = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return true;
}

void WireMessage::expect(std::string_view name, int type) const {
  if (type_ == type) return;
  const WirePath field{&path_, name};
  field.refuse("the field has the wire type " + std::to_string(type_) + ", not " +
               std::to_string(type));
}

std::int64_t WireMessage::number(std::string_view name) const {
  expect(name, kVarint);
  return static_cast<std::int64_t>(value_);
}

std::string_view WireMessage::bytes(std::string_view name) const {
  expect(name, kLength);
  return bytes_;
}

void WireMessage::add_numbers(std::string_view name, std::vector<std::int64_t>& numbers) const {
  if (type_ == kVarint) {
    numbers.push_back(static_cast<std::int64_t>(value_));
    return;
  }
  for (std::string_view packed = bytes(name); !packed.empty();) {
    const auto value = take_varint(packed);
    if (!value) WirePath{&path_, name}.refuse("a packed number has no end");
    numbers.push_back(static_cast<std::int64_t>(*value));
  }
}

}  // namespace tandem::planner
