// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic with Python's rules (declared in evaluator.h). An integer beyond 64 bits is a Failure.
#include <cmath>

#include "model/chat/jinja/evaluator.h"
#include "model/chat/jinja/python_format.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

std::int64_t checked(bool overflows, std::int64_t value) {
  if (overflows) throw Failure("an integer is out of range");
  return value;
}

[[noreturn]] void unsupported(const std::string& symbol, const Value& left, const Value& right) {
  for (const Value* side : {&left, &right}) {
    if (side->is_undefined()) throw Failure(side->undefined_message());
  }
  throw Failure(std::string("cannot compute ") + left.type_name() + " " + symbol + " " +
                right.type_name());
}

Value divide(const std::string& symbol, const Value& left, const Value& right) {
  if (right.number() == 0) throw Failure("division by zero");
  if (symbol == "/") return Value::real(left.number() / right.number());
  if (left.is_real() || right.is_real()) {
    const double floor = std::floor(left.number() / right.number());
    return Value::real(symbol == "//" ? floor : left.number() - floor * right.number());
  }
  const std::int64_t a = left.integer(), b = right.integer();
  checked(a == INT64_MIN && b == -1, 0);
  // C++ rounds towards zero, Python rounds down.
  const bool adjust = a % b != 0 && (a % b < 0) != (b < 0);
  return Value::integer(symbol == "//" ? a / b - (adjust ? 1 : 0) : a % b + (adjust ? b : 0));
}

Value power(const Value& left, const Value& right) {
  if (left.is_real() || right.is_real() || right.integer() < 0) {
    return Value::real(std::pow(left.number(), right.number()));
  }
  const std::int64_t base = left.integer();
  std::int64_t exponent = right.integer(), result = 1;
  if (base >= -1 && base <= 1 && exponent > 2) exponent = 2 + exponent % 2;
  for (; exponent > 0; --exponent) {
    const bool overflows = __builtin_mul_overflow(result, base, &result);
    checked(overflows, result);
  }
  return Value::integer(result);
}

Value add_sub_mul(const std::string& symbol, const Value& left, const Value& right) {
  const char kind = symbol[0];
  if (left.is_real() || right.is_real()) {
    const double a = left.number(), b = right.number();
    return Value::real(kind == '+' ? a + b : kind == '-' ? a - b : a * b);
  }
  const std::int64_t a = left.integer(), b = right.integer();
  std::int64_t result = 0;
  const bool overflows = kind == '+'   ? __builtin_add_overflow(a, b, &result)
                         : kind == '-' ? __builtin_sub_overflow(a, b, &result)
                                       : __builtin_mul_overflow(a, b, &result);
  return Value::integer(checked(overflows, result));
}

Value repeat(const Value& what, std::int64_t times) {
  const std::uint64_t count = times < 0 ? 0 : static_cast<std::uint64_t>(times);
  const std::uint64_t size = what.is_string() ? what.text().size() : what.weight();
  const std::uint64_t limit = what.is_string() ? Value::kMaxText : Value::kMaxWeight;
  if (size > 0 && count > limit / size) throw Failure("a value grows too large");
  if (what.is_string()) {
    std::string text;
    for (std::uint64_t i = 0; i < count && size > 0; ++i) text += what.text();
    return what.is_markup() ? Value::markup(std::move(text)) : Value::string(std::move(text));
  }
  List items;
  for (std::uint64_t i = 0; i < count; ++i) {
    items.insert(items.end(), what.items().begin(), what.items().end());
  }
  return Value::list(std::move(items), what.list_kind());
}

}  // namespace

Value arithmetic(const std::string& symbol, const Value& left, const Value& right) {
  if (symbol == "~") return Value::string(to_text(left) + to_text(right));
  if (symbol == "%" && left.is_string()) {
    return percent(left, right);
  }
  if (left.is_number() && right.is_number()) {
    if (symbol == "**") return power(left, right);
    if (symbol == "/" || symbol == "//" || symbol == "%") return divide(symbol, left, right);
    return add_sub_mul(symbol, left, right);
  }
  if (symbol == "+" && left.is_string() && right.is_string() &&
      (left.is_markup() || right.is_markup())) {
    return Value::markup(escaped(left) + escaped(right));
  }
  if (symbol == "+" && left.is_string() && right.is_string()) {
    return Value::string(left.text() + right.text());
  }
  if (symbol == "+" && left.is_list() && right.is_list() && left.list_kind() == right.list_kind() &&
      left.list_kind() <= ListKind::kTuple) {
    List items = left.items();
    items.insert(items.end(), right.items().begin(), right.items().end());
    return Value::list(std::move(items), left.list_kind());
  }
  if (symbol == "*") {
    const auto repeats = [](const Value& value) {
      return value.is_string() || (value.is_list() && value.list_kind() <= ListKind::kTuple);
    };
    const bool left_repeats = repeats(left);
    const Value& what = left_repeats ? left : right;
    const Value& times = left_repeats ? right : left;
    if (repeats(what) && (times.is_integer() || times.is_bool())) {
      return repeat(what, times.integer());
    }
  }
  unsupported(symbol, left, right);
}

Value negative(const Value& operand) {
  if (operand.is_real()) return Value::real(-operand.number());
  const std::int64_t value = operand.integer();
  return Value::integer(checked(value == INT64_MIN, value == INT64_MIN ? 0 : -value));
}

}  // namespace tandem::model::jinja
