// SPDX-License-Identifier: Apache-2.0
//
// Expressions of the template language (declared in evaluator.h).
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
  if (distance == 0) return Value::list({});
  const std::uint64_t total = (distance - 1) / stride + 1;
  if (total > kMaxRange) throw Failure("range is too long");
  for (std::uint64_t i = 0; i < total; ++i) {
    const std::uint64_t offset = i * stride;
    items.push_back(
        Value::integer(static_cast<std::int64_t>(step > 0 ? first + offset : first - offset)));
  }
  return Value::list(std::move(items));
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

Value Evaluator::evaluate(const Expression& expression, Scope& scope) {
  const Nesting nesting(*this);
  budget_.spend(1);
  line_ = expression.line;
  return evaluate_kind(expression, scope);
}

Value Evaluator::evaluate_optional(const ExpressionPtr& expression, Scope& scope) {
  return expression ? evaluate(*expression, scope) : Value();
}

Value Evaluator::evaluate_kind(const Expression& expression, Scope& scope) {
  const auto operand = [&](std::size_t index) {
    return evaluate(*expression.operands[index], scope);
  };
  switch (expression.kind) {
    case ExpressionKind::kConstant:
      return expression.constant;
    case ExpressionKind::kName:
      return evaluate_name(expression, scope);
    case ExpressionKind::kList:
      return evaluate_list(expression, scope);
    case ExpressionKind::kMap:
      return evaluate_map(expression, scope);
    case ExpressionKind::kAttribute:
      return item_of(operand(0), Value::string(expression.text));
    case ExpressionKind::kItem: {
      const Value object = operand(0);
      budget_.spend(object.is_string() ? object.weight() : 1);
      return item_of(object, operand(1));
    }
    case ExpressionKind::kSlice:
      return evaluate_slice(expression, scope);
    case ExpressionKind::kCall:
      return evaluate_call(expression, scope);
    case ExpressionKind::kFilter:
      return evaluate_filter(expression, scope);
    case ExpressionKind::kTest:
      return Value::boolean(
          apply_test(expression.text, operand(0), evaluate_arguments(expression, scope), budget_));
    case ExpressionKind::kNot:
      return Value::boolean(!operand(0).truthy());
    case ExpressionKind::kNegative:
      return negative(operand(0));
    case ExpressionKind::kAnd: {
      Value left = operand(0);
      return left.truthy() ? operand(1) : left;
    }
    case ExpressionKind::kOr: {
      Value left = operand(0);
      return left.truthy() ? left : operand(1);
    }
    case ExpressionKind::kArithmetic: {
      Value left = operand(0);
      Value result = arithmetic(expression.text, left, operand(1));
      budget_.spend(result.weight());
      return result;
    }
    case ExpressionKind::kComparison:
      return evaluate_comparison(expression, scope);
    case ExpressionKind::kConditional:
      return evaluate_conditional(expression, scope);
  }
  return {};
}

Value Evaluator::evaluate_name(const Expression& expression, Scope& scope) {
  for (const Scope* at = &scope; at != nullptr; at = at->parent) {
    budget_.spend(1 + at->variables.size() / 16);
    for (const auto& [name, value] : at->variables) {
      if (name == expression.text) return value;
    }
  }
  return Value::undefined(expression.text);
}

Value Evaluator::evaluate_list(const Expression& expression, Scope& scope) {
  List items;
  for (const ExpressionPtr& operand : expression.operands) {
    items.push_back(evaluate(*operand, scope));
  }
  return Value::list(std::move(items));
}

Value Evaluator::evaluate_map(const Expression& expression, Scope& scope) {
  Entries entries;
  for (std::size_t i = 0; i + 1 < expression.operands.size(); i += 2) {
    const Value key = evaluate(*expression.operands[i], scope);
    budget_.spend(1 + entries.size());
    put(entries, key.text(), evaluate(*expression.operands[i + 1], scope));
  }
  return Value::map(std::move(entries));
}

Value Evaluator::evaluate_slice(const Expression& expression, Scope& scope) {
  const Value object = evaluate(*expression.operands[0], scope);
  budget_.spend(object.weight());
  const Value start = evaluate_optional(expression.operands[1], scope);
  const Value stop = evaluate_optional(expression.operands[2], scope);
  return slice_of(object, start, stop, evaluate_optional(expression.operands[3], scope));
}

bool Evaluator::compare(const std::string& symbol, const Value& left, const Value& right) {
  budget_.spend(left.weight());
  if (symbol == "==") return left.equals(right);
  if (symbol == "!=") return !left.equals(right);
  if (symbol == "<") return left.less_than(right);
  if (symbol == ">") return right.less_than(left);
  if (symbol == "<=") return !right.less_than(left);
  if (symbol == ">=") return !left.less_than(right);
  return contains(right, left, budget_) == (symbol == "in");
}

