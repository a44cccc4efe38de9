// SPDX-License-Identifier: Apache-2.0
//
// Parser: tokens -> tree, with Jinja's precedence and statement forms.
//
// Supported statements: if, for (with filter and else), set (values, tuples, namespace attributes,
// blocks), macro, break, continue, raw, generation. Filters and tests must be known. Nesting is
// bounded. Errors: Error("chat", "template line N: ...") naming the construct.
#pragma once

#include "model/chat/jinja/ast.h"
#include "model/chat/jinja/token_cursor.h"

namespace tandem::model::jinja {

std::vector<Statement> parse(const std::string& source);

// Parses expressions at the cursor.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenCursor& cursor) : cursor_(cursor) {}

  ExpressionPtr parse();                    // with a conditional
  ExpressionPtr parse_without_condition();  // as after `in` of a for
  ExpressionPtr parse_tuple();              // one expression, or several with commas: a list
  // The filters after `input`. Null stands for the text of a set block.
  ExpressionPtr parse_filters(ExpressionPtr input);

 private:
  ExpressionPtr make(ExpressionKind kind, std::string text = {});
  void adopt(Expression& parent, ExpressionPtr child);
  ExpressionPtr binary(ExpressionKind kind, std::string text, ExpressionPtr left,
                       ExpressionPtr right);
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  std::string comparison_operator();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concatenation();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filters);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_name_or_constant();
  ExpressionPtr parse_number();
  ExpressionPtr parse_parenthesis();
  ExpressionPtr parse_list();
  ExpressionPtr parse_map();
  ExpressionPtr parse_postfix(ExpressionPtr operand);
  ExpressionPtr parse_subscript(ExpressionPtr operand);
  ExpressionPtr parse_filter(ExpressionPtr input);
  ExpressionPtr parse_test(ExpressionPtr operand);
  bool starts_test_argument() const;
  void parse_arguments(Expression& call);

  TokenCursor& cursor_;
  int nesting_ = 0;
};

}  // namespace tandem::model::jinja
