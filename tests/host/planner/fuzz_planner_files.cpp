// SPDX-License-Identifier: Apache-2.0
//
// Fuzz target: any text becomes a trace, a mapping problem, samples, a graph, a circuit, a coupling
// map, a topology, traffic or hosts that keep their promises, or an Error. The first byte chooses
// which.
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "common/error.h"
#include "host/planner/onnx/onnx_encoder.h"
#include "planner/circuit/coupling_map.h"
#include "planner/circuit/qasm_file.h"
#include "planner/graph/graph_files.h"
#include "planner/mapping/qaplib_file.h"
#include "planner/mapping/qubo_file.h"
#include "planner/mapping/rank_mapping.h"
#include "planner/mapping/topology_file.h"
#include "planner/onnx/onnx_graph.h"
#include "planner/pipeline/layer_trace.h"
#include "support/fuzz_main.h"

namespace tandem::planner {
namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void check_trace(std::istream& in) {
  const LayerTrace trace = read_layer_trace(in);
  check(!trace.steps.empty() && !trace.layer_names.empty());
  for (const TraceStep& step : trace.steps) {
    check(step.layers.size() == trace.layer_names.size());
    for (const LayerCost& layer : step.layers) check(layer.time_ps >= 0 && layer.bytes >= 0);
  }
}

void check_problem(std::istream& in) {
  const QuadraticAssignment problem = read_qaplib(in);
  const auto n = static_cast<std::size_t>(problem.num_tasks);
  check(n >= 1 && problem.flow.size() == n * n && problem.distance.size() == n * n);
}

void check_samples(std::istream& in) {
  for (const auto& bits : read_samples(in, 4)) {
    check(bits.size() == 4);
    for (const auto bit : bits) check(bit <= 1);
  }
}

void check_graph(const OperatorGraph& graph) {
  check(graph.order().size() == static_cast<std::size_t>(graph.num_nodes()));
  for (int id = 0; id < graph.num_edges(); ++id) {
    check(graph.edge(id).to < graph.num_nodes() && graph.edge_bytes(id) >= 0);
  }
}

// Graph, times and sizes, divided by '%'.
void check_triple(std::istream& in) {
  std::string dot, times, sizes;
  std::getline(in, dot, '%');
  std::getline(in, times, '%');
  std::getline(in, sizes, '%');
  std::istringstream dot_in(dot), times_in(times), sizes_in(sizes);
  check_graph(read_triple(dot_in, times_in, sizes_in).graph);
}

void check_onnx(std::istream& in) {
  const std::string file(std::istreambuf_iterator<char>(in), {});
  check_graph(read_graph_onnx(file, {}).graph);
}

// Operators whose shapes depend on attributes and on values.
std::string onnx_seed() {
  OnnxText text;
  text.input("x", {1, 3, 8, 8}).weight("w", {4, 3, 3, 3}).weight("to", {2}, kTestInt64, {0, -1});
  text.node("Conv", {"x", "w"}, {"c"}, ints_attribute("pads", {1, 1, 1, 1}), "conv");
  text.node("MaxPool", {"c"}, {"p"}, ints_attribute("kernel_shape", {2, 2}));
  text.node("Reshape", {"p", "to"}, {"r"})
      .node("Split", {"r"}, {"a", "b"}, int_attribute("axis", 1));
  text.node("Transpose", {"a"}, {"t"}).node("MatMul", {"b", "t"}, {"m"});
  text.node("Shape", {"m"}, {"s"}).node("Slice", {"s", "to", "to"}, {"z"}).value("z", {-1});
  return text.model();
}

// What is written reads as the same circuit.
void check_circuit(std::istream& in) {
  const std::string text = qasm_text(read_qasm(in));
  std::istringstream again(text);
  check(qasm_text(read_qasm(again)) == text);
}

void check_coupling(std::istream& in) {
  const CouplingMap map = read_coupling_map(in);
  for (int qubit = 0; qubit < map.num_qubits(); ++qubit) {
    check(map.distance(0, qubit) == map.distance(qubit, 0));
    check(map.distance(0, qubit) < map.num_qubits());
  }
}

void check_topology(const Topology& topology) {
  const TopologyDistances distances = distances_of(topology);
  const auto n = static_cast<std::size_t>(topology.num_places());
  check(distances.cost.size() == n * n && distances.slow.size() == n * n);
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      check(distances.cost[from * n + to] == distances.cost[to * n + from]);
      check((distances.cost[from * n + to] == 0) == (from == to));
    }
  }
}

