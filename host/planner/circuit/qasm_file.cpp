// SPDX-License-Identifier: Apache-2.0
//
// Statements one after the other.
#include "planner/circuit/qasm_file.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "planner/circuit/qasm_gates.h"

namespace tandem::planner {
namespace {

constexpr int kMostBits = 65'536;

// Consecutive qubits or bits; a single one if an index was given.
struct QasmRange {
  int first = 0, size = 1;
  bool is_register = false;
  int at(int i) const { return is_register ? first + i : first; }
};

class QasmReader {
 public:
  explicit QasmReader(const std::vector<QasmWord>& words) : cursor_(words), gates_(circuit_) {}

  Circuit read() {
    read_version();
    while (!cursor_.is_end()) read_statement();
    if (circuit_.num_qubits == 0) refuse_qasm(cursor_.line(), "the circuit has no qubits");
    return std::move(circuit_);
  }

 private:
  struct Register {
    bool is_quantum = false;
    int first = 0, size = 0, number = 0;
  };

  void read_version() {
    const std::int64_t line = cursor_.line();
    if (cursor_.is_end() || cursor_.word().text != "OPENQASM") {
      refuse_qasm(line, "the file begins with " + cursor_.shown() + ", not with OPENQASM 2.0;");
    }
    cursor_.move();
    if (cursor_.word().text != "2.0" && cursor_.word().text != "2") {
      refuse_qasm(line, "version " + cursor_.shown() + " is not read: only OpenQASM 2.0 is");
    }
    cursor_.move();
    cursor_.expect(";");
  }

  void read_statement() {
    if (cursor_.take(";")) return;
    const std::int64_t line = cursor_.line();
    const std::string word = cursor_.name("a statement");
    if (word == "include") return read_include();
    if (word == "qreg" || word == "creg") return read_register(word == "qreg");
    if (word == "gate" || word == "opaque") return gates_.define(cursor_, word == "opaque");
    if (word != "if") return read_operation(word, line, {});
    cursor_.expect("(");
    Condition condition;
    const std::int64_t at = cursor_.line();
    const Register& read = register_of(cursor_.name("a classical register"), false, at);
    condition.classical_register = read.number;
    cursor_.expect("==");
    constexpr std::int64_t kMostValue = std::int64_t{1} << 62;
    condition.value = static_cast<std::uint64_t>(cursor_.whole("a number", 0, kMostValue));
    cursor_.expect(")");
    read_operation(cursor_.name("an operation"), line, condition);
  }

  void read_include() {
    if (cursor_.word().kind != QasmKind::kText || cursor_.word().text != "qelib1.inc") {
      refuse_qasm(cursor_.line(), "only \"qelib1.inc\" can be included, not " + cursor_.shown());
    }
    cursor_.move();
    cursor_.expect(";");
    gates_.add_standard();
  }

  void read_register(bool is_quantum) {
    const std::int64_t line = cursor_.line();
    const std::string name = cursor_.name("the name of a register");
    if (registers_.contains(name)) {
      refuse_qasm(line, "the register '" + name + "' exists already");
    }
    const int before = is_quantum ? circuit_.num_qubits : circuit_.num_bits();
    const int most = is_quantum ? kMostQubits : kMostBits;
    cursor_.expect("[");
    const auto size = static_cast<int>(cursor_.whole("a size", 1, most));
    cursor_.expect("]");
    cursor_.expect(";");
    if (size > most - before) {
      refuse_qasm(line, "the circuit has more than " + std::to_string(most) +
                            (is_quantum ? " qubits" : " bits"));
    }
    const auto number = static_cast<int>(circuit_.registers.size());
    registers_[name] = {is_quantum, before, size, number};
    if (is_quantum) {
      circuit_.num_qubits += size;
    } else {
      circuit_.registers.push_back({name, before, size});
    }
  }

  const Register& register_of(const std::string& name, bool is_quantum, std::int64_t line) const {
    const auto found = registers_.find(name);
    if (found == registers_.end() || found->second.is_quantum != is_quantum) {
      refuse_qasm(line, std::string("no ") + (is_quantum ? "quantum" : "classical") +
                            " register is called '" + name + "'");
    }
    return found->second;
  }

  QasmRange taken_range(bool is_quantum) {
    const std::int64_t line = cursor_.line();
    const Register& found = register_of(cursor_.name("a register"), is_quantum, line);
    if (!cursor_.take("[")) return {found.first, found.size, true};
    const std::int64_t index = cursor_.whole("an index", 0, found.size - 1);
    cursor_.expect("]");
    return {found.first + static_cast<int>(index), 1, false};
  }

  std::vector<QasmRange> taken_ranges() {
    std::vector<QasmRange> ranges;
    do ranges.push_back(taken_range(true));
    while (cursor_.take(","));
    cursor_.expect(";");
    return ranges;
  }

