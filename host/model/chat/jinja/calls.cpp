// SPDX-License-Identifier: Apache-2.0
//
// Calls of macros, loops and builtin functions (declared in evaluator.h).
#include <algorithm>
#include <ctime>

#include "common/error.h"
#include "model/chat/jinja/evaluator.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

constexpr std::int64_t kMaxRange = 100'000;

Value range(const Arguments& arguments) {
  const std::size_t count = arguments.positional.size();
  if (count < 1 || count > 3) throw Failure("range takes one to three numbers");
  const auto at = [&](std::size_t index) { return arguments.positional[index].integer(); };
  const std::int64_t start = count > 1 ? at(0) : 0, stop = count > 1 ? at(1) : at(0);
  const std::int64_t step = count > 2 ? at(2) : 1;
  if (step == 0) throw Failure("range: the step is zero");
  List items;
  // Unsigned differences cannot overflow.
  const auto first = static_cast<std::uint64_t>(start), last = static_cast<std::uint64_t>(stop);
  std::uint64_t distance = 0, stride = 0;
  if (step > 0 && stop > start) distance = last - first, stride = static_cast<std::uint64_t>(step);
  if (step < 0 && stop < start)
    distance = first - last, stride = 0 - static_cast<std::uint64_t>(step);
  if (distance == 0) return Value::list({}, ListKind::kRange);
  const std::uint64_t total = (distance - 1) / stride + 1;
  if (total > kMaxRange) throw Failure("range is too long");
  for (std::uint64_t i = 0; i < total; ++i) {
    const std::uint64_t offset = i * stride;
    items.push_back(
        Value::integer(static_cast<std::int64_t>(step > 0 ? first + offset : first - offset)));
  }
  return Value::list(std::move(items), ListKind::kRange);
}

// dict(mapping or pairs, name=value): the pairs.
Pairs pairs_of(const Arguments& arguments) {
  Pairs pairs;
  if (arguments.positional.size() > 1) throw Failure("dict takes one mapping or list of pairs");
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (from.is_list()) {
      for (const Value& pair : from.items()) {
        if (pair.items().size() != 2) throw Failure("dict takes pairs");
        put_pair(pairs, pair.items()[0], pair.items()[1]);
      }
    } else {
      pairs = from.pairs();
    }
  }
  for (const auto& [name, value] : arguments.named) put_pair(pairs, Value::string(name), value);
  return pairs;
}

Value formatted_now(const std::string& format) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char buffer[256];
  return Value::string(
      std::string(buffer, std::strftime(buffer, sizeof buffer, format.c_str(), &local)));
}

}  // namespace

Arguments Evaluator::evaluate_arguments(const Expression& call, Scope& scope) {
  Arguments arguments;
  for (std::size_t i = 1; i < call.operands.size(); ++i) {
    Value value = evaluate(*call.operands[i], scope);
    if (std::ranges::find(call.spread, i) == call.spread.end()) {
      arguments.positional.push_back(std::move(value));
    } else {
      for (Value& item : items_of(value, budget_)) arguments.positional.push_back(std::move(item));
    }
  }
  for (const auto& [name, value] : call.named) {
    if (arguments.named_value(name) != nullptr) throw Failure("'" + name + "' is given twice");
    arguments.named.emplace_back(name, evaluate(*value, scope));
  }
  if (call.spread_named) {
    const Value more = evaluate(*call.spread_named, scope);
    budget_.spend(more.weight());
    for (const auto& [name, value] : more.entries()) {
      if (arguments.named_value(name) != nullptr) throw Failure("'" + name + "' is given twice");
      arguments.named.emplace_back(name, value);
    }
  }
  return arguments;
}

// `caller` (may be null) is what a call block hands to its macro.
Value Evaluator::evaluate_call(const Expression& expression, Scope& scope, const Value* caller) {
  const Value callee = evaluate(*expression.operands[0], scope);
  Arguments arguments = evaluate_arguments(expression, scope);
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  place_ = expression.place;
  return call(callee, arguments);
}

Value Evaluator::call(const Value& callee, const Arguments& arguments) {
  if (callee.is_undefined()) throw Failure(callee.undefined_message());
  if (callee.is_object()) return call_object(callee.object(), arguments);
  if (!callee.is_function()) {
    throw Failure(std::string("a ") + callee.type_name() + " cannot be called");
  }
  const Function& function = callee.function();
  if (function.builtin == Builtin::kMacro) return call_macro(function, arguments);
  if (function.builtin == Builtin::kMethod) {
    return call_method(function.self, function.name, arguments, budget_);
  }
  return call_builtin(function.builtin, arguments);
}