void check_traffic(std::istream& in) {
  const RankTraffic traffic = read_rank_traffic(in);
  const auto n = static_cast<std::size_t>(traffic.num_ranks);
  check(n >= 1 && traffic.bytes.size() == n * n);
  for (const std::int64_t bytes : traffic.bytes) check(bytes >= 0);
}

void check_hosts(std::istream& in) {
  Topology topology;
  topology.places.resize(3);
  name_hosts(topology, in);
  for (const TopologyPlace& place : topology.places) check(!place.host.empty());
}

}  // namespace
}  // namespace tandem::planner

void tandem::test::add_fuzz_seeds(std::vector<std::string>& seeds) {
  for (const char* text :
       {"0layer,time_us,bytes\na,1.5,10\nb,2,20\n", "0step,time_ms\n0,1\n0,2\n1,3\n1,4\n",
        "0a,1\nb,2\n", "12\n0 1 1 0\n0 3\n3 0\n", "12 9\n0 1 1 0\n0 3 3 0\n", "20110\n1 -1 -1 1\n",
        "2{\"samples\": [[0, 1, 1, 0]]}",
        "3{\"nodes\": [{\"name\": \"a\", \"us\": 1}], \"edges\": [[0, \"a\", 7]]}",
        "4digraph g { a -> \"b\" [x=1]; /* c */ }%a::1\nb::2.5\n%a::100\n",
        "5OPENQASM 2.0; include \"qelib1.inc\"; gate g(x) a,b { rz(-x/2^1) a; cx a,b; }\n"
        "qreg q[3]; creg c[2]; g(pi) q[0],q[2]; ccx q[0],q[1],q[2]; barrier q;\n"
        "if(c==1) h q; measure q[0] -> c[0]; reset q[1];",
        "63\n0 1\n1,2 # x\n", "6{\"num_qubits\": 2, \"edges\": [[0, 1]]}",
        "8place a host 1\nplace b\nlink a s 5\nlink s b # x\n",
        "9<system><cpu><pci busid=\"a\"><gpu dev=\"0\"><nvlink target=\"b\" "
        "count=\"2\"/></gpu></pci>"
        "<pci><pci busid=\"b\"><gpu dev=\"1\"/></pci></pci></cpu><cpu/></system>",
        ":{\"ranks\": 2, \"bytes\": [[0, 3], [4, 0]]}", ";a slots=2\nb # x\n"}) {
    seeds.emplace_back(text);
  }
  seeds.push_back("7" + tandem::planner::onnx_seed());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace p = tandem::planner;
  using Check = void (*)(std::istream&);
  // '0' is the first one.
  constexpr Check kChecks[] = {
      p::check_trace,
      p::check_problem,
      p::check_samples,
      [](std::istream& in) { p::check_graph(p::read_graph_json(in)); },
      p::check_triple,
      p::check_circuit,
      p::check_coupling,
      p::check_onnx,
      [](std::istream& in) { p::check_topology(p::read_topology_text(in)); },
      [](std::istream& in) { p::check_topology(p::read_nccl_topology(in)); },
      p::check_traffic,
      p::check_hosts};
  static_assert('0' % std::size(kChecks) == 0);
  if (size < 1) return 0;
  std::istringstream in(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  try {
    kChecks[data[0] % std::size(kChecks)](in);
  } catch (const tandem::Error&) {
  }
  return 0;
}
