# SPDX-License-Identifier: Apache-2.0
#
# `tandem place` as a user runs it: graphs of all forms, ONNX models, pictures, and what is refused.
import json
import random
import unittest
import xml.etree.ElementTree

from daemon import run, run_json
from planner_test import PlannerCase

# Two chains that meet at the end; every output has 1,000 bytes, 1 us at 1 GB/s.
CHAINS = [("a0", "a1"), ("a1", "a2"), ("b0", "b1"), ("b1", "b2"), ("a2", "end"), ("b2", "end")]
TIMES = {"a0": 10, "a1": 20, "a2": 30, "b0": 15, "b1": 15, "b2": 15, "end": 5}
LINKS = ["--devices", 2, "--latency-us", 4, "--bandwidth-gbps", 1]


class PlaceTest(PlannerCase):
    def triple(self, edges=CHAINS, times=TIMES, sizes=None):
        sizes = {name: 1000 for name in TIMES} if sizes is None else sizes
        self.file("graph.dot", "digraph {\n" + "".join(f'  "{a}" -> "{b}";\n' for a, b in edges) + "}\n")
        self.file("durations.txt", "".join(f"{name}::{us}\n" for name, us in times.items()))
        self.file("sizes.txt", "".join(f"{name}::{size}\n" for name, size in sizes.items()))
        return self.folder

    def graph(self, nodes, edges):
        return self.file("graph.json", json.dumps({"nodes": nodes, "edges": edges}))

    def test_both_forms_of_a_graph_have_the_same_placement(self):
        triple = run_json("place", "--format", "triple", self.triple(), *LINKS)
        self.assertEqual(triple["makespan_us"], 10 + 20 + 30 + 5)  # b's tensor is there long before a ends
        self.assertEqual(set(triple["placement"]), set(TIMES))
        self.assertEqual(len({triple["placement"][name] for name in ("a0", "a1", "a2", "end")}), 1)
        self.assertNotEqual(triple["placement"]["a0"], triple["placement"]["b0"])
        self.assertEqual((triple["work_us"], triple["critical_path_us"]), (110, 65))
        self.assertEqual(len(triple["peak_bytes"]), 2)
        self.assertLessEqual(triple["makespan_us"], min(us for us in triple["members_us"].values()))
        graph = self.graph([{"name": name, "us": us, "output_bytes": 1000} for name, us in TIMES.items()], CHAINS)
        result = run_json("place", "--format", "json", graph, *LINKS)
        self.assertEqual(result["makespan_us"], triple["makespan_us"])

    def test_a_name_that_is_not_utf8_ends_no_answer(self):
        for name, text in (("graph.dot", b'digraph { "\xff" -> b; }'), ("durations.txt", b"\xff::1\nb::2\n"),
                           ("sizes.txt", b"\xff::1\nb::1\n")):
            (self.folder / name).write_bytes(text)
        result = run_json("place", "--format", "triple", self.folder, *LINKS)
        self.assertEqual(set(result["placement"]), {"\ufffd", "b"})

    def test_every_method_answers_and_auto_is_the_best(self):
        draw = random.Random(5)
        nodes = [{"name": f"n{i}", "us": draw.randint(1, 90), "output_bytes": draw.randint(0, 5000)} for i in range(200)]
        edges = [[draw.randrange(max(0, i - 30), i), i] for i in range(1, 200) for _ in range(2)]
        graph = self.graph(nodes, edges)
        best = run_json("place", "--format", "json", graph, *LINKS)["makespan_us"]
        for method in ("pardnn", "etf", "msct", "metis", "scotch"):
            process = run("place", "--format", "json", graph, *LINKS, "--method", method, "--json")
            if method in ("msct", "metis", "scotch") and "not built in" in process.stderr:
                self.assertEqual(process.returncode, 2)
                continue
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertLessEqual(best, json.loads(process.stdout)["makespan_us"])
        one = run_json("place", "--format", "json", graph, "--devices", 1)
        self.assertEqual(one["makespan_us"], sum(node["us"] for node in nodes))
        self.assertIn("us by ", run("place", "--format", "json", graph, *LINKS).stdout)

    def test_memory_spreads_the_nodes(self):
        nodes = [{"name": f"n{i}", "us": 10, "resident_bytes": 1000, "output_bytes": 10} for i in range(6)]
        graph = self.graph(nodes, [[i, i + 1] for i in range(5)])
        self.assertEqual(run_json("place", "--format", "json", graph, *LINKS)["makespan_us"], 60)
        result = run_json("place", "--format", "json", graph, *LINKS, "--memory", 3100)
        self.assertEqual(result["makespan_us"], 60 + 1 + 4)
        self.assertLessEqual(max(result["peak_bytes"]), 3100)

    def test_kinds_of_devices_have_times_and_memories(self):
        nodes = [{"name": f"n{i}", "us": {"gpu": 1, "cpu": 10}, "resident_bytes": 1000, "output_bytes": 10} for i in range(4)]
        graph = self.graph(nodes, [[i, i + 1] for i in range(3)])
        links = ("--latency-us", 1, "--bandwidth-gbps", 1)
        result = run_json("place", "--format", "json", graph, "--devices", "cpu,gpu", *links)
        self.assertEqual((result["makespan_us"], set(result["placement"].values())), (4, {1}))
        self.assertEqual(result["devices"], [{"kind": "cpu"}, {"kind": "gpu"}])
        result = run_json("place", "--format", "json", graph, "--devices", "cpu=1MiB,gpu=3100", *links)
        self.assertEqual(result["makespan_us"], 3 * 1 + 10 + 1 + 1)
        self.assertLessEqual(result["peak_bytes"][1], 3100)
        self.assertEqual(result["devices"], [{"kind": "cpu", "memory_bytes": 1 << 20}, {"kind": "gpu", "memory_bytes": 3100}])
        result = run_json("place", "--format", "json", graph, "--devices", "cpu,2xgpu=2100", "--memory", "0B", *links)
        self.assertEqual((result["makespan_us"], result["placement"]["n0"] != 0), (4 + 2, True))
        self.assertNotIn("devices", run_json("place", "--format", "triple", self.triple(), *LINKS))
        for words, devices in (("'us' has no time of kind 'card'", "gpu,card"), ("name the kinds that there are", "2"),
                               ("'2gpu' is neither a number", "2gpu"), ("--devices: 'lots' is not a size", "gpu=lots"),
                               ("'17000000000000000000' is too large", "gpu=17000000000000000000")):
            self.assert_refused(words, "place", "--format", "json", graph, "--devices", devices)
        self.assert_refused("a triple has one time per node", "place", "--format", "triple", self.folder, "--devices", "gpu,cpu")

    def test_pictures_show_the_timeline_and_the_graph(self):
        svg, dot = self.folder / "timeline.svg", self.folder / "placed.dot"
        result = run_json("place", "--format", "triple", self.triple(), *LINKS, "--svg", svg, "--dot", dot)
        picture = xml.etree.ElementTree.fromstring(svg.read_text())
        titles = [title.text for title in picture.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(titles[0], f"{result['makespan_us']} us on 2 devices")
        for name in TIMES:
            self.assertEqual(sum(title.startswith(f"{name}: ") for title in titles), 1)
        self.assertEqual(sum("1000 bytes" in title for title in titles), 1)
        again = self.folder / "again"
        again.mkdir()
        for name in ("durations.txt", "sizes.txt"):
            (again / name).write_text((self.folder / name).read_text())
        (again / "graph.dot").write_text(dot.read_text())
        self.assertEqual(run_json("place", "--format", "triple", again, *LINKS)["makespan_us"], result["makespan_us"])
        self.assert_refused("cannot write", "place", "--format", "triple", self.folder, *LINKS, "--svg", self.folder / "absent" / "x.svg")

    def test_a_missing_size_is_told(self):
        process = run("place", "--format", "triple", self.triple(sizes={"a0": 5}), *LINKS)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("5 nodes with consumers have no line in sizes.txt", process.stderr)

    def test_bad_graphs_are_named(self):
        def refused(words, *more):
            self.assert_refused(words, "place", "--format", "triple", self.folder, *LINKS, *more)
        refused("a triple is a folder with graph.dot")
        self.triple(edges=[*CHAINS, ("end", "a1")])
        refused("the graph has a cycle: 'a1' -> 'a2' -> 'end' -> 'a1'")
        self.triple(times={name: us for name, us in TIMES.items() if name != "b1"})
        refused("durations.txt: node 'b1' of graph.dot has no duration")
        self.triple()
        refused("fits no device: with its inputs and its output it needs 2000 bytes, and a device has 1999", "--memory", 1999)
        self.file("graph.dot", "digraph {\n a -> \n}\n")
        refused("graph.dot: line 3: a name was expected, not '}'")
        nodes = [{"name": "a", "us": 1, "group": "g", "device": 0}, {"name": "b", "us": 1, "group": "g", "device": 1}]
        self.assert_refused("group 'g': node 'a' is fixed to device 0 and node 'b' to device 1", "place", "--format", "json",
                            self.graph(nodes, []), *LINKS)
        self.assert_refused("edge 0 names the node \"x\"", "place", "--format", "json", self.graph(nodes[:1], [["a", "x"]]), *LINKS)
        self.assert_refused("node 'a' has no time", "place", "--format", "json", self.graph([{"name": "a"}], []), *LINKS)

    def test_wrong_words_are_named(self):
        self.triple()
        for words, arguments in (("--method", ("triple", "--devices", 2, "--method", "magic")), ("--format", ("pickle", "--devices", 2)),
                                 ("--devices", ("triple", "--devices", 0)),
                                 ("--bandwidth-gbps", ("triple", "--devices", 2, "--bandwidth-gbps", 0))):
            self.assert_refused(words, "place", self.folder, "--format", *arguments)


def wire(field, value):
    """A field of protobuf's wire format: a number, or the bytes of a text or a message."""
    def varint(number):
        text = bytearray()
        while number >= 0x80:
            text.append(number & 0x7f | 0x80)
            number >>= 7
        return bytes([*text, number])
    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def onnx_model(width, layers, batch="batch"):
    """A chain of products with a weight each, and a second chain beside it."""
    def value(name):
        dims = (wire(2, batch) if isinstance(batch, str) else wire(1, batch), wire(1, width))
        shape = b"".join(wire(1, dim) for dim in dims)
        return wire(1, name) + wire(2, wire(1, wire(1, 1) + wire(2, shape)))
    graph = wire(11, value("x"))
    for chain in "ab":
        for layer in range(layers):
            weight = f"{chain}{layer}.weight"
            graph += wire(5, wire(1, width) + wire(1, width) + wire(2, 1) + wire(8, weight))
            source = f"{chain}{layer - 1}.out" if layer else "x"
            graph += wire(1, wire(1, source) + wire(1, weight) + wire(2, f"{chain}{layer}.out") + wire(3, f"{chain}{layer}") + wire(4, "MatMul"))
    graph += wire(1, wire(1, f"a{layers - 1}.out") + wire(1, f"b{layers - 1}.out") + wire(2, "y") + wire(4, "Add"))
    return wire(1, 9) + wire(7, graph)


class OnnxTest(PlannerCase):
    def model(self, *arguments, **named):
        path = self.folder / "model.onnx"
        path.write_bytes(onnx_model(*arguments, **named))
        return path

    def test_two_chains_get_two_devices(self):
        model = self.model(512, 3, batch=4096)
        result = run_json("place", "--format", "onnx", model, "--devices", 2, "--latency-us", 1, "--bandwidth-gbps", 10000)
        self.assertEqual(set(result["placement"]), {*(f"{chain}{layer}" for chain in "ab" for layer in range(3)), "Add_6"})
        self.assertNotEqual(result["placement"]["a1"], result["placement"]["b1"])
        self.assertLess(result["makespan_us"], result["work_us"])
        self.assertEqual(sum(bytes >= 3 * 512 * 512 * 4 for bytes in result["peak_bytes"]), 2)

    def test_rates_times_and_sizes_are_the_users(self):
        model = self.model(64, 2)
        process = run("place", "--format", "onnx", model, "--devices", 1, "--json")
        self.assertIn("--dim NAME=SIZE: 'batch'", process.stderr)
        one = json.loads(process.stdout)["work_us"]
        process = run("place", "--format", "onnx", model, "--devices", 1, "--json", "--dim", "batch=65536")
        self.assertEqual(process.stderr, "")
        many = json.loads(process.stdout)["work_us"]
        self.assertGreater(many, 2 * one)
        both = run_json("place", "--format", "onnx", model, "--devices", "a,b", "--dim", "batch=65536", "--rates", "a=t4", "--rates", "b=a100")
        self.assertEqual(both["work_us"], many)
        slow = run_json("place", "--format", "onnx", model, "--devices", 1, "--dim", "batch=65536", "--rates", "t4")["work_us"]
        self.assertGreater(slow, 2 * many)
        times = self.file("times.txt", "".join(f"{name}::{us}\n" for name, us in (("a0", 1), ("a1", 2), ("b0", 3.5), ("b1", 4), ("Add_4", 5))))
        self.assertEqual(run_json("place", "--format", "onnx", model, "--devices", 1, "--times", times)["work_us"], 15.5)

    def test_wrong_files_and_options_are_named(self):
        def refused(words, *more):
            self.assert_refused(words, "place", "--format", "onnx", path, "--devices", "2", *more)
        path = self.model(8, 1)
        refused("--dim 'batch' is not NAME=SIZE", "--dim", "batch")
        refused("--dim gives 'batch' twice", "--dim", "batch=1", "--dim", "batch=2")
        refused("no device is called 'a10'", "--rates", "a10")
        refused("--rates is given twice: 't4'", "--rates", "a100", "--rates", "t4")
        self.assert_refused("--rates 't4' names no kind", "place", "--format", "onnx", path, "--devices", "gpu,cpu", "--rates", "t4")
        self.assert_refused("no device is called 'gpu'", "place", "--format", "onnx", path, "--devices", "gpu,cpu")
        refused("the model has no node 'zz'", "--times", self.file("times.txt", "zz::1\n"))
        path.write_bytes(path.read_bytes()[:100])
        refused("the model: field 7 has")
        path.write_bytes(b"no model")
        refused("[onnx] the model: field 13 has the type 6, which ONNX does not use")
        path = self.folder / "absent.onnx"
        refused("cannot read")
        for option, value in (("--rates", "a100"), ("--times", "t"), ("--dim", "batch=1")):
            self.assert_refused(f"{option} belongs to --format onnx", "place", "--format", "json", path, "--devices", 2, option, value)


if __name__ == "__main__":
    unittest.main()
