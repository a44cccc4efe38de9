// SPDX-License-Identifier: Apache-2.0
//
// Evaluator: runs a parsed template once, within a budget of steps, output and nesting.
//
// Scopes are Jinja's: a loop and a macro have their own, an `if` has none, and `set` writes to the
// innermost. An undefined value prints as nothing; any other use of it is an error. Threads: one
// per object. Errors: Error("chat", ...) with the template's line, or with the template's own
// message when it calls raise_exception.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "model/chat/jinja/ast.h"
#include "model/chat/jinja/filters.h"

namespace tandem::model::jinja {

class Evaluator {
 public:
  explicit Evaluator(Entries globals);

  std::string run(const std::vector<Statement>& program);

 private:
  struct Scope {
    Scope* parent = nullptr;
    Entries variables;
  };
  enum class Flow { kNormal, kBreak, kContinue };
  // Bounds the recursion over expressions, statements and macros, both its depth and its stack: the
  // stack per level differs by a factor of ten between builds.
  class Nesting {
   public:
    explicit Nesting(Evaluator& evaluator);
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    int& depth_;
  };

  Flow execute(const std::vector<Statement>& body, Scope& scope, std::string& out);
  Flow execute(const Statement& statement, Scope& scope, std::string& out);
  Flow execute_if(const Statement& statement, Scope& scope, std::string& out);
  void execute_for(const Statement& statement, Scope& scope, std::string& out);
  List items_to_loop(const Statement& statement, Scope& scope);
  void execute_set(const Statement& statement, Scope& scope);
  void execute_set_block(const Statement& statement, Scope& scope);
  void assign(const std::vector<std::string>& targets, const Value& value, Scope& scope);
  static void put(Entries& entries, const std::string& name, Value value);
  void append(std::string& out, std::string_view text);

  Value evaluate(const Expression& expression, Scope& scope);
  Value evaluate_optional(const ExpressionPtr& expression, Scope& scope);
  Value evaluate_kind(const Expression& expression, Scope& scope);
  Value evaluate_name(const Expression& expression, Scope& scope);
  Value evaluate_list(const Expression& expression, Scope& scope);
  Value evaluate_map(const Expression& expression, Scope& scope);
  Value evaluate_slice(const Expression& expression, Scope& scope);
  Value evaluate_comparison(const Expression& expression, Scope& scope);
  bool compare(const std::string& symbol, const Value& left, const Value& right);
  Value evaluate_conditional(const Expression& expression, Scope& scope);
  Value evaluate_filter(const Expression& expression, Scope& scope);
  Value evaluate_call(const Expression& expression, Scope& scope);
  Arguments evaluate_arguments(const Expression& call, Scope& scope);
  Value call_attribute(const Expression& callee, const Arguments& arguments, Scope& scope);
  Value call_function(const Value& callee, const Arguments& arguments);
  Value call_macro(const Statement& macro, const Arguments& arguments);
  Value call_builtin(Builtin builtin, const Arguments& arguments);

  Scope globals_;
  std::deque<Namespace> namespaces_;  // values point to them
  Budget budget_;
  Value block_text_;  // what the first filter of a set block takes
  int nesting_ = 0;
  std::uintptr_t stack_base_ = 0;  // of run()
  int line_ = 1;                   // of what is being evaluated
};

// left symbol right, for + - ~ * / // % **.
Value arithmetic(const std::string& symbol, const Value& left, const Value& right);
Value negative(const Value& operand);

}  // namespace tandem::model::jinja
