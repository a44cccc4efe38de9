// SPDX-License-Identifier: Apache-2.0
//
// Expressions of the template language (declared in evaluator.h).
#include "model/chat/jinja/evaluator.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
Value Evaluator::evaluate(const Expression& expression, Scope& scope) {
  const Nesting nesting(*this);
  budget_.spend(1);
  place_ = expression.place;
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
      return find_name(expression.text, scope);
    case ExpressionKind::kList:
    case ExpressionKind::kTuple:
      return evaluate_list(expression, scope);
    case ExpressionKind::kMap:
      return evaluate_map(expression, scope);
    case ExpressionKind::kAttribute:
      return attribute_of(operand(0), expression.text);
    case ExpressionKind::kItem: {
      const Value object = operand(0);
      budget_.spend(object.is_string() ? object.weight() : 1);
      return item_of(object, operand(1));
    }
    case ExpressionKind::kSlice:
      return evaluate_slice(expression, scope);
    case ExpressionKind::kCall:
      return evaluate_call(expression, scope, nullptr);
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

Value Evaluator::find_name(const std::string& name, const Scope& scope) {
  for (const Scope* at = &scope; at != nullptr; at = at->parent) {
    budget_.spend(1 + at->variables.size() / 16);
    for (const auto& [existing, value] : at->variables) {
      if (existing == name) return value;
    }
  }
  return Value::undefined(name);
}

Value Evaluator::evaluate_list(const Expression& expression, Scope& scope) {
  List items;
  for (const ExpressionPtr& operand : expression.operands) {
    items.push_back(evaluate(*operand, scope));
  }
  return Value::list(std::move(items), expression.kind == ExpressionKind::kTuple ? ListKind::kTuple
                                                                                 : ListKind::kList);
}

Value Evaluator::evaluate_map(const Expression& expression, Scope& scope) {
  Pairs pairs;
  for (std::size_t i = 0; i + 1 < expression.operands.size(); i += 2) {
    const Value key = evaluate(*expression.operands[i], scope);
    budget_.spend(1 + pairs.size() * key.weight());
    put_pair(pairs, key, evaluate(*expression.operands[i + 1], scope));
  }
  return Value::map_of(std::move(pairs));
}

Value Evaluator::evaluate_slice(const Expression& expression, Scope& scope) {
  const Value object = evaluate(*expression.operands[0], scope);
  budget_.spend(object.weight());
  const auto bound = [&](std::size_t index) {
    const ExpressionPtr& operand = expression.operands[index];
    return operand ? evaluate(*operand, scope) : Value::none();
  };
  const Value start = bound(1), stop = bound(2);
  return slice_of(object, start, stop, bound(3));
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
  place_ = expression.place;
  return apply_filter(expression.text, input, arguments, budget_);
}

}  // namespace tandem::model::jinja
