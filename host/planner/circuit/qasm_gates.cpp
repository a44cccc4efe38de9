// SPDX-License-Identifier: Apache-2.0
//
// Definitions are checked once, when they are read.
#include "planner/circuit/qasm_gates.h"

#include <algorithm>
#include <utility>

#include "planner/circuit/standard_gates.h"

namespace tandem::planner {
namespace {

constexpr std::int64_t kMostCalls = 1'000'000;
constexpr int kMostCallDepth = 256;

std::vector<std::string> taken_names(QasmCursor& cursor, const char* what) {
  std::vector<std::string> names;
  do {
    const std::int64_t line = cursor.line();
    std::string name = cursor.name(what);
    if (std::ranges::find(names, name) != names.end()) {
      refuse_qasm(line, "'" + name + "' is listed twice");
    }
    names.push_back(std::move(name));
  } while (cursor.take(","));
  return names;
}

}  // namespace

std::vector<double> taken_parameters(QasmCursor& cursor, const QasmParameters& parameters) {
  std::vector<double> values;
  if (!cursor.take("(")) return values;
  while (!cursor.take(")")) {
    if (!values.empty()) cursor.expect(",");
    values.push_back(cursor.expression(parameters));
  }
  return values;
}

void QasmGates::add_standard() {
  if (has_standard_) return;
  has_standard_ = true;  // bodies call small gates
  const std::vector<QasmWord> words = qasm_words(large_gate_text());
  for (QasmCursor cursor(words); !cursor.is_end();) {
    cursor.move();
    const std::string name = QasmCursor(cursor).name("a gate");
    if (definitions_.contains(name)) {
      refuse_qasm(1, "include \"qelib1.inc\"; stands behind the gate '" + name + "'");
    }
    define(cursor, false);
    definitions_[name].is_standard = true;
  }
}

std::pair<std::size_t, std::size_t> QasmGates::sizes_of(const std::string& name,
                                                        std::int64_t line) const {
  if (const auto found = definitions_.find(name); found != definitions_.end()) {
    return {found->second.parameters.size(), found->second.qubits.size()};
  }
  const StandardGate* gate = standard_gate(name);
  if (gate == nullptr) refuse_qasm(line, "no gate is called '" + name + "'");
  if (!has_standard_ && !is_built_in(name)) {
    refuse_qasm(line, "the gate '" + name + "' needs include \"qelib1.inc\"; above it");
  }
  return {static_cast<std::size_t>(gate->num_parameters),
          static_cast<std::size_t>(gate->num_qubits)};
}

void QasmGates::define(QasmCursor& cursor, bool is_opaque) {
  const std::int64_t line = cursor.line();
  const std::string name = cursor.name("the name of a gate");
  const auto before = definitions_.find(name);
  if (is_built_in(name) || (before != definitions_.end() && !before->second.is_standard)) {
    refuse_qasm(line, "the gate '" + name + "' exists already");
  }
  Definition made;
  made.is_opaque = is_opaque;
  if (cursor.take("(") && !cursor.take(")")) {
    made.parameters = taken_names(cursor, "the name of a parameter");
    cursor.expect(")");
  }
  made.qubits = taken_names(cursor, "the name of a qubit");
  if (is_opaque) {
    cursor.expect(";");
  } else {
    made.body = taken_body(cursor, name, made);
  }
  definitions_[name] = std::move(made);
}

std::vector<QasmWord> QasmGates::taken_body(QasmCursor& cursor, const std::string& name,
                                            const Definition& made) const {
  cursor.expect("{");
  std::vector<QasmWord> body;
  for (QasmCursor reader = cursor; !reader.is_at("}"); reader.move()) {
    if (reader.is_end()) refuse_qasm(reader.line(), "the gate '" + name + "' has no '}'");
    body.push_back(reader.word());
  }
  while (!cursor.is_at("}")) check_call(cursor, name, made);
  body.push_back({QasmKind::kEnd, "", cursor.line()});
  cursor.expect("}");
  return body;
}

// One statement of a body, with parameters of any value.
void QasmGates::check_call(QasmCursor& cursor, const std::string& gate,
                           const Definition& made) const {
  const std::int64_t line = cursor.line();
  const std::string name = cursor.name("a gate");
  std::vector<std::string> qubits;
  if (name != "barrier") {
    if (name == gate) refuse_qasm(line, "the gate '" + name + "' calls itself");
    const auto sizes = sizes_of(name, line);
    std::size_t num_parameters = 0;
    if (cursor.take("(")) {
      for (int depth = 1; depth > 0; cursor.move()) {
        if (cursor.is_end() || cursor.is_at(";")) refuse_qasm(line, "')' is missing");
        depth += cursor.is_at("(") ? 1 : cursor.is_at(")") ? -1 : 0;
      }
      num_parameters = sizes.first;
    }
    qubits = taken_names(cursor, "a qubit of the gate");
    if (num_parameters != sizes.first || qubits.size() != sizes.second) {
      refuse_qasm(line, "'" + name + "' takes " + std::to_string(sizes.first) + " parameters and " +
                            std::to_string(sizes.second) + " qubits");
    }
  } else {
    qubits = taken_names(cursor, "a qubit of the gate");
  }
  for (const std::string& qubit : qubits) {
    if (std::ranges::find(made.qubits, qubit) == made.qubits.end()) {
      refuse_qasm(line, "the gate '" + gate + "' has no qubit '" + qubit + "'");
    }
  }
  cursor.expect(";");
}

void QasmGates::count(std::int64_t line) {
  if (++num_calls_ > kMostCalls) refuse_qasm(line, "the circuit has more than 1000000 operations");
}

void QasmGates::add(Operation operation, std::int64_t line) {
  count(line);
  circuit_.operations.push_back(std::move(operation));
}

void QasmGates::call(const GateCall& call, const std::optional<Condition>& condition) {
  count(call.line);
  const auto sizes = sizes_of(call.name, call.line);
  if (call.parameters.size() != sizes.first || call.qubits.size() != sizes.second) {
    refuse_qasm(call.line, "'" + call.name + "' takes " + std::to_string(sizes.first) +
                               " parameters and " + std::to_string(sizes.second) + " qubits, not " +
                               std::to_string(call.parameters.size()) + " and " +
                               std::to_string(call.qubits.size()));
  }
  for (std::size_t i = 1; i < call.qubits.size(); ++i) {
    if (std::find(call.qubits.begin(), call.qubits.begin() + static_cast<std::ptrdiff_t>(i),
                  call.qubits[i]) != call.qubits.begin() + static_cast<std::ptrdiff_t>(i)) {
      refuse_qasm(call.line, "'" + call.name + "' has a qubit twice");
    }
  }
  const auto found = definitions_.find(call.name);
  if (found != definitions_.end()) {
    if (!found->second.is_opaque) return run_body(found->second, call, condition);
    refuse_qasm(call.line, "the gate '" + call.name + "' is opaque: give it a body");
  }
  Operation operation;
  operation.name = call.name;
  operation.parameters = call.parameters;
  operation.qubits = call.qubits;
  operation.condition = condition;
  circuit_.operations.push_back(std::move(operation));
}

void QasmGates::run_body(const Definition& definition, const GateCall& outer,
                         const std::optional<Condition>& condition) {
  if (++depth_ > kMostCallDepth) {
    refuse_qasm(outer.line, "'" + outer.name + "' calls itself, or gates call 256 deep");
  }
  QasmParameters parameters;
  for (std::size_t i = 0; i < definition.parameters.size(); ++i) {
    parameters[definition.parameters[i]] = outer.parameters[i];
  }
  for (QasmCursor cursor(definition.body); !cursor.is_end();) {
    GateCall inner;
    inner.line = outer.line;
    inner.name = cursor.name("a gate");
    inner.parameters = taken_parameters(cursor, parameters);
    for (const std::string& name : taken_names(cursor, "a qubit of the gate")) {
      const auto at = std::ranges::find(definition.qubits, name) - definition.qubits.begin();
      inner.qubits.push_back(outer.qubits[static_cast<std::size_t>(at)]);
    }
    cursor.expect(";");
    if (inner.name != "barrier") {
      call(inner, condition);
      continue;
    }
    Operation barrier;
    barrier.kind = OperationKind::kBarrier;
    barrier.qubits = inner.qubits;
    add(std::move(barrier), inner.line);
  }
  --depth_;
}

}  // namespace tandem::planner
