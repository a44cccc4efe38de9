// SPDX-License-Identifier: Apache-2.0
//
// Parser: makes a tree from tokens, with Jinja's precedence and statement forms.
//
// All statements of Jinja2 with loop controls, and Hugging Face's generation. An unknown filter or
// test is an error, except inside an `if`: there, as in Jinja2, only when it is reached. Nesting is
// bounded. Errors: Failure, "template line N, column M: ..." naming the construct.
#pragma once

#include "model/chat/jinja/ast.h"
#include "model/chat/jinja/token_cursor.h"

namespace tandem::model::jinja {

inline constexpr int kMaxExpressionDepth = 200;

std::vector<Statement> parse(const std::string& source);

// Parses expressions at the cursor.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenCursor& cursor) : cursor_(cursor) {}

  ExpressionPtr parse();                          // with a conditional
  ExpressionPtr parse_tuple();                    // one expression, or several with commas: a tuple
  ExpressionPtr parse_tuple_without_condition();  // as after `if`, and `in` of a for
  // The filters after `input`. A null `input` stands for the text of a set block.
  ExpressionPtr parse_filters(ExpressionPtr input);
  ExpressionPtr parse_block_filters();  // of a filter block: the first name has no |
  ExpressionPtr parse_call();           // the callee of {% call %}
  Target parse_target();                // of a set or for, with commas: a tuple
  Target parse_single_target();

  // Throws for the first unknown name since the last call; inside an `if` the name is only
  // forgotten.
  void check_names(bool inside_if);

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
  void parse_argument(Expression& call);
  ExpressionPtr parse_named_filter(ExpressionPtr input);
  ExpressionPtr parse_tuple_of(ExpressionPtr (ExpressionParser::*parse_item)());

  TokenCursor& cursor_;
  int nesting_ = 0;
  std::vector<std::pair<Place, std::string>> unknown_;  // filters and tests
};

}  // namespace tandem::model::jinja
