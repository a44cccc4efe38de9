// SPDX-License-Identifier: Apache-2.0
//
// Recursive descent over expressions (declared in parser.h).
#include <algorithm>
#include <charconv>

#include "model/chat/jinja/filters.h"
#include "model/chat/jinja/parser.h"

namespace tandem::model::jinja {
namespace {

constexpr int kMaxDepth = 200;

}  // namespace

ExpressionPtr ExpressionParser::make(ExpressionKind kind, std::string text) {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->line = cursor_.line();
  expression->text = std::move(text);
  return expression;
}

void ExpressionParser::adopt(Expression& parent, ExpressionPtr child) {
  if (child) {
    parent.depth = std::max(parent.depth, child->depth + 1);
    if (parent.depth > kMaxDepth) cursor_.fail("the expression is nested too deep");
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
  ExpressionPtr value = parse_or();
  while (cursor_.skip_name("if")) {
    ExpressionPtr conditional = make(ExpressionKind::kConditional);
    adopt(*conditional, std::move(value));
    adopt(*conditional, parse_or());
    adopt(*conditional, cursor_.skip_name("else") ? parse() : nullptr);
    value = std::move(conditional);
  }
  return value;
}

ExpressionPtr ExpressionParser::parse_without_condition() { return parse_or(); }

ExpressionPtr ExpressionParser::parse_tuple() {
  ExpressionPtr first = parse();
  if (!cursor_.at_operator(",")) return first;
  ExpressionPtr list = make(ExpressionKind::kList);
  adopt(*list, std::move(first));
  while (cursor_.skip_operator(",")) {
    if (cursor_.at(TokenType::kBlockEnd) || cursor_.at(TokenType::kPrintEnd) ||
        cursor_.at_operator(")")) {
      break;
    }
    adopt(*list, parse());
  }
  return list;
}

ExpressionPtr ExpressionParser::parse_or() {
  // Every nested expression passes here: the recursion is bounded before the stack ends.
  if (++nesting_ > kMaxDepth) cursor_.fail("the expression is nested too deep");
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
  if (++nesting_ > kMaxDepth) cursor_.fail("the expression is nested too deep");
  ExpressionPtr operand;
  if (cursor_.skip_operator("-")) {
    operand = make(ExpressionKind::kNegative);
    adopt(*operand, parse_unary(false));
  } else if (cursor_.skip_operator("+")) {
    operand = parse_unary(false);
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
  if (cursor_.skip_operator(")")) return make(ExpressionKind::kList);
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

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr operand) {
  while (true) {
    if (cursor_.skip_operator(".")) {
      const bool is_index = cursor_.at(TokenType::kInteger);
      ExpressionPtr access =
          make(is_index ? ExpressionKind::kItem : ExpressionKind::kAttribute, cursor_.peek().text);
      adopt(*access, std::move(operand));
      if (is_index) {
        adopt(*access, parse_number());
      } else {
        cursor_.expect_identifier();
      }
      operand = std::move(access);
    } else if (cursor_.at_operator("[")) {
      operand = parse_subscript(std::move(operand));
    } else if (cursor_.at_operator("(")) {
      ExpressionPtr call = make(ExpressionKind::kCall);
      adopt(*call, std::move(operand));
      parse_arguments(*call);
      operand = std::move(call);
    } else {
      return operand;
    }
  }
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr operand) {
  cursor_.expect_operator("[");
  ExpressionPtr access = make(ExpressionKind::kItem);
  adopt(*access, std::move(operand));
  const auto ends = [&] { return cursor_.at_operator(":") || cursor_.at_operator("]"); };
  adopt(*access, ends() ? nullptr : parse_tuple());
  while (cursor_.skip_operator(":")) {
    access->kind = ExpressionKind::kSlice;
    adopt(*access, ends() ? nullptr : parse());
  }
  cursor_.expect_operator("]");
  const bool is_item = access->kind == ExpressionKind::kItem;
  if (access->operands.size() > 4 || (is_item && !access->operands[1])) {
    cursor_.fail("a subscript is [index] or [start:stop:step]");
  }
  if (!is_item) access->operands.resize(4);
  return access;
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr input) {
  while (true) {
    if (cursor_.at_operator("|")) {
      input = parse_filter(std::move(input));
    } else if (!input) {
      return input;
    } else if (cursor_.at_name("is")) {
      input = parse_test(std::move(input));
    } else if (cursor_.at_operator("(")) {
      ExpressionPtr call = make(ExpressionKind::kCall);
      adopt(*call, std::move(input));
      parse_arguments(*call);
      input = std::move(call);
    } else {
      return input;
    }
  }
}

ExpressionPtr ExpressionParser::parse_filter(ExpressionPtr input) {
  cursor_.expect_operator("|");
  ExpressionPtr filter = make(ExpressionKind::kFilter, cursor_.expect_identifier());
  if (!is_known_filter(filter->text)) cursor_.fail("unknown filter '" + filter->text + "'");
  adopt(*filter, std::move(input));
  if (cursor_.at_operator("(")) parse_arguments(*filter);
  return filter;
}

bool ExpressionParser::starts_test_argument() const {
  switch (cursor_.peek().type) {
    case TokenType::kString:
    case TokenType::kInteger:
    case TokenType::kReal:
      return true;
    case TokenType::kName:
      for (const char* keyword : {"else", "or", "and", "is", "if", "in", "not"}) {
        if (cursor_.at_name(keyword)) return false;
      }
      return true;
    default:
      return cursor_.at_operator("[") || cursor_.at_operator("{");
  }
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr operand) {
  cursor_.expect_name("is");
  const bool negated = cursor_.skip_name("not");
  std::string name;
  if (cursor_.skip_name("in")) {
    name = "in";
  } else if (cursor_.at(TokenType::kOperator) && is_known_test(cursor_.peek().text)) {
    name = cursor_.next().text;
  } else {
    name = cursor_.expect_identifier();
  }
  if (!is_known_test(name)) cursor_.fail("unknown test '" + name + "'");
  ExpressionPtr test = make(ExpressionKind::kTest, name);
  adopt(*test, std::move(operand));
  if (cursor_.at_operator("(")) {
    parse_arguments(*test);
  } else if (starts_test_argument()) {
    adopt(*test, parse_postfix(parse_primary()));
  }
  if (!negated) return test;
  ExpressionPtr negation = make(ExpressionKind::kNot);
  adopt(*negation, std::move(test));
  return negation;
}

void ExpressionParser::parse_arguments(Expression& call) {
  cursor_.expect_operator("(");
  while (!cursor_.skip_operator(")")) {
    const Token& second = cursor_.peek_second();
    if (cursor_.at(TokenType::kName) && second.type == TokenType::kOperator && second.text == "=") {
      std::string name = cursor_.next().text;
      cursor_.expect_operator("=");
      ExpressionPtr value = parse();
      call.depth = std::max(call.depth, value->depth + 1);
      call.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!call.named.empty()) cursor_.fail("a positional argument behind a named one");
      adopt(call, parse());
    }
    if (!cursor_.at_operator(")")) cursor_.expect_operator(",");
  }
}

}  // namespace tandem::model::jinja
