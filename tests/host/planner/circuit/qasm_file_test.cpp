// SPDX-License-Identifier: Apache-2.0
//
// Circuits in and out; what is refused, with its line. Large gates against their truth tables.
#include "planner/circuit/qasm_file.h"

#include <gmock/gmock.h>

#include <sstream>

#include "host/planner/circuit/state_vector.h"
#include "host/planner/message_of.h"
#include "planner/circuit/coupling_map.h"
#include "planner/circuit/standard_gates.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHead = "OPENQASM 2.0;\ninclude \"qelib1.inc\";\n";

Circuit circuit_of(const std::string& text) {
  std::istringstream in(text);
  return read_qasm(in);
}

std::string refused_qasm(const std::string& text) {
  return message_of([&] { circuit_of(text); });
}

// Where the basis state `input` of a gate on `num_qubits` qubits ends.
std::size_t basis_after(const std::string& gate, int num_qubits, std::size_t input) {
  std::string text = kHead + "qreg q[" + std::to_string(num_qubits) + "];\n", list;
  for (int qubit = 0; qubit < num_qubits; ++qubit) {
    if ((input >> qubit & 1) != 0) text += "x q[" + std::to_string(qubit) + "];\n";
    list += (qubit > 0 ? ",q[" : " q[") + std::to_string(qubit) + "]";
  }
  const std::vector<Amplitude> state = state_of(circuit_of(text + gate + list + ";\n"));
  for (std::size_t at = 0; at < state.size(); ++at) {
    if (std::norm(state[at]) > 0.999) return at;
  }
  return state.size();
}

TEST(QasmFile, ReadsEveryKindOfStatement) {
  const Circuit circuit =
      circuit_of(kHead +
                 "// two registers\nqreg a[2]; qreg b[1];\ncreg c[2]; creg d[1];\n"
                 "h a; cx a[0],b[0]; u3(pi/2,-1.5e1,2^3^0.5) b[0];\n"
                 "barrier a,b[0]; measure a -> c; reset b; if (c==3) x b[0];\n"
                 "measure b[0]->d[0];");
  EXPECT_EQ(circuit.num_qubits, 3);
  EXPECT_EQ(circuit.num_bits(), 3);
  ASSERT_EQ(circuit.operations.size(), 10U);
  EXPECT_THAT(circuit.operations[2].qubits, ElementsAre(0, 2));
  EXPECT_THAT(circuit.operations[3].parameters,
              ElementsAre(std::acos(-1.0) / 2, -15, std::pow(2, std::pow(3, 0.5))));
  EXPECT_EQ(circuit.operations[4].kind, OperationKind::kBarrier);
  EXPECT_THAT(circuit.operations[4].qubits, ElementsAre(0, 1, 2));
  EXPECT_EQ(circuit.operations[6].bit, 1);
  EXPECT_EQ(circuit.operations[7].kind, OperationKind::kReset);
  ASSERT_TRUE(circuit.operations[8].condition);
  EXPECT_EQ(circuit.operations[8].condition->value, 3U);
  EXPECT_EQ(circuit.operations[9].bit, 2);
  EXPECT_EQ(depth_of(circuit), 6);  // h, cx, u3, reset, x, measure
}

TEST(QasmFile, WhatIsWrittenReadsTheSame) {
  const std::string text = qasm_text(circuit_of(
      kHead +
      "qreg a[2]; qreg b[2]; creg q[4]; rz(0.1+0.2) a; ccx a[0],a[1],b[1]; swap a[0],b[0];\n"
      "barrier b; if(q==2) cu3(1,2,3) a[1],b[0]; measure a[1] -> q[3]; reset b[1];"));
  EXPECT_THAT(text, HasSubstr("qreg qq[4];\ncreg q[4];\n"));
  EXPECT_THAT(text, HasSubstr("rz(0.30000000000000004) qq[0];"));
  EXPECT_EQ(qasm_text(circuit_of(text)), text);
}

TEST(QasmFile, OwnGatesAreReplacedByWhatTheyAreMadeOf) {
  const Circuit circuit =
      circuit_of(kHead +
                 "gate turn(a,b) x0,x1 { rz(a-b) x0; cx x0,x1; barrier x0,x1; u1(sin(a)/2) x1; }\n"
                 "gate both(a) x0,x1,x2 { turn(2*a,a) x1,x2; h x0; }\n"
                 "gate h x0 { u2(0,pi) x0; }\n"
                 "qreg q[4]; both(0.5) q[3],q[1],q[0]; h q[2];");
  std::vector<std::string> names;
  for (const Operation& each : circuit.operations) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("rz", "cx", "", "u1", "u2", "u2"));
  EXPECT_THAT(circuit.operations[0].parameters, ElementsAre(0.5));
  EXPECT_THAT(circuit.operations[1].qubits, ElementsAre(1, 0));
  EXPECT_THAT(circuit.operations[3].parameters, ElementsAre(std::sin(1.0) / 2));
}

