// SPDX-License-Identifier: Apache-2.0
//
// The tree of a parsed template. The parser bounds its depth, so code may recurse over it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/chat/jinja/value.h"

namespace tandem::model::jinja {

enum class ExpressionKind {
  kConstant,     // constant
  kName,         // text
  kList,         // operands
  kMap,          // operands: key, value, key, value, ...
  kAttribute,    // operands[0] . text
  kItem,         // operands[0] [ operands[1] ]
  kSlice,        // operands[0] [ operands[1] : operands[2] : operands[3] ], each may be null
  kCall,         // operands[0] ( operands[1..], named )
  kFilter,       // operands[0] | text ( operands[1..], named )
  kTest,         // operands[0] is text ( operands[1..] )
  kNot,          // operands[0]
  kNegative,     // operands[0]
  kAnd,          // operands[0..1]
  kOr,           // operands[0..1]
  kArithmetic,   // operands[0] text operands[1]
  kComparison,   // operands[0] comparisons[0] operands[1] comparisons[1] operands[2] ...
  kConditional,  // operands[0] if operands[1] else operands[2], which may be null
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  ExpressionKind kind;
  int line = 1;
  int depth = 1;
  std::string text;
  Value constant;
  std::vector<ExpressionPtr> operands;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<std::string> comparisons;
};

enum class StatementKind {
  kText,      // text
  kPrint,     // expression
  kIf,        // branches; an `else` has no condition
  kFor,       // targets in expression if condition: body, else: otherwise
  kSet,       // targets = expression, or text . attribute = expression
  kSetBlock,  // targets[0] = body | filters
  kMacro,     // text ( targets with defaults ): body
  kBreak,
  kContinue,
  kGroup,  // body: {% generation %}
};

struct Statement;

struct Branch {
  ExpressionPtr condition;
  std::vector<Statement> body;
};

struct Statement {
  StatementKind kind;
  int line = 1;
  std::string text;
  std::string attribute;
  ExpressionPtr expression;
  ExpressionPtr condition;
  std::vector<std::string> targets;
  std::vector<ExpressionPtr> defaults;  // of a macro's last parameters
  std::vector<Statement> body, otherwise;
  std::vector<Branch> branches;
};

}  // namespace tandem::model::jinja
