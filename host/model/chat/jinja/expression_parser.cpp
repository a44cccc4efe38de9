// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent over expressions (declared in parser.h).
#include <algorithm>
#include <charconv>

#include "model/chat/jinja/filters.h"
#include "model/chat/jinja/parser.h"

namespace tandem::model::jinja {
ExpressionPtr ExpressionParser::make(ExpressionKind kind, std::string text) {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->place = cursor_.place();
  expression->text = std::move(text);
  return expression;
}

void ExpressionParser::adopt(Expression& parent, ExpressionPtr child) {
  if (child) {
    parent.depth = std::max(parent.depth, child->depth + 1);
    if (parent.depth > kMaxExpressionDepth) cursor_.fail("the expression is nested too deep");
  }
  parent.operands.push_back(std::move(child));
}

ExpressionPtr ExpressionParser::binary(ExpressionKind kind, std::string text, ExpressionPtr left,
                                       ExpressionPtr right) {
  ExpressionPtr expression = make(kind, std::move(text));
  adopt(*expression, std::move(left));
  adopt(*expression, std::move(right));
  return expression;
}

ExpressionPtr ExpressionParser::parse() {
  const std::size_t num_unknown = unknown_.size();
  ExpressionPtr value = parse_or();
  while (cursor_.skip_name("if")) {
    ExpressionPtr conditional = make(ExpressionKind::kConditional);
    adopt(*conditional, std::move(value));
    adopt(*conditional, parse_or());
    adopt(*conditional, cursor_.skip_name("else") ? parse() : nullptr);
    value = std::move(conditional);
    unknown_.resize(num_unknown);  // found out when it is reached
  }
  return value;
}

void ExpressionParser::check_names(bool inside_if) {
  if (!inside_if && !unknown_.empty()) fail_at(unknown_.front().first, unknown_.front().second);
  unknown_.clear();
}

ExpressionPtr ExpressionParser::parse_tuple() { return parse_tuple_of(&ExpressionParser::parse); }

ExpressionPtr ExpressionParser::parse_tuple_without_condition() {
  return parse_tuple_of(&ExpressionParser::parse_or);
}

ExpressionPtr ExpressionParser::parse_tuple_of(ExpressionPtr (ExpressionParser::*parse_item)()) {
  ExpressionPtr first = (this->*parse_item)();
  if (!cursor_.at_operator(",")) return first;
  ExpressionPtr list = make(ExpressionKind::kTuple);
  adopt(*list, std::move(first));
  while (cursor_.skip_operator(",")) {
    if (cursor_.at(TokenType::kBlockEnd) || cursor_.at(TokenType::kPrintEnd) ||
        cursor_.at_operator(")") || cursor_.at_operator("]") || cursor_.at_name("recursive")) {
      break;
    }
    adopt(*list, (this->*parse_item)());
  }
  return list;
}

ExpressionPtr ExpressionParser::parse_or() {
  // Every nested expression passes here: the recursion is bounded before the stack ends.
  if (++nesting_ > kMaxExpressionDepth) cursor_.fail("the expression is nested too deep");
  ExpressionPtr left = parse_and();
  while (cursor_.skip_name("or")) {
    left = binary(ExpressionKind::kOr, {}, std::move(left), parse_and());
  }
  --nesting_;
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (cursor_.skip_name("and")) {
    left = binary(ExpressionKind::kAnd, {}, std::move(left), parse_not());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  int count = 0;
  while (cursor_.skip_name("not")) ++count;
  ExpressionPtr operand = parse_comparison();
  // An even number of them still makes a boolean.
  for (int i = 0; i < (count > 2 ? 2 - count % 2 : count); ++i) {
    ExpressionPtr negation = make(ExpressionKind::kNot);
    adopt(*negation, std::move(operand));
    operand = std::move(negation);
  }
  return operand;
}

// "==", "in", "not in", ...; empty if the next token is no comparison.
std::string ExpressionParser::comparison_operator() {
  for (const char* symbol : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (cursor_.skip_operator(symbol)) return symbol;
  }
  if (cursor_.skip_name("in")) return "in";
  const Token& second = cursor_.peek_second();
  if (cursor_.at_name("not") && second.type == TokenType::kName && second.text == "in") {
    cursor_.next();
    cursor_.next();
    return "not in";
  }
  return {};
}

ExpressionPtr ExpressionParser::parse_comparison() {
  ExpressionPtr first = parse_sum();
  std::string symbol = comparison_operator();
  if (symbol.empty()) return first;
  ExpressionPtr comparison = make(ExpressionKind::kComparison);
  adopt(*comparison, std::move(first));
  for (; !symbol.empty(); symbol = comparison_operator()) {
    comparison->comparisons.push_back(symbol);
    adopt(*comparison, parse_sum());
  }
  return comparison;
}

ExpressionPtr ExpressionParser::parse_sum() {
  ExpressionPtr left = parse_concatenation();
  while (cursor_.at_operator("+") || cursor_.at_operator("-")) {
    std::string symbol = cursor_.next().text;
    left = binary(ExpressionKind::kArithmetic, symbol, std::move(left), parse_concatenation());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concatenation() {
  ExpressionPtr left = parse_product();
  while (cursor_.skip_operator("~")) {
    left = binary(ExpressionKind::kArithmetic, "~", std::move(left), parse_product());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_product() {
  ExpressionPtr left = parse_power();
  while (cursor_.at_operator("*") || cursor_.at_operator("/") || cursor_.at_operator("//") ||
         cursor_.at_operator("%")) {
    std::string symbol = cursor_.next().text;
    left = binary(ExpressionKind::kArithmetic, symbol, std::move(left), parse_power());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_power() {
  ExpressionPtr left = parse_unary(true);
  while (cursor_.skip_operator("**")) {
    left = binary(ExpressionKind::kArithmetic, "**", std::move(left), parse_unary(true));
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filters) {
  if (++nesting_ > kMaxExpressionDepth) cursor_.fail("the expression is nested too deep");
  ExpressionPtr operand;
  if (cursor_.skip_operator("-")) {
    operand = make(ExpressionKind::kNegative);
    adopt(*operand, parse_unary(false));
  } else if (cursor_.skip_operator("+")) {  // +x is -(-x): an error where x is no number
    ExpressionPtr inner = make(ExpressionKind::kNegative);
    adopt(*inner, parse_unary(false));
    operand = make(ExpressionKind::kNegative);
    adopt(*operand, std::move(inner));
  } else {
    operand = parse_primary();
  }
  operand = parse_postfix(std::move(operand));
  if (with_filters) operand = parse_filters(std::move(operand));
  --nesting_;
  return operand;
}

ExpressionPtr ExpressionParser::parse_primary() {
  switch (cursor_.peek().type) {
    case TokenType::kName:
      return parse_name_or_constant();
    case TokenType::kInteger:
    case TokenType::kReal:
      return parse_number();
    case TokenType::kString: {
      ExpressionPtr literal = make(ExpressionKind::kConstant);
      std::string text;  // literals side by side are one
      while (cursor_.at(TokenType::kString)) text += cursor_.next().text;
      literal->constant = Value::string(std::move(text));
      return literal;
    }
    default:
      break;
  }
  if (cursor_.at_operator("(")) return parse_parenthesis();
  if (cursor_.at_operator("[")) return parse_list();
  if (cursor_.at_operator("{")) return parse_map();
  cursor_.fail("expected an expression");
}

ExpressionPtr ExpressionParser::parse_name_or_constant() {
  ExpressionPtr expression = make(ExpressionKind::kName, cursor_.peek().text);
  const std::string name = cursor_.next().text;
  const auto constant = [&](Value value) {
    expression->kind = ExpressionKind::kConstant;
    expression->constant = std::move(value);
  };
  if (name == "true" || name == "True") constant(Value::boolean(true));
  if (name == "false" || name == "False") constant(Value::boolean(false));
  if (name == "none" || name == "None") constant(Value::none());
  return expression;
}

ExpressionPtr ExpressionParser::parse_number() {
  ExpressionPtr literal = make(ExpressionKind::kConstant);
  const Token token = cursor_.next();
  const char* end = token.text.data() + token.text.size();
  std::from_chars_result result{};
  if (token.type == TokenType::kReal) {
    double value = 0;
    result = std::from_chars(token.text.data(), end, value);
    literal->constant = Value::real(value);
  } else {
    std::int64_t value = 0;
    result = std::from_chars(token.text.data(), end, value);
    literal->constant = Value::integer(value);
  }
  if (result.ec != std::errc() || result.ptr != end) cursor_.fail("a number out of range");
  return literal;
}

ExpressionPtr ExpressionParser::parse_parenthesis() {
  cursor_.expect_operator("(");
  if (cursor_.skip_operator(")")) return make(ExpressionKind::kTuple);
  ExpressionPtr inside = parse_tuple();
  cursor_.expect_operator(")");
  return inside;
}

ExpressionPtr ExpressionParser::parse_list() {
  ExpressionPtr list = make(ExpressionKind::kList);
  cursor_.expect_operator("[");
  while (!cursor_.skip_operator("]")) {
    adopt(*list, parse());
    if (!cursor_.at_operator("]")) cursor_.expect_operator(",");
  }
  return list;
}

ExpressionPtr ExpressionParser::parse_map() {
  ExpressionPtr map = make(ExpressionKind::kMap);
  cursor_.expect_operator("{");
  while (!cursor_.skip_operator("}")) {
    adopt(*map, parse());
    cursor_.expect_operator(":");
    adopt(*map, parse());
    if (!cursor_.at_operator("}")) cursor_.expect_operator(",");
  }
  return map;
}

}  // namespace tandem::model::jinja