TEST(QasmFile, LargeGatesHaveTheirTruthTables) {
  for (std::size_t in = 0; in < 8; ++in) {
    EXPECT_EQ(basis_after("ccx", 3, in), (in & 3) == 3 ? in ^ 4 : in);
    EXPECT_EQ(basis_after("rccx", 3, in), (in & 3) == 3 ? in ^ 4 : in);
    EXPECT_EQ(basis_after("ccz", 3, in), in);
    const std::size_t swapped = (in & 1) | (in >> 1 & 2) | (in << 1 & 4);
    EXPECT_EQ(basis_after("cswap", 3, in), (in & 1) != 0 ? swapped : in);
  }
  for (std::size_t in = 0; in < 16; ++in) {
    const std::size_t flipped = (in & 7) == 7 ? in ^ 8 : in;
    EXPECT_EQ(basis_after("c3x", 4, in), flipped);
    EXPECT_EQ(basis_after("rc3x", 4, in), flipped);
    const auto with_root = [&](const std::string& then) {
      return basis_after("gate both a,b,c,d { c3sqrtx a,b,c,d; " + then + " } both", 4, in);
    };
    EXPECT_EQ(with_root("c3sqrtx a,b,c,d;"), flipped);
    if ((in & 7) == 7) {
      EXPECT_EQ(with_root("sxdg d;"), in);
    } else {
      EXPECT_EQ(with_root(""), in);
    }
  }
  for (std::size_t in = 0; in < 32; ++in) {
    EXPECT_EQ(basis_after("c4x", 5, in), (in & 15) == 15 ? in ^ 16 : in);
  }
}

TEST(QasmFile, EveryStandardGateIsReadAndWritten) {
  for (const StandardGate& gate : standard_gates()) {
    std::string text(gate.name);
    for (int i = 0; i < gate.num_parameters; ++i) text += i == 0 ? "(0.5" : ",0.5";
    text += gate.num_parameters > 0 ? ") q[0]" : " q[0]";
    text += gate.num_qubits == 2 ? ",q[1];\n" : ";\n";
    EXPECT_THAT(qasm_text(circuit_of(kHead + "qreg q[2];\n" + text)), HasSubstr(text));
  }
}

TEST(QasmFile, WhatIsWrongIsNamedWithItsLine) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "line 1: the file begins with the end, not with OPENQASM 2.0;"},
      {"OPENQASM 3.0;", "line 1: version '3.0' is not read"},
      {"OPENQASM 2.0;\nqreg q[2]; creg c[2];\nif(c==1) measure q -> c;",
       "line 3: a register is measured"},
      {"OPENQASM 2.0;\ninclude \"other.inc\";", "line 2: only \"qelib1.inc\""},
      {"OPENQASM 2.0;\nqreg q[2];\nh q[0];", "line 3: the gate 'h' needs include"},
      {kHead, "line 3: the circuit has no qubits"},
      {kHead + "qreg q[0];", "line 3: a size from 1 to 4096 was expected, not '0'"},
      {kHead + "qreg q[4000]; qreg r[97];", "more than 4096 qubits"},
      {kHead + "qreg q[2];\nqreg q[2];", "line 4: the register 'q' exists already"},
      {kHead + "qreg q[2];\ncx q[0],q[0];", "line 4: 'cx' has a qubit twice"},
      {kHead + "qreg q[2];\ncx q[0],q[2];", "line 4: an index from 0 to 1 was expected, not '2'"},
      {kHead + "qreg q[2];\ncx q[0];", "line 4: 'cx' takes 0 parameters and 2 qubits, not 0 and 1"},
      {kHead + "qreg q[2];\nrx q[0];", "'rx' takes 1 parameters and 1 qubits, not 0 and 1"},
      {kHead + "qreg q[2];\nrx(1/0) q[0];", "line 4: the parameter is not finite"},
      {kHead + "qreg q[2];\nrx(tau) q[0];", "'tau' is not a number"},
      {kHead + "qreg q[2];\nrx(1 q[0];", "',' was expected, not 'q'"},
      {kHead + "qreg q[2];\nfoo q[0];", "no gate is called 'foo'"},
      {kHead + "qreg q[2];\nh p;", "no quantum register is called 'p'"},
      {kHead + "qreg q[2]; qreg r[3];\ncx q,r;", "registers of 2 and 3 qubits are joined"},
      {kHead + "qreg q[2]; creg c[3];\nmeasure q -> c;", "2 qubits are measured into 3 bits"},
      {kHead + "qreg q[2];\nif (q==1) h q;", "no classical register is called 'q'"},
      {kHead + "qreg q[2];\nh q\n", "line 5: ';' was expected, not the end"},
      {kHead + "qreg q[2];\nh q; $", "line 4: the character '$'"},
      {kHead + "include \"qelib", "line 3: a quoted text has no end"},
      {kHead + "gate g a { h b; }", "the gate 'g' has no qubit 'b'"},
      {kHead + "gate g a { g a; }", "the gate 'g' calls itself"},
      {kHead + "gate g a,a { h a; }", "'a' is listed twice"},
      {kHead + "gate g a { h a;", "the gate 'g' has no '}'"},
      {kHead + "gate g a { h a; }\ngate g a { }", "line 4: the gate 'g' exists already"},
      {"OPENQASM 2.0;\ngate ccx a { }\ninclude \"qelib1.inc\";", "stands behind the gate 'ccx'"},
      {kHead + "opaque o a;\nqreg q[1];\no q[0];", "line 5: the gate 'o' is opaque"},
      {kHead + "gate f a { h a; } gate h a { f a; } qreg q[1];\nh q;", "line 4: 'h' calls itself"},
  };
  for (const auto& [text, words] : cases) EXPECT_THAT(refused_qasm(text), HasSubstr(words)) << text;
}

