// SPDX-License-Identifier: Apache-2.0
//
// Runs the statements of a template; expressions are in expressions.cpp.
#include "model/chat/jinja/evaluator.h"

#include "common/error.h"
#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

constexpr std::uint64_t kMaxSteps = 20'000'000;
constexpr int kMaxNesting = 250;
constexpr std::intptr_t kMaxStack = 512 << 10;  // half of the smallest stack that is to suffice

// Not the address of a variable: a sanitizer may keep variables outside the stack.
std::uintptr_t stack_position() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

Value loop_variable(const List& items, std::size_t index) {
  const auto integer = [](std::size_t value) {
    return Value::integer(static_cast<std::int64_t>(value));
  };
  const std::size_t size = items.size();
  return Value::map({
      {"index", integer(index + 1)},
      {"index0", integer(index)},
      {"revindex", integer(size - index)},
      {"revindex0", integer(size - index - 1)},
      {"first", Value::boolean(index == 0)},
      {"last", Value::boolean(index + 1 == size)},
      {"length", integer(size)},
      {"previtem", index > 0 ? items[index - 1] : Value::undefined("previtem")},
      {"nextitem", index + 1 < size ? items[index + 1] : Value::undefined("nextitem")},
  });
}

}  // namespace

Evaluator::Evaluator(Entries globals) : globals_{nullptr, std::move(globals)}, budget_(kMaxSteps) {
  const std::pair<const char*, Builtin> builtins[] = {{"raise_exception", Builtin::kRaiseException},
                                                      {"strftime_now", Builtin::kStrftimeNow},
                                                      {"range", Builtin::kRange},
                                                      {"namespace", Builtin::kNamespace},
                                                      {"dict", Builtin::kDict}};
  for (const auto& [name, builtin] : builtins) {
    globals_.variables.emplace_back(name, Value::of(Function{nullptr, builtin}));
  }
}

Evaluator::Nesting::Nesting(Evaluator& evaluator) : depth_(evaluator.nesting_) {
  // Stacks grow downwards.
  const auto used = static_cast<std::intptr_t>(evaluator.stack_base_ - stack_position());
  if (depth_ >= kMaxNesting || used > kMaxStack) throw Failure("the template is nested too deep");
  ++depth_;
}

std::string Evaluator::run(const std::vector<Statement>& program) {
  std::string out;
  stack_base_ = stack_position();
  try {
    execute(program, globals_, out);
  } catch (const Failure& failure) {
    throw Error("chat", "template line " + std::to_string(line_) + ": " + failure.what());
  }
  return out;
}

Evaluator::Flow Evaluator::execute(const std::vector<Statement>& body, Scope& scope,
                                   std::string& out) {
  for (const Statement& statement : body) {
    budget_.spend(1);
    line_ = statement.line;
    const Flow flow = execute(statement, scope, out);
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::execute(const Statement& statement, Scope& scope, std::string& out) {
  const Nesting nesting(*this);
  switch (statement.kind) {
    case StatementKind::kText:
      append(out, statement.text);
      break;
    case StatementKind::kPrint:
      append(out, to_text(evaluate(*statement.expression, scope)));
      break;
    case StatementKind::kIf:
      return execute_if(statement, scope, out);
    case StatementKind::kFor:
      execute_for(statement, scope, out);
      break;
    case StatementKind::kSet:
      execute_set(statement, scope);
      break;
    case StatementKind::kSetBlock:
      execute_set_block(statement, scope);
      break;
    case StatementKind::kMacro:
      put(scope.variables, statement.text, Value::of(Function{&statement}));
      break;
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
    case StatementKind::kGroup:
      return execute(statement.body, scope, out);
  }
  return Flow::kNormal;
}

Evaluator::Flow Evaluator::execute_if(const Statement& statement, Scope& scope, std::string& out) {
  for (const Branch& branch : statement.branches) {
    if (!branch.condition || evaluate(*branch.condition, scope).truthy()) {
      return execute(branch.body, scope, out);
    }
  }
  return Flow::kNormal;
}

// The items that pass the loop's own condition.
List Evaluator::items_to_loop(const Statement& statement, Scope& scope) {
  List items = items_of(evaluate(*statement.expression, scope), budget_);
  if (!statement.condition) return items;
  List kept;
  for (const Value& item : items) {
    Scope inner{&scope, {}};
    assign(statement.targets, item, inner);
    if (evaluate(*statement.condition, inner).truthy()) kept.push_back(item);
  }
  return kept;
}

void Evaluator::execute_for(const Statement& statement, Scope& scope, std::string& out) {
  const List items = items_to_loop(statement, scope);
  for (std::size_t index = 0; index < items.size(); ++index) {
    budget_.spend(10);
    Scope inner{&scope, {}};
    assign(statement.targets, items[index], inner);
    put(inner.variables, "loop", loop_variable(items, index));
    if (execute(statement.body, inner, out) == Flow::kBreak) break;
  }
  if (items.empty()) {
    Scope inner{&scope, {}};
    execute(statement.otherwise, inner, out);
  }
}

void Evaluator::execute_set(const Statement& statement, Scope& scope) {
  Value value = evaluate(*statement.expression, scope);
  if (statement.attribute.empty()) {
    assign(statement.targets, value, scope);
    return;
  }
  for (Scope* at = &scope; at != nullptr; at = at->parent) {
    for (auto& [name, target] : at->variables) {
      if (name != statement.targets[0]) continue;
      if (!target.is_namespace()) {
        throw Failure("'" + name + "' is no namespace: its attributes cannot be set");
      }
      put(target.space()->entries, statement.attribute, std::move(value));
      return;
    }
  }
  throw Failure("'" + statement.targets[0] + "' is undefined");
}

void Evaluator::execute_set_block(const Statement& statement, Scope& scope) {
  std::string text;
  Scope inner{&scope, {}};
  execute(statement.body, inner, text);
  Value value = Value::string(std::move(text));
  if (statement.expression) {
    block_text_ = value;
    value = evaluate(*statement.expression, scope);
  }
  put(scope.variables, statement.targets[0], std::move(value));
}

void Evaluator::assign(const std::vector<std::string>& targets, const Value& value, Scope& scope) {
  if (targets.size() == 1) {
    put(scope.variables, targets[0], value);
    return;
  }
  const List items = items_of(value, budget_);
  if (items.size() != targets.size()) {
    throw Failure(std::to_string(items.size()) + " values for " + std::to_string(targets.size()) +
                  " names");
  }
  for (std::size_t i = 0; i < items.size(); ++i) put(scope.variables, targets[i], items[i]);
}

void Evaluator::put(Entries& entries, const std::string& name, Value value) {
  for (auto& [existing, slot] : entries) {
    if (existing == name) {
      slot = std::move(value);
      return;
    }
  }
  entries.emplace_back(name, std::move(value));
}

void Evaluator::append(std::string& out, std::string_view text) {
  budget_.spend(1 + text.size() / 16);
  if (out.size() + text.size() > Value::kMaxText) throw Failure("the output grows too large");
  out += text;
}

}  // namespace tandem::model::jinja
