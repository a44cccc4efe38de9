// SPDX-License-Identifier: Apache-2.0
//
// Expressions by recursive descent, of limited depth.
#include "planner/circuit/qasm_cursor.h"

#include <cmath>
#include <numbers>

#include "common/number.h"

namespace tandem::planner {
namespace {

constexpr int kMostNested = 200;

}  // namespace

std::string QasmCursor::shown() const { return is_end() ? "the end" : "'" + word().text + "'"; }

void QasmCursor::expect(std::string_view mark) {
  if (take(mark)) return;
  std::string text = "'";
  refuse_qasm(line(), text.append(mark).append("' was expected, not ").append(shown()));
}

std::string QasmCursor::name(const char* what) {
  if (word().kind != QasmKind::kName) {
    refuse_qasm(line(), std::string(what) + " was expected, not " + shown());
  }
  std::string text = word().text;
  move();
  return text;
}

std::int64_t QasmCursor::whole(const char* what, std::int64_t least, std::int64_t most) {
  const auto number = number_of<std::int64_t>(word().text);
  if (word().kind != QasmKind::kNumber || !number || *number < least || *number > most) {
    refuse_qasm(line(), std::string(what) + " from " + std::to_string(least) + " to " +
                            std::to_string(most) + " was expected, not " + shown());
  }
  move();
  return *number;
}

double QasmCursor::expression(const QasmParameters& parameters) {
  const std::int64_t begin = line();
  const double value = sum(parameters);
  if (!std::isfinite(value)) refuse_qasm(begin, "the parameter is not finite");
  return value;
}

double QasmCursor::sum(const QasmParameters& parameters) {
  if (++depth_ > kMostNested) refuse_qasm(line(), "the expression is nested too deeply");
  double value = product(parameters);
  while (is_at("+") || is_at("-")) {
    const double sign = is_at("+") ? 1 : -1;
    move();
    value += sign * product(parameters);
  }
  --depth_;
  return value;
}

double QasmCursor::product(const QasmParameters& parameters) {
  double value = power(parameters);
  while (is_at("*") || is_at("/")) {
    const bool is_division = is_at("/");
    move();
    const double other = power(parameters);
    value = is_division ? value / other : value * other;
  }
  return value;
}

double QasmCursor::power(const QasmParameters& parameters) {
  if (++depth_ > kMostNested) refuse_qasm(line(), "the expression is nested too deeply");
  double value = 0;
  if (take("-")) {
    value = -power(parameters);
  } else if (take("+")) {
    value = power(parameters);
  } else {
    value = atom(parameters);
    if (take("^")) value = std::pow(value, power(parameters));
  }
  --depth_;
  return value;
}

double QasmCursor::atom(const QasmParameters& parameters) {
  if (take("(")) {
    const double value = sum(parameters);
    expect(")");
    return value;
  }
  if (word().kind == QasmKind::kName) return named_value(parameters);
  const auto number = number_of<double>(word().text);
  if (word().kind != QasmKind::kNumber || !number) {
    refuse_qasm(line(), "a number was expected, not " + shown());
  }
  move();
  return *number;
}

double QasmCursor::named_value(const QasmParameters& parameters) {
  const std::int64_t begin = line();
  const std::string text = name("a number");
  if (const auto found = parameters.find(text); found != parameters.end()) return found->second;
  if (text == "pi") return std::numbers::pi;
  using Function = double (*)(double);
  static constexpr std::pair<std::string_view, Function> kFunctions[] = {{"sin", [](double x) { return std::sin(x); }},
                                                                         {"cos", [](double x) { return std::cos(x); }},
                                                                         {"tan", [](double x) { return std::tan(x); }},
                                                                         {"exp", [](double x) { return std::exp(x); }},
                                                                         {"sqrt", [](double x) { return std::sqrt(x); }},
                                                                         {"ln", [](double x) { return std::log(x); }}};
  for (const auto& [known, function] : kFunctions) {
    if (text != known) continue;
    expect("(");
    const double value = sum(parameters);
    expect(")");
    return function(value);
  }
  refuse_qasm(begin, "'" + text + "' is not a number, a parameter or a function");
}

}  // namespace tandem::planner