TEST(QasmFile, EndlessNestingIsRefused) {
  const std::string deep = kHead + "qreg q[1]; rx(" + std::string(5000, '(') + "1";
  EXPECT_THAT(refused_qasm(deep), HasSubstr("nested too deeply"));
  std::string bomb = kHead + "gate g0 a { x a; }\n";
  for (int i = 1; i < 9; ++i) {
    bomb += "gate g" + std::to_string(i) + " a {";
    for (int k = 0; k < 10; ++k) bomb += " g" + std::to_string(i - 1) + " a;";
    bomb += "}\n";
  }
  EXPECT_THAT(refused_qasm(bomb + "qreg q[1]; g8 q[0];"), HasSubstr("more than 1000000"));
}

TEST(CouplingMaps, LinesAndJsonAreTheSame) {
  for (const char* text : {"4\n0 1\n1,2 # middle\n3 -- 2\n", "[[0,1],[1,2],[2,3]]",
                           "{\"num_qubits\": 4, \"edges\": [[0,1],[2,1],[3,2],[0,1]]}",
                           "{\"coupling_map\": [[0,1],[1,2],[2,3]]}"}) {
    std::istringstream in(text);
    const CouplingMap map = read_coupling_map(in);
    EXPECT_EQ(map.num_qubits(), 4) << text;
    EXPECT_EQ(map.distance(0, 3), 3);
    EXPECT_EQ(map.distance(2, 0), 2);
    EXPECT_THAT(map.neighbours(2), ElementsAre(1, 3));
  }
}

TEST(CouplingMaps, ANumberOfQubitsIsNoIndex) {
  std::string text;
  for (int qubit = 1; qubit < 4096; ++qubit) {
    text +=
        (qubit == 1 ? "[" : ",[") + std::to_string(qubit - 1) + "," + std::to_string(qubit) + "]";
  }
  std::istringstream in("{\"num_qubits\": 4096, \"edges\": [" + text + "]}");
  EXPECT_EQ(read_coupling_map(in).num_qubits(), 4096);
}

TEST(CouplingMaps, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "names no qubits"},
      {"0 1\n0 x\n", "line 2: 'x' is not a number from 0 to 4095"},
      {"0 1\n-1 2\n", "line 2: '-1' is not a number from 0 to 4095"},
      {"0 1\n1 2 3\n", "line 2: two qubits were expected, not '1 2 3'"},
      {"0 1\n2 3\n", "the map is in parts: no way joins qubit 0 and qubit 2"},
      {"3\n0 1\n", "no way joins qubit 0 and qubit 2"},
      {"2\n0 2\n", "qubits 0 and 2 are joined, but there are 2 from 0"},
      {"1 1\n", "qubit 1 is joined to itself"},
      {"[[0,1],[0]]", "pair 1 is not a list of two"},
      {"[[0,-1]]", "pair 0 has -1, no qubit"},
      {"{\"links\": []}", "no list of pairs"},
      {"{\"num_qubits\": 0, \"edges\": [[0,1]]}", "'num_qubits' is 0, no number from 1 to 4096"},
      {"{\"num_qubits\": 4097, \"edges\": [[0,1]]}", "'num_qubits' is 4097"},
      {"{\"num_qubits\": 1, \"edges\": [[0,1]]}", "qubits 0 and 1 are joined, but there are 1"},
      {"[[0,2e2222]]", "the file is not JSON"},
      {"[[0,1]", "the file is not JSON"}};
  for (const auto& [text, words] : cases) {
    std::istringstream in{std::string(text)};
    EXPECT_THAT(message_of([&] { read_coupling_map(in); }), HasSubstr(words)) << text;
  }
}

}  // namespace
}  // namespace tandem::planner