  void read_operation(const std::string& word, std::int64_t line,
                      const std::optional<Condition>& condition) {
    if (word == "measure") return read_measure(line, condition);
    if (word == "barrier") {
      if (condition) refuse_qasm(line, "a barrier has no condition");
      Operation barrier;
      barrier.kind = OperationKind::kBarrier;
      std::array<bool, kMostQubits> has{};
      for (const QasmRange& range : taken_ranges()) {
        for (int i = 0; i < range.size; ++i) {
          if (std::exchange(has[static_cast<std::size_t>(range.at(i))], true)) continue;
          barrier.qubits.push_back(range.at(i));
        }
      }
      return gates_.add(std::move(barrier), line);
    }
    if (word == "reset") {
      for (const QasmRange& range : taken_ranges()) add_resets(range, line, condition);
      return;
    }
    read_call(word, line, condition);
  }

  void add_resets(const QasmRange& range, std::int64_t line,
                  const std::optional<Condition>& condition) {
    for (int i = 0; i < range.size; ++i) {
      Operation reset;
      reset.kind = OperationKind::kReset;
      reset.qubits = {range.at(i)};
      reset.condition = condition;
      gates_.add(std::move(reset), line);
    }
  }

  void read_measure(std::int64_t line, const std::optional<Condition>& condition) {
    const QasmRange from = taken_range(true);
    cursor_.expect("->");
    const QasmRange to = taken_range(false);
    cursor_.expect(";");
    if (from.size != to.size || from.is_register != to.is_register) {
      refuse_qasm(line, std::to_string(from.size) + " qubits are measured into " +
                            std::to_string(to.size) + " bits");
    }
    if (condition && to.is_register &&
        circuit_.registers[static_cast<std::size_t>(condition->classical_register)].first ==
            to.at(0)) {
      refuse_qasm(line,
                  "a register is measured into under a condition on itself; write one "
                  "statement for each bit");
    }
    for (int i = 0; i < from.size; ++i) {
      Operation measure;
      measure.kind = OperationKind::kMeasure;
      measure.qubits = {from.at(i)};
      measure.bit = to.at(i);
      measure.condition = condition;
      gates_.add(std::move(measure), line);
    }
  }

  // A gate on registers runs once for each of their qubits.
  void read_call(const std::string& name, std::int64_t line,
                 const std::optional<Condition>& condition) {
    GateCall call;
    call.name = name;
    call.line = line;
    call.parameters = taken_parameters(cursor_, {});
    const std::vector<QasmRange> ranges = taken_ranges();
    int count = 0;
    for (const QasmRange& range : ranges) {
      if (!range.is_register) continue;
      if (count != 0 && range.size != count) {
        refuse_qasm(line, "registers of " + std::to_string(count) + " and " +
                              std::to_string(range.size) + " qubits are joined");
      }
      count = range.size;
    }
    for (int i = 0; i < std::max(count, 1); ++i) {
      call.qubits.clear();
      for (const QasmRange& range : ranges) call.qubits.push_back(range.at(i));
      gates_.call(call, condition);
    }
  }

  QasmCursor cursor_;
  Circuit circuit_;
  QasmGates gates_;
  std::unordered_map<std::string, Register> registers_;
};

std::string bit_text(const Circuit& circuit, int bit) {
  for (const ClassicalRegister& each : circuit.registers) {
    if (bit < each.first + each.size) return fmt::format("{}[{}]", each.name, bit - each.first);
  }
  return {};
}

// A name that no classical register has.
std::string quantum_name(const Circuit& circuit) {
  std::string name = "q";
  while (std::ranges::find(circuit.registers, name, &ClassicalRegister::name) !=
         circuit.registers.end()) {
    name += 'q';
  }
  return name;
}

std::string operation_text(const Circuit& circuit, const std::string& qubits,
                           const Operation& operation) {
  std::string text;
  if (operation.condition) {
    const auto number = static_cast<std::size_t>(operation.condition->classical_register);
    text = fmt::format("if({}=={}) ", circuit.registers[number].name, operation.condition->value);
  }
  switch (operation.kind) {
    case OperationKind::kMeasure:
      return text + fmt::format("measure {}[{}] -> {};\n", qubits, operation.qubits.front(),
                                bit_text(circuit, operation.bit));
    case OperationKind::kReset:
      text += "reset";
      break;
    case OperationKind::kBarrier:
      text += "barrier";
      break;
    case OperationKind::kGate:
      text += operation.name;
      break;
  }
  if (!operation.parameters.empty()) {
    text += fmt::format("({})", fmt::join(operation.parameters, ","));
  }
  const char* before = " ";
  for (const int qubit : operation.qubits) {
    text += fmt::format("{}{}[{}]", before, qubits, qubit);
    before = ",";
  }
  return text + ";\n";
}

}  // namespace

Circuit read_qasm(std::istream& in) {
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const std::vector<QasmWord> words = qasm_words(text);
  return QasmReader(words).read();
}

std::string qasm_text(const Circuit& circuit) {
  std::string text = "OPENQASM 2.0;\ninclude \"qelib1.inc\";\n";
  const std::string qubits = quantum_name(circuit);
  text += fmt::format("qreg {}[{}];\n", qubits, circuit.num_qubits);
  for (const ClassicalRegister& each : circuit.registers) {
    text += fmt::format("creg {}[{}];\n", each.name, each.size);
  }
  for (const Operation& operation : circuit.operations) {
    text += operation_text(circuit, qubits, operation);
  }
  return text;
}

}  // namespace tandem::planner