Value Evaluator::evaluate_comparison(const Expression& expression, Scope& scope) {
  Value left = evaluate(*expression.operands[0], scope);
  for (std::size_t i = 0; i < expression.comparisons.size(); ++i) {
    Value right = evaluate(*expression.operands[i + 1], scope);
    if (!compare(expression.comparisons[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Evaluator::evaluate_conditional(const Expression& expression, Scope& scope) {
  if (evaluate(*expression.operands[1], scope).truthy()) {
    return evaluate(*expression.operands[0], scope);
  }
  return evaluate_optional(expression.operands[2], scope);
}

Value Evaluator::evaluate_filter(const Expression& expression, Scope& scope) {
  const Value input =
      expression.operands[0] ? evaluate(*expression.operands[0], scope) : block_text_;
  const Arguments arguments = evaluate_arguments(expression, scope);
  line_ = expression.line;
  return apply_filter(expression.text, input, arguments, budget_);
}

Arguments Evaluator::evaluate_arguments(const Expression& call, Scope& scope) {
  Arguments arguments;
  for (std::size_t i = 1; i < call.operands.size(); ++i) {
    arguments.positional.push_back(evaluate(*call.operands[i], scope));
  }
  for (const auto& [name, value] : call.named) {
    arguments.named.emplace_back(name, evaluate(*value, scope));
  }
  return arguments;
}

Value Evaluator::evaluate_call(const Expression& expression, Scope& scope) {
  const Expression& callee = *expression.operands[0];
  const Arguments arguments = evaluate_arguments(expression, scope);
  if (callee.kind == ExpressionKind::kAttribute) return call_attribute(callee, arguments, scope);
  return call_function(evaluate(callee, scope), arguments);
}

Value Evaluator::call_attribute(const Expression& callee, const Arguments& arguments,
                                Scope& scope) {
  const Value object = evaluate(*callee.operands[0], scope);
  line_ = callee.line;
  if (auto result = call_method(object, callee.text, arguments, budget_)) return *std::move(result);
  const Value member = item_of(object, Value::string(callee.text));
  if (member.is_function()) return call_function(member, arguments);
  const Value* index = object.find("index0");
  if (callee.text == "cycle" && index != nullptr && !arguments.positional.empty()) {
    const auto turn = static_cast<std::size_t>(index->integer());
    return arguments.positional[turn % arguments.positional.size()];
  }
  throw Failure(std::string("a ") + object.type_name() + " has no method '" + callee.text + "'");
}

Value Evaluator::call_function(const Value& callee, const Arguments& arguments) {
  if (callee.is_undefined()) throw Failure(callee.undefined_message());
  if (!callee.is_function()) {
    throw Failure(std::string("a ") + callee.type_name() + " cannot be called");
  }
  const Function& function = callee.function();
  return function.macro != nullptr ? call_macro(*function.macro, arguments)
                                   : call_builtin(function.builtin, arguments);
}

Value Evaluator::call_macro(const Statement& macro, const Arguments& arguments) {
  const Nesting nesting(*this);
  const std::size_t num_parameters = macro.targets.size();
  if (arguments.positional.size() > num_parameters) {
    throw Failure("macro '" + macro.text + "' takes " + std::to_string(num_parameters) +
                  " arguments");
  }
  Scope scope{&globals_, {}};
  const std::size_t first_default = num_parameters - macro.defaults.size();
  for (std::size_t i = 0; i < num_parameters; ++i) {
    const Value* given = arguments.find(i, macro.targets[i].c_str());
    Value value = Value::undefined(macro.targets[i]);
    if (given != nullptr) {
      value = *given;
    } else if (i >= first_default) {
      value = evaluate(*macro.defaults[i - first_default], scope);
    }
    put(scope.variables, macro.targets[i], std::move(value));
  }
  std::string out;
  execute(macro.body, scope, out);
  return Value::string(std::move(out));
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
    case Builtin::kNamespace:
    case Builtin::kDict: {
      Entries entries;
      if (!arguments.positional.empty()) entries = arguments.positional[0].entries();
      for (const auto& [name, value] : arguments.named) put(entries, name, value);
      if (builtin == Builtin::kDict) return Value::map(std::move(entries));
      budget_.spend(10 + entries.size());
      return Value::of(&namespaces_.emplace_back(Namespace{std::move(entries)}));
    }
  }
  return {};
}

}  // namespace tandem::model::jinja
