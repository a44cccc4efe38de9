// SPDX-License-Identifier: Apache-2.0
//
// Conversion and comparison of values as Python does them.
#include "model/chat/jinja/value.h"

#include <algorithm>

namespace tandem::model::jinja {
namespace {

const Value& child(const Value& item) { return item; }
const Value& child(const std::pair<Value, Value>& pair) { return pair.second; }

template <typename T>
std::pair<int, std::uint64_t> measure(const T& container) {
  int depth = 0;
  std::uint64_t weight = 1;
  for (const auto& item : container) {
    depth = std::max(depth, child(item).depth());
    weight += child(item).weight();
  }
  if (depth + 1 > Value::kMaxDepth) throw Failure("values are nested too deep");
  if (weight > Value::kMaxWeight) throw Failure("a value grows too large");
  return {depth + 1, weight};
}

// Groups are tuples.
bool sorts_with(ListKind a, ListKind b) {
  const auto plain = [](ListKind kind) {
    return kind == ListKind::kGroup ? ListKind::kTuple : kind;
  };
  return plain(a) == plain(b);
}

[[noreturn]] void wrong_type(const Value& value, const char* wanted) {
  if (value.is_undefined()) throw Failure(value.undefined_message());
  throw Failure(std::string("expected ") + wanted + ", got " + value.type_name());
}

}  // namespace

Value Value::undefined(std::string name) {
  Value value;
  value.data_ = Undefined{std::move(name)};
  return value;
}

Value Value::none() {
  Value value;
  value.data_ = None{};
  return value;
}

Value Value::boolean(bool boolean) {
  Value value;
  value.data_ = boolean;
  return value;
}

Value Value::integer(std::int64_t integer) {
  Value value;
  value.data_ = integer;
  return value;
}

Value Value::real(double real) {
  Value value;
  value.data_ = real;
  return value;
}

Value Value::string(std::string text) {
  if (text.size() > kMaxText) throw Failure("a text grows too large");
  Value value;
  value.data_ = std::make_shared<const std::string>(std::move(text));
  return value;
}

Value Value::list(List items, ListKind kind) {
  const auto [depth, weight] = measure(items);
  Value value;
  value.data_ =
      std::make_shared<const Node<List>>(Node<List>{std::move(items), depth, weight, kind});
  return value;
}

Value Value::map(Entries entries) {
  Pairs pairs;
  pairs.reserve(entries.size());
  for (auto& [key, value] : entries) pairs.emplace_back(string(key), std::move(value));
  return map_of(std::move(pairs));
}

Value Value::map_of(Pairs pairs) {
  const auto [depth, weight] = measure(pairs);
  Value value;
  value.data_ = std::make_shared<const Node<Pairs>>(Node<Pairs>{std::move(pairs), depth, weight});
  return value;
}

Value Value::markup(std::string text) {
  Value value = string(std::move(text));
  value.is_markup_ = true;
  return value;
}

Value Value::of(std::shared_ptr<Object> object) {
  Value value;
  value.data_ = std::move(object);
  return value;
}

Value Value::of(Function function) {
  Value value;
  value.data_ = std::make_shared<const Function>(std::move(function));
  return value;
}

const std::string& Value::text() const {
  if (!is_string()) wrong_type(*this, "a string");
  return *std::get<Text>(data_);
}

const List& Value::items() const {
  if (!is_list()) wrong_type(*this, "a list");
  return std::get<Shared<List>>(data_)->content;
}

ListKind Value::list_kind() const { return std::get<Shared<List>>(data_)->kind; }

bool Value::is_indexable() const {
  return is_list() && (list_kind() == ListKind::kList || list_kind() == ListKind::kTuple ||
                       list_kind() == ListKind::kGroup || list_kind() == ListKind::kRange);
}

const Pairs& Value::pairs() const {
  if (!is_map()) wrong_type(*this, "a mapping");
  return std::get<Shared<Pairs>>(data_)->content;
}

Entries Value::entries() const {
  Entries entries;
  for (const auto& [key, value] : pairs()) entries.emplace_back(key.text(), value);
  return entries;
}

std::int64_t Value::integer() const {
  if (is_bool()) return std::get<bool>(data_) ? 1 : 0;
  if (!is_integer()) wrong_type(*this, "an integer");
  return std::get<std::int64_t>(data_);
}

double Value::number() const {
  if (is_real()) return std::get<double>(data_);
  if (!is_number()) wrong_type(*this, "a number");
  return static_cast<double>(integer());
}

const Value* Value::find(const std::string& key) const {
  if (!is_map()) return nullptr;
  for (const auto& [name, value] : pairs()) {
    if (name.is_string() && name.text() == key) return &value;
  }
  return nullptr;
}

const Value* Value::find(const Value& key) const {
  if (key.is_string()) return find(key.text());
  if (!is_map()) return nullptr;
  for (const auto& [name, value] : pairs()) {
    if (name.equals(key)) return &value;
  }
  return nullptr;
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return number() != 0;
  if (is_string()) return !text().empty();
  if (is_list()) return list_kind() == ListKind::kGenerator || !items().empty();
  if (is_map()) return !pairs().empty();
  return true;
}

const char* Value::type_name() const {
  constexpr const char* kNames[] = {"undefined", "none", "bool",    "integer", "number",
                                    "string",    "list", "mapping", "object",  "function"};
  if (is_list() && list_kind() == ListKind::kTuple) return "tuple";
  if (is_list() && list_kind() == ListKind::kGenerator) return "generator";
  return kNames[data_.index()];
}

std::string Value::undefined_message() const {
  const auto* undefined = std::get_if<Undefined>(&data_);
  if (undefined == nullptr || undefined->name.empty()) return "the value is undefined";
  std::string message = "'";
  message.append(undefined->name, 0, 80);
  return message += "' is undefined";
}

int Value::depth() const {
  if (is_list()) return std::get<Shared<List>>(data_)->depth;
  if (is_map()) return std::get<Shared<Pairs>>(data_)->depth;
  return 0;
}

std::uint64_t Value::weight() const {
  if (is_list()) return std::get<Shared<List>>(data_)->weight;
  if (is_map()) return std::get<Shared<Pairs>>(data_)->weight;
  if (is_string()) return 1 + text().size() / 16;
  return 1;
}

bool Value::equals(const Value& other) const {
  if (is_number() && other.is_number()) {
    if (is_real() || other.is_real()) return number() == other.number();
    return integer() == other.integer();
  }
  if (data_.index() != other.data_.index()) return false;
  if (is_string()) return text() == other.text();
  if (is_object()) return &object() == &other.object();
  if (is_function()) return &function() == &other.function();
  if (is_list()) {
    return sorts_with(list_kind(), other.list_kind()) &&
           std::equal(items().begin(), items().end(), other.items().begin(), other.items().end(),
                      [](const Value& a, const Value& b) { return a.equals(b); });
  }
  if (is_map()) {
    return pairs().size() == other.pairs().size() &&
           std::all_of(pairs().begin(), pairs().end(), [&](const auto& entry) {
             const Value* found = other.find(entry.first);
             return found != nullptr && entry.second.equals(*found);
           });
  }
  return true;  // both undefined, or both none
}

bool Value::less_than(const Value& other) const {
  if (is_number() && other.is_number()) {
    if (is_real() || other.is_real()) return number() < other.number();
    return integer() < other.integer();
  }
  // UTF-8 sorts by bytes as its code points do.
  if (is_string() && other.is_string()) return text() < other.text();
  if (is_list() && other.is_list() && is_indexable() &&
      sorts_with(list_kind(), other.list_kind())) {
    return std::lexicographical_compare(
        items().begin(), items().end(), other.items().begin(), other.items().end(),
        [](const Value& a, const Value& b) { return a.less_than(b); });
  }
  for (const Value* side : {this, &other}) {
    if (side->is_undefined()) throw Failure(side->undefined_message());
  }
  throw Failure(std::string("cannot order ") + type_name() + " and " + other.type_name());
}

}  // namespace tandem::model::jinja