// loop(items) of a recursive loop, and joiner().
Value Evaluator::call_object(Object& object, const Arguments& arguments) {
  if (object.kind == Object::Kind::kJoiner) {
    return object.at++ == 0 ? Value::string("") : object.separator;
  }
  if (object.kind != Object::Kind::kLoop) throw Failure("this object cannot be called");
  if (object.loop == nullptr) throw Failure("only a loop marked 'recursive' can be called");
  const Nesting nesting(*this);
  const Statement& loop = *object.loop;
  std::string out;
  List items = items_to_loop(loop, arguments.require(0, "iterable"), *object.scope);
  execute_loop(loop, std::move(items), object.depth + 1, *object.scope, out);
  return Value::string(std::move(out));
}

Value Evaluator::call_macro(const Function& function, const Arguments& arguments) {
  const Nesting nesting(*this);
  InnerScope scope(*this, function.scope);
  bind_parameters(*function.macro, arguments, *scope);
  std::string out;
  execute(function.macro->body, *scope, out);
  return Value::string(std::move(out));
}

void Evaluator::bind_parameters(const Statement& macro, const Arguments& arguments, Scope& scope) {
  const std::size_t num_parameters = macro.parameters.size();
  if (arguments.positional.size() > num_parameters && !macro.uses_varargs) {
    throw Failure("macro '" + macro.text + "' takes " + std::to_string(num_parameters) +
                  " arguments");
  }
  const std::size_t first_default = num_parameters - macro.defaults.size();
  for (std::size_t i = 0; i < num_parameters; ++i) {
    const std::string& name = macro.parameters[i];
    const Value* given = arguments.named_value(name);
    if (given != nullptr && i < arguments.positional.size()) {
      throw Failure("'" + name + "' is given twice");
    }
    if (i < arguments.positional.size()) given = &arguments.positional[i];
    Value value = Value::undefined(name);
    if (given != nullptr) {
      value = *given;
    } else if (i >= first_default) {
      value = evaluate(*macro.defaults[i - first_default], scope);
    }
    put(scope.variables, name, std::move(value));
  }
  List varargs;
  for (std::size_t i = num_parameters; i < arguments.positional.size(); ++i) {
    varargs.push_back(arguments.positional[i]);
  }
  Entries kwargs;
  for (const auto& [name, value] : arguments.named) {
    if (std::ranges::find(macro.parameters, name) != macro.parameters.end()) continue;
    if (name == "caller" && macro.uses_caller) {
      put(scope.variables, name, value);
    } else if (macro.uses_kwargs) {
      put(kwargs, name, value);
    } else {
      throw Failure("macro '" + macro.text + "' has no parameter '" + name + "'");
    }
  }
  if (macro.uses_caller && arguments.named_value("caller") == nullptr) {
    put(scope.variables, "caller", Value::undefined("caller"));
  }
  if (macro.uses_varargs) put(scope.variables, "varargs", Value::tuple(std::move(varargs)));
  if (macro.uses_kwargs) put(scope.variables, "kwargs", Value::map(std::move(kwargs)));
}

Value Evaluator::call_builtin(Builtin builtin, const Arguments& arguments) {
  switch (builtin) {
    case Builtin::kRaiseException:
      throw Error("chat", to_text(arguments.require(0, "message")));
    case Builtin::kStrftimeNow:
      return formatted_now(arguments.require(0, "format").text());
    case Builtin::kRange: {
      Value numbers = range(arguments);
      budget_.spend(numbers.weight());
      return numbers;
    }
    case Builtin::kDict: {
      Value map = Value::map_of(pairs_of(arguments));
      budget_.spend(map.weight());
      return map;
    }
    case Builtin::kNamespace:
      return new_object(Object::Kind::kNamespace, arguments);
    case Builtin::kCycler:
      return new_object(Object::Kind::kCycler, arguments);
    case Builtin::kJoiner:
      return new_object(Object::Kind::kJoiner, arguments);
    default:
      return {};
  }
}

Value Evaluator::new_object(Object::Kind kind, const Arguments& arguments) {
  auto object = std::make_shared<Object>(Object{.kind = kind});
  if (kind == Object::Kind::kNamespace) {
    object->entries = Value::map_of(pairs_of(arguments)).entries();
    namespaces_.push_back(object);
  } else if (kind == Object::Kind::kCycler) {
    if (arguments.positional.empty()) throw Failure("cycler takes at least one item");
    object->items = arguments.positional;
  } else {
    const Value* separator = arguments.find(0, "sep");
    object->separator = separator != nullptr ? *separator : Value::string(", ");
  }
  budget_.spend(100 + object->entries.size() + object->items.size());
  return Value::of(std::move(object));
}

}  // namespace tandem::model::jinja
