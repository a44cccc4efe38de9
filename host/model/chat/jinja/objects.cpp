// SPDX-License-Identifier: Apache-2.0
//
// Attributes and methods of loop, namespace(), cycler() and joiner() (declared in objects.h).
#include "model/chat/jinja/objects.h"

#include <algorithm>

namespace tandem::model::jinja {
namespace {

Value count(std::size_t value) { return Value::integer(static_cast<std::int64_t>(value)); }

std::optional<Value> loop_attribute(const Object& loop, const std::string& name) {
  const std::size_t size = loop.items.size();
  const std::size_t at = std::min(loop.at, size - 1);  // the loop may be over
  if (name == "index") return count(at + 1);
  if (name == "index0") return count(at);
  if (name == "revindex") return count(size - at);
  if (name == "revindex0") return count(size - at - 1);
  if (name == "first") return Value::boolean(at == 0);
  if (name == "last") return Value::boolean(at + 1 == size);
  if (name == "length") return count(size);
  if (name == "depth") return count(loop.depth + 1);
  if (name == "depth0") return count(loop.depth);
  if (name == "previtem") return at > 0 ? loop.items[at - 1] : Value::undefined(name);
  if (name == "nextitem") return at + 1 < size ? loop.items[at + 1] : Value::undefined(name);
  return std::nullopt;
}

Value cycle(const Object& loop, const Arguments& arguments) {
  if (arguments.positional.empty()) throw Failure("cycle takes at least one item");
  return arguments.positional[loop.at % arguments.positional.size()];
}

Value changed(Object& loop, const Arguments& arguments, Budget& budget) {
  for (const Value& value : arguments.positional) budget.spend(value.weight());
  const bool same = loop.was_asked &&
                    std::ranges::equal(loop.changed, arguments.positional,
                                       [](const Value& a, const Value& b) { return a.equals(b); });
  loop.was_asked = true;
  if (!same) loop.changed = arguments.positional;
  return Value::boolean(!same);
}

}  // namespace

bool object_has_method(const Object& object, const std::string& name) {
  if (object.kind == Object::Kind::kLoop) return name == "cycle" || name == "changed";
  return object.kind == Object::Kind::kCycler && (name == "next" || name == "reset");
}

std::optional<Value> object_attribute(const Object& object, const std::string& name) {
  if (object.kind == Object::Kind::kLoop) return loop_attribute(object, name);
  if (object.kind == Object::Kind::kCycler && name == "current") return object.items[object.at];
  if (object.kind != Object::Kind::kNamespace) return std::nullopt;
  const auto found = std::ranges::find(object.entries, name, &Entries::value_type::first);
  if (found == object.entries.end()) return std::nullopt;
  return found->second;
}

Value call_object_method(Object& object, const std::string& name, const Arguments& arguments,
                         Budget& budget) {
  if (name == "cycle") return cycle(object, arguments);
  if (name == "changed") return changed(object, arguments, budget);
  const Value current = object.items[object.at];
  object.at = name == "next" ? (object.at + 1) % object.items.size() : 0;
  return name == "next" ? current : Value::none();
}

}  // namespace tandem::model::jinja
