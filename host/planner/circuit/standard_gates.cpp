// SPDX-License-Identifier: Apache-2.0
//
// One table, and one text.
#include "planner/circuit/standard_gates.h"

#include <algorithm>
#include <array>

namespace tandem::planner {
namespace {

constexpr std::array<StandardGate, 37> kGates = {
    {{"U", 3, 1},    {"CX", 0, 2},  {"u3", 3, 1},  {"u2", 2, 1},   {"u1", 1, 1},  {"u", 3, 1},
     {"p", 1, 1},    {"u0", 1, 1},  {"id", 0, 1},  {"x", 0, 1},    {"y", 0, 1},   {"z", 0, 1},
     {"h", 0, 1},    {"s", 0, 1},   {"sdg", 0, 1}, {"t", 0, 1},    {"tdg", 0, 1}, {"sx", 0, 1},
     {"sxdg", 0, 1}, {"rx", 1, 1},  {"ry", 1, 1},  {"rz", 1, 1},   {"cx", 0, 2},  {"cy", 0, 2},
     {"cz", 0, 2},   {"ch", 0, 2},  {"csx", 0, 2}, {"swap", 0, 2}, {"crx", 1, 2}, {"cry", 1, 2},
     {"crz", 1, 2},  {"cu1", 1, 2}, {"cp", 1, 2},  {"cu3", 3, 2},  {"cu", 4, 2},  {"rxx", 1, 2},
     {"rzz", 1, 2}}};

constexpr std::string_view kLargeGates = R"(
gate ccx a,b,c {
  h c; cx b,c; tdg c; cx a,c; t c; cx b,c; tdg c; cx a,c; t b; t c; h c; cx a,b; t a; tdg b; cx a,b;
}
gate ccz a,b,c { h c; ccx a,b,c; h c; }
gate cswap a,b,c { cx c,b; ccx a,b,c; cx c,b; }
gate rccx a,b,c {
  u2(0,pi) c; u1(pi/4) c; cx b,c; u1(-pi/4) c; cx a,c; u1(pi/4) c; cx b,c; u1(-pi/4) c; u2(0,pi) c;
}
gate c3x a,b,c,d {
  h d; p(pi/8) a; p(pi/8) b; p(pi/8) c; p(pi/8) d; cx a,b; p(-pi/8) b; cx a,b; cx b,c; p(-pi/8) c;
  cx a,c; p(pi/8) c; cx b,c; p(-pi/8) c; cx a,c; cx c,d; p(-pi/8) d; cx b,d; p(pi/8) d; cx c,d;
  p(-pi/8) d; cx a,d; p(pi/8) d; cx c,d; p(-pi/8) d; cx b,d; p(pi/8) d; cx c,d; p(-pi/8) d;
  cx a,d; h d;
}
gate c3sqrtx a,b,c,d {
  h d; cu1(pi/8) a,d; h d; cx a,b; h d; cu1(-pi/8) b,d; h d; cx a,b; h d; cu1(pi/8) b,d; h d;
  cx b,c; h d; cu1(-pi/8) c,d; h d; cx a,c; h d; cu1(pi/8) c,d; h d; cx b,c; h d; cu1(-pi/8) c,d;
  h d; cx a,c; h d; cu1(pi/8) c,d; h d;
}
gate c4x a,b,c,d,e {
  h e; cu1(pi/2) d,e; h e; c3x a,b,c,d; h e; cu1(-pi/2) d,e; h e; c3x a,b,c,d; c3sqrtx a,b,c,e;
}
gate rc3x a,b,c,d {
  u2(0,pi) d; u1(pi/4) d; cx c,d; u1(-pi/4) d; u2(0,pi) d; cx a,d; u1(pi/4) d; cx b,d;
  u1(-pi/4) d; cx a,d; u1(pi/4) d; cx b,d; u1(-pi/4) d; u2(0,pi) d; u1(pi/4) d; cx c,d;
  u1(-pi/4) d; u2(0,pi) d;
}
)";

}  // namespace

const StandardGate* standard_gate(std::string_view name) {
  const auto* found = std::ranges::find(kGates, name, &StandardGate::name);
  return found == kGates.end() ? nullptr : found;
}

bool is_built_in(std::string_view name) { return name == "U" || name == "CX"; }

std::span<const StandardGate> standard_gates() { return kGates; }

std::string_view large_gate_text() { return kLargeGates; }

}  // namespace tandem::planner
