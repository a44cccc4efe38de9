// SPDX-License-Identifier: Apache-2.0
//
// Evaluator: runs a parsed template once, within a budget of steps, output and nesting.
//
// Scopes are Jinja's: a loop and a macro have their own, an `if` has none, and `set` writes to the
// innermost. A scope in which a macro is defined exists as long as the Evaluator. An undefined
// value prints as nothing; most other uses of it are errors. Threads: one per object. Errors:
// Failure, "template line N, column M: ...", or Error("chat", ...) with the template's own message
// when it calls raise_exception.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/chat/jinja/ast.h"
#include "model/chat/jinja/filters.h"

namespace tandem::model::jinja {

struct Scope {
  Scope* parent = nullptr;
  Entries variables;
  bool captured = false;  // by a macro
};

class Evaluator {
 public:
  explicit Evaluator(Entries globals);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  std::string run(const std::vector<Statement>& program);

 private:
  // A scope while its statements run. The evaluator keeps it longer if a macro captured it.
  class InnerScope {
   public:
    InnerScope(Evaluator& evaluator, Scope* parent);
    ~InnerScope();
    InnerScope(const InnerScope&) = delete;
    InnerScope& operator=(const InnerScope&) = delete;
    Scope& operator*() { return *scope_; }
    Scope* operator->() { return scope_.get(); }

   private:
    Evaluator& evaluator_;
    std::unique_ptr<Scope> scope_;
  };
  enum class Flow { kNormal, kBreak, kContinue };
  // Limits the recursion over expressions, statements and macros, both its depth and its stack,
  // because the stack per level differs by a factor of ten between builds.
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
  Flow execute_for(const Statement& statement, Scope& scope, std::string& out);
  Flow execute_loop(const Statement& statement, List items, std::size_t depth, Scope& scope,
                    std::string& out);
  List items_to_loop(const Statement& statement, const Value& iterated, Scope& scope);
  void execute_set(const Statement& statement, Scope& scope);
  Flow execute_captured(const Statement& statement, Scope& scope, std::string& out);
  Flow execute_with(const Statement& statement, Scope& scope, std::string& out);
  Flow execute_block(const Statement& statement, Scope& scope, std::string& out);
  void execute_call(const Statement& statement, Scope& scope, std::string& out);
  void assign(const Target& target, const Value& value, Scope& scope);
  static Value macro_of(const Statement& statement, Scope& scope);
  static void put(Entries& entries, const std::string& name, Value value);
  void append(std::string& out, std::string_view text);

  Value evaluate(const Expression& expression, Scope& scope);
  Value evaluate_optional(const ExpressionPtr& expression, Scope& scope);
  Value evaluate_kind(const Expression& expression, Scope& scope);
  Value find_name(const std::string& name, const Scope& scope);
  Value evaluate_list(const Expression& expression, Scope& scope);
  Value evaluate_call(const Expression& expression, Scope& scope, const Value* caller);
  Value evaluate_map(const Expression& expression, Scope& scope);
  Value evaluate_slice(const Expression& expression, Scope& scope);
  Value evaluate_comparison(const Expression& expression, Scope& scope);
  bool compare(const std::string& symbol, const Value& left, const Value& right);
  Value evaluate_conditional(const Expression& expression, Scope& scope);
  Value evaluate_filter(const Expression& expression, Scope& scope);
  Arguments evaluate_arguments(const Expression& call, Scope& scope);
  Value call(const Value& callee, const Arguments& arguments);
  Value call_object(Object& object, const Arguments& arguments);
  Value call_macro(const Function& function, const Arguments& arguments);
  void bind_parameters(const Statement& macro, const Arguments& arguments, Scope& scope);
  Value call_builtin(Builtin builtin, const Arguments& arguments);
  Value new_object(Object::Kind kind, const Arguments& arguments);

  Scope builtins_;  // a template may hide them
  Scope globals_;
  std::vector<std::shared_ptr<Object>> namespaces_;  // emptied at the end
  std::vector<std::unique_ptr<Scope>> captured_;
  Budget budget_;
  Value block_text_;  // the input of the first filter of a set block
  int nesting_ = 0;
  std::uintptr_t stack_base_ = 0;  // of run()
  Place place_;                    // of what is being evaluated
};

// left symbol right, for + - ~ * / // % **.
Value arithmetic(const std::string& symbol, const Value& left, const Value& right);
Value negative(const Value& operand);

}  // namespace tandem::model::jinja
