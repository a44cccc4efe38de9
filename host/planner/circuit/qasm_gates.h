// SPDX-License-Identifier: Apache-2.0
//
// QasmGates: the gates that a circuit may call; a call appends its operations to the circuit.
//
// A definition is stored as its words and parsed again at every call. A gate that the file defines
// replaces one of qelib1.inc with the same name. Threads: one. Errors: Error with the line, also
// for too many operations.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "planner/circuit/circuit.h"
#include "planner/circuit/qasm_cursor.h"

namespace tandem::planner {

struct GateCall {
  std::string name;
  std::int64_t line = 0;
  std::vector<double> parameters;
  std::vector<int> qubits;
};

class QasmGates {
 public:
  explicit QasmGates(Circuit& circuit) : circuit_(circuit) {}

  void add_standard();
  // Parses a definition, from the word after `gate` or `opaque` to its end.
  void define(QasmCursor& cursor, bool is_opaque);
  void call(const GateCall& call, const std::optional<Condition>& condition);
  void add(Operation operation, std::int64_t line);

 private:
  struct Definition {
    std::vector<std::string> parameters, qubits;
    std::vector<QasmWord> body;
    bool is_opaque = false, is_standard = false;
  };

  std::vector<QasmWord> taken_body(QasmCursor& cursor, const std::string& name,
                                   const Definition& made) const;
  void check_call(QasmCursor& cursor, const std::string& gate, const Definition& made) const;
  void run_body(const Definition& definition, const GateCall& call,
                const std::optional<Condition>& condition);
  // Returns the numbers of parameters and qubits. Throws if there is no such gate.
  std::pair<std::size_t, std::size_t> sizes_of(const std::string& name, std::int64_t line) const;
  void count(std::int64_t line);

  Circuit& circuit_;
  bool has_standard_ = false;
  std::unordered_map<std::string, Definition> definitions_;
  std::int64_t num_calls_ = 0;
  int depth_ = 0;  // nesting depth of calls
};

// Parses the parameters in parentheses, if there are any.
std::vector<double> taken_parameters(QasmCursor& cursor, const QasmParameters& parameters);

}  // namespace tandem::planner
