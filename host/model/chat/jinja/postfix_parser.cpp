// SPDX-License-Identifier: Apache-2.0
//
// Parses what follows an operand: attributes, subscripts, calls, filters, tests; and targets of
// assignments (declared in parser.h).
#include <algorithm>

#include "model/chat/jinja/filters.h"
#include "model/chat/jinja/parser.h"

namespace tandem::model::jinja {

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
  return parse_named_filter(std::move(input));
}

ExpressionPtr ExpressionParser::parse_block_filters() {
  return parse_filters(parse_named_filter(nullptr));
}

ExpressionPtr ExpressionParser::parse_named_filter(ExpressionPtr input) {
  ExpressionPtr filter = make(ExpressionKind::kFilter);
  filter->text = cursor_.expect_identifier();
  while (cursor_.skip_operator(".")) filter->text += '.' + cursor_.expect_identifier();
  if (!is_known_filter(filter->text)) {
    unknown_.emplace_back(filter->place, "unknown filter '" + filter->text.substr(0, 80) + "'");
  }
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
  const Place place = cursor_.place();
  std::string name;
  if (cursor_.skip_name("in")) {
    name = "in";
  } else {
    name = cursor_.expect_identifier();
  }
  if (!is_known_test(name)) {
    unknown_.emplace_back(place, "unknown test '" + name.substr(0, 80) + "'");
  }
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
    parse_argument(call);
    if (!cursor_.at_operator(")")) cursor_.expect_operator(",");
  }
}

void ExpressionParser::parse_argument(Expression& call) {
  const auto deepen = [&](const ExpressionPtr& value) {
    call.depth = std::max(call.depth, value->depth + 1);
    if (call.depth > kMaxExpressionDepth) cursor_.fail("the expression is nested too deep");
  };
  const Token& second = cursor_.peek_second();
  if (cursor_.skip_operator("**")) {
    if (call.spread_named) cursor_.fail("a second ** argument");
    call.spread_named = parse();
    deepen(call.spread_named);
  } else if (cursor_.skip_operator("*")) {
    if (!call.spread.empty() || call.spread_named) cursor_.fail("a second * argument");
    call.spread.push_back(call.operands.size());
    adopt(call, parse());
  } else if (cursor_.at(TokenType::kName) && second.type == TokenType::kOperator &&
             second.text == "=") {
    std::string name = cursor_.next().text;
    cursor_.expect_operator("=");
    ExpressionPtr value = parse();
    deepen(value);
    call.named.emplace_back(std::move(name), std::move(value));
  } else {
    if (!call.named.empty() || !call.spread.empty() || call.spread_named) {
      cursor_.fail("a positional argument behind a named or * one");
    }
    adopt(call, parse());
  }
}

ExpressionPtr ExpressionParser::parse_call() {
  ExpressionPtr call = parse_postfix(parse_primary());
  if (call->kind != ExpressionKind::kCall) cursor_.fail("expected a call");
  return call;
}

Target ExpressionParser::parse_single_target() {
  if (++nesting_ > kMaxExpressionDepth) cursor_.fail("the expression is nested too deep");
  Target target;
  if (cursor_.skip_operator("(")) {
    target = parse_target();
    cursor_.expect_operator(")");
  } else {
    for (const char* constant : {"true", "false", "none", "True", "False", "None"}) {
      if (cursor_.at_name(constant)) cursor_.fail("a constant cannot be set");
    }
    target.name = cursor_.expect_identifier();
    if (cursor_.skip_operator(".")) target.attribute = cursor_.expect_identifier();
  }
  --nesting_;
  return target;
}

Target ExpressionParser::parse_target() {
  Target target = parse_single_target();
  if (!cursor_.at_operator(",")) return target;
  Target tuple;
  tuple.parts.push_back(std::move(target));
  while (cursor_.skip_operator(",")) {
    if (cursor_.at_name("in") || cursor_.at_operator("=") || cursor_.at_operator(")")) break;
    tuple.parts.push_back(parse_single_target());
  }
  return tuple;
}

}  // namespace tandem::model::jinja
