// SPDX-License-Identifier: Apache-2.0
//
// The tree of a parsed template. The parser bounds its depth, so code may recurse over it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/chat/jinja/lexer.h"
#include "model/chat/jinja/value.h"

namespace tandem::model::jinja {

enum class ExpressionKind {
  kConstant,     // constant
  kName,         // text
  kList,         // operands
  kTuple,        // operands
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
  Place place;
  int depth = 1;
  std::string text;
  Value constant;
  std::vector<ExpressionPtr> operands;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<std::string> comparisons;
  // For a call: the places of *arguments in `operands`, and the ** argument.
  std::vector<std::size_t> spread;
  ExpressionPtr spread_named;
};

// The target of an assignment: a name, name.attribute of a namespace, or a tuple of targets.
struct Target {
  std::string name, attribute;
  std::vector<Target> parts;
};

enum class StatementKind {
  kText,      // text
  kPrint,     // expression
  kIf,        // branches; an `else` has no condition
  kFor,       // target in expression if condition: body, else: otherwise
  kSet,       // target = expression
  kSetBlock,  // target = body | filters
  kFilter,    // body | filters
  kWith,      // targets = values: body
  kMacro,     // text ( parameters with defaults ): body
  kCall,      // expression, a call, with the macro of the rest as `caller`
  kBreak,
  kContinue,
  kBlock,     // body, in a scope of its own: {% block %}, {% generation %}
  kNoLoader,  // text: names an unsupported feature
};

struct Statement;

struct Branch {
  ExpressionPtr condition;
  std::vector<Statement> body;
};

struct Statement {
  StatementKind kind;
  Place place;
  std::string text;
  ExpressionPtr expression;
  ExpressionPtr condition;
  Target target;
  std::vector<Target> targets;
  std::vector<ExpressionPtr> values;
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  bool recursive = false;               // a for
  bool scoped = false;                  // a block: it sees the scope around it
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;  // a macro
  std::vector<Statement> body, otherwise;
  std::vector<Branch> branches;
};

}  // namespace tandem::model::jinja
