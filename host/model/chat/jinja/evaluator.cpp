// SPDX-License-Identifier: Apache-2.0
//
// Runs the statements of a template; expressions are in expressions.cpp.
#include "model/chat/jinja/evaluator.h"

#include "model/chat/jinja/text.h"

namespace tandem::model::jinja {
namespace {

constexpr std::uint64_t kMaxSteps = 20'000'000;
constexpr std::uint64_t kStepsToKeepAScope = 500;  // its memory stays until the end
constexpr int kMaxNesting = 250;
constexpr std::intptr_t kMaxStack = 512 << 10;  // half of the smallest stack that is to suffice

// Not the address of a variable: a sanitizer may keep variables outside the stack.
std::uintptr_t stack_position() {
  return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
}

}  // namespace

Evaluator::Evaluator(Entries globals)
    : globals_{&builtins_, std::move(globals)}, budget_(kMaxSteps) {
  const std::pair<const char*, Builtin> builtins[] = {{"raise_exception", Builtin::kRaiseException},
                                                      {"strftime_now", Builtin::kStrftimeNow},
                                                      {"range", Builtin::kRange},
                                                      {"namespace", Builtin::kNamespace},
                                                      {"dict", Builtin::kDict},
                                                      {"cycler", Builtin::kCycler},
                                                      {"joiner", Builtin::kJoiner}};
  for (const auto& [name, builtin] : builtins) {
    put(builtins_.variables, name, Value::of(Function{.builtin = builtin, .name = name}));
  }
}

// A namespace may contain itself.
Evaluator::~Evaluator() {
  for (const auto& space : namespaces_) space->entries.clear();
}

Evaluator::InnerScope::InnerScope(Evaluator& evaluator, Scope* parent)
    : evaluator_(evaluator), scope_(std::make_unique<Scope>(Scope{parent, {}})) {}

Evaluator::InnerScope::~InnerScope() {
  if (scope_->captured) evaluator_.captured_.push_back(std::move(scope_));
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
    fail_at(place_, failure.what());
  }
  return out;
}

Evaluator::Flow Evaluator::execute(const std::vector<Statement>& body, Scope& scope,
                                   std::string& out) {
  for (const Statement& statement : body) {
    budget_.spend(1);
    place_ = statement.place;
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
      return execute_for(statement, scope, out);
    case StatementKind::kSet:
      execute_set(statement, scope);
      break;
    case StatementKind::kSetBlock:
    case StatementKind::kFilter:
      return execute_captured(statement, scope, out);
    case StatementKind::kWith:
      return execute_with(statement, scope, out);
    case StatementKind::kMacro:
      if (&scope != &globals_) budget_.spend(kStepsToKeepAScope);
      put(scope.variables, statement.text, macro_of(statement, scope));
      break;
    case StatementKind::kCall:
      execute_call(statement, scope, out);
      break;
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
    case StatementKind::kBlock:
      return execute_block(statement, scope, out);
    case StatementKind::kNoLoader:
      throw Failure("'" + statement.text +
                    "' needs other templates, and a model has only this one");
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
List Evaluator::items_to_loop(const Statement& statement, const Value& iterated, Scope& scope) {
  List items = items_of(iterated, budget_);
  if (!statement.condition) return items;
  List kept;
  for (const Value& item : items) {
    InnerScope inner(*this, &scope);
    assign(statement.target, item, *inner);
    if (evaluate(*statement.condition, *inner).truthy()) kept.push_back(item);
  }
  return kept;
}

Evaluator::Flow Evaluator::execute_for(const Statement& statement, Scope& scope, std::string& out) {
  const Value iterated = evaluate(*statement.expression, scope);
  return execute_loop(statement, items_to_loop(statement, iterated, scope), 0, scope, out);
}

Evaluator::Flow Evaluator::execute_loop(const Statement& statement, List items, std::size_t depth,
                                        Scope& scope, std::string& out) {
  if (items.empty()) {
    InnerScope inner(*this, &scope);
    return execute(statement.otherwise, *inner, out);
  }
  const auto loop = std::make_shared<Object>(
      Object{.kind = Object::Kind::kLoop, .items = std::move(items), .depth = depth});
  loop->loop = statement.recursive ? &statement : nullptr;
  loop->scope = &scope;
  for (; loop->at < loop->items.size(); ++loop->at) {
    budget_.spend(10);
    InnerScope inner(*this, &scope);
    put(inner->variables, "loop", Value::of(loop));
    assign(statement.target, loop->items[loop->at], *inner);
    if (execute(statement.body, *inner, out) == Flow::kBreak) break;
  }
  loop->loop = nullptr;  // its scope may end now
  return Flow::kNormal;
}

void Evaluator::execute_set(const Statement& statement, Scope& scope) {
  assign(statement.target, evaluate(*statement.expression, scope), scope);
}

// {% set name %} and {% filter %}: the body as a text, through the filters.
Evaluator::Flow Evaluator::execute_captured(const Statement& statement, Scope& scope,
                                            std::string& out) {
  std::string text;
  {
    InnerScope inner(*this, &scope);
    const Flow flow = execute(statement.body, *inner, text);
    if (flow != Flow::kNormal) return flow;
  }
  Value value = Value::string(std::move(text));
  if (statement.expression) {
    const Value outer = std::exchange(block_text_, value);
    value = evaluate(*statement.expression, scope);
    block_text_ = outer;
  }
  if (statement.kind == StatementKind::kSetBlock) {
    assign(statement.target, value, scope);
  } else {
    append(out, to_text(value));
  }
  return Flow::kNormal;
}

// The values do not see each other.
Evaluator::Flow Evaluator::execute_with(const Statement& statement, Scope& scope,
                                        std::string& out) {
  InnerScope inner(*this, &scope);
  for (std::size_t i = 0; i < statement.values.size(); ++i) {
    assign(statement.targets[i], evaluate(*statement.values[i], scope), *inner);
  }
  return execute(statement.body, *inner, out);
}

Evaluator::Flow Evaluator::execute_block(const Statement& statement, Scope& scope,
                                         std::string& out) {
  InnerScope inner(*this, statement.scoped ? &scope : &globals_);
  return execute(statement.body, *inner, out);
}

Value Evaluator::macro_of(const Statement& statement, Scope& scope) {
  for (Scope* at = &scope; at != nullptr && !at->captured; at = at->parent) at->captured = true;
  return Value::of(Function{
      .builtin = Builtin::kMacro, .macro = &statement, .scope = &scope, .name = statement.text});
}

void Evaluator::execute_call(const Statement& statement, Scope& scope, std::string& out) {
  if (&scope != &globals_) budget_.spend(kStepsToKeepAScope);
  const Value caller = macro_of(statement, scope);
  append(out, to_text(evaluate_call(*statement.expression, scope, &caller)));
}

void Evaluator::assign(const Target& target, const Value& value, Scope& scope) {
  if (!target.attribute.empty()) {
    const Value space = find_name(target.name, scope);
    if (!space.is_object() || space.object().kind != Object::Kind::kNamespace) {
      throw Failure("'" + target.name + "' is not a namespace: its attributes cannot be set");
    }
    put(space.object().entries, target.attribute, value);
    return;
  }
  if (target.parts.empty()) {
    put(scope.variables, target.name, value);
    return;
  }
  const List items = items_of(value, budget_);
  if (items.size() != target.parts.size()) {
    throw Failure(std::to_string(items.size()) + " values for " +
                  std::to_string(target.parts.size()) + " names");
  }
  for (std::size_t i = 0; i < items.size(); ++i) assign(target.parts[i], items[i], scope);
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
