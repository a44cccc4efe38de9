// SPDX-License-Identifier: Apache-2.0
//
// Items, slices and iteration (declared in filters.h).
#include <algorithm>

#include "model/chat/jinja/filters.h"
#include "model/chat/jinja/objects.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

// The sequence's element at a Python index; undefined outside.
template <typename T, typename Make>
Value element(const T& sequence, std::int64_t index, const Make& make) {
  const auto size = static_cast<std::int64_t>(sequence.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return Value::undefined("item " + std::to_string(index));
  return make(sequence[static_cast<std::size_t>(index)]);
}

struct Range {
  std::int64_t start, stop, step;
};

std::optional<std::int64_t> bound(const Value& value) {
  if (value.is_none()) return std::nullopt;
  return value.integer();
}

// Python's slice.indices().
Range resolve(const Value& start, const Value& stop, const Value& step, std::int64_t size) {
  const std::int64_t stride =
      std::clamp<std::int64_t>(bound(step).value_or(1), -(1 << 30), 1 << 30);
  if (stride == 0) throw Failure("the step of a slice is zero");
  const std::int64_t low = stride < 0 ? -1 : 0, high = stride < 0 ? size - 1 : size;
  const auto clip = [&](std::optional<std::int64_t> value, std::int64_t fallback) {
    if (!value) return fallback;
    const std::int64_t index = *value < 0 ? *value + size : *value;
    return std::clamp(index, low, high);
  };
  return {clip(bound(start), stride < 0 ? high : low), clip(bound(stop), stride < 0 ? low : high),
          stride};
}

template <typename Take>
void for_each_index(const Range& range, const Take& take) {
  for (std::int64_t index = range.start; range.step > 0 ? index < range.stop : index > range.stop;
       index += range.step) {
    take(static_cast<std::size_t>(index));
  }
}

}  // namespace

const Value* Arguments::find(std::size_t index, const char* name) const {
  if (index < positional.size()) return &positional[index];
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Value* Arguments::named_value(std::string_view name) const {
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Value& Arguments::require(std::size_t index, const char* name) const {
  const Value* value = find(index, name);
  if (value == nullptr) throw Failure(std::string("the argument '") + name + "' is missing");
  return *value;
}

Value attribute_of(const Value& object, const std::string& name) {
  if (object.is_undefined()) throw Failure(object.undefined_message());
  if (has_method(object, name)) {
    return Value::of(Function{.builtin = Builtin::kMethod, .self = object, .name = name});
  }
  if (object.is_object()) {
    return object_attribute(object.object(), name).value_or(Value::undefined(name));
  }
  if (object.is_list() && object.list_kind() == ListKind::kGroup) {
    if (name == "grouper") return object.items()[0];
    if (name == "list") return object.items()[1];
  }
  const Value* found = object.find(name);
  return found != nullptr ? *found : Value::undefined(name);
}

Value item_of(const Value& object, const Value& key) {
  if (object.is_undefined()) throw Failure(object.undefined_message());
  if (key.is_string()) {
    const Value* found = object.find(key.text());
    return found != nullptr ? *found : attribute_of(object, key.text());
  }
  if (object.is_map()) {
    const Value* found = object.find(key);
    return found != nullptr ? *found : Value::undefined(to_repr(key).substr(0, 80));
  }
  if ((key.is_integer() || key.is_bool()) && object.is_indexable()) {
    return element(object.items(), key.integer(), [](const Value& item) { return item; });
  }
  if ((key.is_integer() || key.is_bool()) && object.is_string()) {
    return element(characters(object.text()), key.integer(), [](std::string_view character) {
      return Value::string(std::string(character));
    });
  }
  return Value::undefined(key.is_undefined() ? "item" : to_repr(key).substr(0, 80));
}

Value slice_of(const Value& object, const Value& start, const Value& stop, const Value& step) {
  if (object.is_undefined()) throw Failure(object.undefined_message());
  for (const Value* bound : {&start, &stop, &step}) {
    if (!bound->is_none() && !bound->is_integer() && !bound->is_bool()) {
      return Value::undefined("slice");
    }
  }
  if (object.is_string()) {
    const std::vector<std::string_view> all = characters(object.text());
    std::string text;
    for_each_index(resolve(start, stop, step, static_cast<std::int64_t>(all.size())),
                   [&](std::size_t index) { text += all[index]; });
    return Value::string(std::move(text));
  }
  if (!object.is_indexable()) return Value::undefined("slice");
  const List& all = object.items();
  List items;
  for_each_index(resolve(start, stop, step, static_cast<std::int64_t>(all.size())),
                 [&](std::size_t index) { items.push_back(all[index]); });
  return Value::list(std::move(items), object.list_kind());
}

List items_of(const Value& value, Budget& budget) {
  List items;
  if (value.is_list()) {
    budget.spend(value.items().size());
    return value.items();
  }
  if (value.is_string()) {
    budget.spend(value.text().size());
    if (value.text().size() > Value::kMaxWeight / 4) throw Failure("a text is too long to iterate");
    for (const std::string_view character : characters(value.text())) {
      items.push_back(Value::string(std::string(character)));
    }
  } else if (value.is_map()) {
    budget.spend(value.pairs().size());
    for (const auto& [key, ignored] : value.pairs()) items.push_back(key);
  } else if (!value.is_undefined()) {
    throw Failure(std::string("a ") + value.type_name() + " cannot be iterated");
  }
  return items;
}

void put_pair(Pairs& pairs, const Value& key, const Value& value) {
  const bool is_fixed = key.is_string() || key.is_number() || key.is_none() ||
                        (key.is_list() && key.list_kind() == ListKind::kTuple);
  if (!is_fixed) throw Failure(std::string("a ") + key.type_name() + " cannot be a key");
  for (auto& [existing, slot] : pairs) {
    if (existing.equals(key)) {
      slot = value;
      return;
    }
  }
  pairs.emplace_back(key, value);
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  budget.spend(container.weight());
  if (container.is_string()) {
    budget.spend_search(container.text().size(), item.text().size());
    return container.text().find(item.text()) != std::string::npos;
  }
  if (container.is_map()) return container.find(item) != nullptr;
  const List items = items_of(container, budget);
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& candidate) { return candidate.equals(item); });
}

}  // namespace tandem::model::jinja
