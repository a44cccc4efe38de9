// SPDX-License-Identifier: Apache-2.0
//
// v++ as a whole, from kernel objects to a packaged xclbin.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bitstreams/xclbin/inspect.h"
#include "vpp/vpp_stages.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using xclbin::read_text;
using xclbin::write_text;

using VppLink = VppStages;

TEST_F(VppLink, BuildsAKernelFromSourceToPackage) {
  write_text("add.cpp", kAdd);
  const Outcome compiled = compile("add", "add.cpp");
  ASSERT_EQ(compiled.status, 0) << compiled.messages;
  EXPECT_THAT(compiled.messages, IsEmpty());
  write_text("link.cfg", "[connectivity]\nnk=add:2\nsp=add_2.m_axi_gmem1:HBM[9]\n");
  ASSERT_EQ(run({"-l", "-t", "hw_emu", "--platform", "u280", "--config", "link.cfg", "-o",
                 "build/a.link.xclbin", "--kernel_frequency=150", "add.xo"})
                .status,
            0);
  ASSERT_EQ(run({"-p", "build/a.link.xclbin", "-t", "hw_emu", "--package.out_dir", "package",
                 "--package.sd_file", "add.cpp", "-o", "build/a.xclbin"})
                .status,
            0);
  const xclbin::XclbinInfo info = xclbin::inspect(std::string("build/a.xclbin"));
  EXPECT_TRUE(info.emulated);
  ASSERT_EQ(info.compute_units.size(), 2u);
  EXPECT_EQ(info.compute_units[1].name, "add_2");
  ASSERT_EQ(info.kernels.size(), 1u);
  EXPECT_EQ(info.kernels[0].arguments[1].name, "out");
  EXPECT_EQ(info.connections.size(), 4u);
  EXPECT_THAT(metadata("build/a.xclbin"),
              AllOf(HasSubstr("target=\"hw_em\""), HasSubstr("port=\"M_AXI_GMEM1\""),
                    HasSubstr("frequency=\"150MHz\"")));
  for (const char* file :
       {"add.xo.compile_summary", "build/a.link.xclbin.link_summary", "build/a.link.xclbin.info",
        "build/a.xclbin.package_summary", "v++_add.log", "v++_a.link.log", "v++_package.log",
        "package/sd_card/add.cpp"}) {
    EXPECT_TRUE(fs::exists(file)) << file;
  }
}

TEST_F(VppLink, KernelsOfOneSourceLinkTogether) {
  write_text("add.cpp", kAdd);
  ASSERT_EQ(compile("add", "add.cpp").status, 0);
  ASSERT_EQ(compile("sub", "add.cpp").status, 0);
  const Outcome linked = link({"add.xo", "sub.xo"});
  ASSERT_EQ(linked.status, 0) << linked.messages;
  EXPECT_EQ(xclbin::inspect(std::string("a.xclbin")).kernels.size(), 2u);
}

TEST_F(VppLink, AKernelMayHaveSeveralSources) {
  write_text("part.cpp", "int part(int a) { return 2 * a; }\n");
  write_text("whole.cpp",
             "int part(int a);\nextern \"C\" void whole(int* out, int n) { out[0] = part(n); }\n");
  const Outcome compiled = compile("whole", "part.cpp", {"whole.cpp"});
  ASSERT_EQ(compiled.status, 0) << compiled.messages;
  EXPECT_EQ(link({"whole.xo"}).status, 0);
  EXPECT_THAT(compile("hole", "part.cpp", {"whole.cpp"}).messages, HasSubstr("'hole'"));
}

TEST_F(VppLink, ErrorsOfTheLinkStageNameFileAndLine) {
  write_text("add.cpp", kAdd);
  ASSERT_EQ(compile("add", "add.cpp").status, 0);
  const auto error = [&](const std::string& line) {
    write_text("x.cfg", "[connectivity]\n" + line + "\n");
    const Outcome outcome = link({"add.xo"}, {"--config", "x.cfg"});
    EXPECT_EQ(outcome.status, 1);
    EXPECT_FALSE(fs::exists("a.xclbin"));
    return outcome.messages;
  };
  EXPECT_THAT(error("nk=ad:2"), AllOf(HasSubstr("x.cfg:2"), HasSubstr("there are: add")));
  EXPECT_THAT(error("sp=add_1.inn:HBM[0]"), HasSubstr("x.cfg:2"));
  EXPECT_THAT(error("sp=add_1.in:HBM[77]"), HasSubstr("HBM[0:31]"));
  EXPECT_THAT(error("ps=add_1.in:HBM[0]"), HasSubstr("x.cfg:2"));
  EXPECT_THAT(link({"add.xo", "add.xo"}).messages, HasSubstr("kernel 'add' is in"));
  EXPECT_THAT(link({"gone.xo"}).messages, HasSubstr("gone.xo"));
  EXPECT_THAT(link({"add.cpp"}).messages, HasSubstr("not a kernel object"));
  write_text("rtl.xo", "PK\3\4");
  EXPECT_THAT(link({"rtl.xo"}).messages, HasSubstr("RTL"));
  EXPECT_THAT(run({"-l", "-t", "sw_emu", "add.xo"}).messages, HasSubstr("--platform"));
  EXPECT_THAT(link({"add.xo"}, {"--platform", "z9"}).messages, HasSubstr("z9"));
  write_text("u.cpp", "void lost(int*);\nextern \"C\" void u(int* a) { lost(a); }\n");
  ASSERT_EQ(compile("u", "u.cpp").status, 0);
  EXPECT_THAT(link({"u.xo"}).messages, HasSubstr("lost"));
}

TEST_F(VppLink, DevicesAreWrittenInPlace) {
  write_text("add.cpp", kAdd);
  ASSERT_EQ(mkfifo("pipe", 0600), 0);
  fs::create_symlink("real.xo", "link.xo");
  write_text("real.xo", "old");
  std::thread reader([] {
    EXPECT_THAT(read_text("pipe"), testing::StartsWith("\x7f"
                                                       "ELF"));
  });
  EXPECT_EQ(run({"-c", "-t", "sw_emu", "-k", "add", "add.cpp", "-o", "pipe"}).status, 0);
  reader.join();
  EXPECT_TRUE(fs::is_fifo("pipe"));
  EXPECT_EQ(run({"-c", "-t", "sw_emu", "-k", "add", "add.cpp", "-o", "link.xo"}).status, 0);
  EXPECT_TRUE(fs::is_symlink("link.xo"));
  EXPECT_THAT(read_text("real.xo"), testing::StartsWith("\x7f"
                                                        "ELF"));
  for (const auto& entry : fs::directory_iterator(".")) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr(".tmp")));
  }
}

TEST_F(VppLink, PackagingNeedsALinkedXclbin) {
  write_text("x.xclbin", "no xclbin");
  EXPECT_THAT(run({"-p", "x.xclbin", "-t", "sw_emu", "-o", "y.xclbin"}).messages,
              HasSubstr("x.xclbin"));
  EXPECT_FALSE(fs::exists("y.xclbin"));
  EXPECT_THAT(run({"-p", "libadf.a", "-t", "hw_emu"}).messages, HasSubstr("AI-engine"));
  EXPECT_EQ(run({"-p", "absent.xclbin", "-t", "sw_emu"}).status, 1);
  EXPECT_THAT(run({"-p", "x.xclbin", "z.xclbin", "-t", "sw_emu", "-o", "y.xclbin"}).messages,
              AllOf(HasSubstr("takes one"), HasSubstr("x.xclbin"), HasSubstr("z.xclbin")));
}

constexpr const char* kStreams =
    "#include <hls_stream.h>\nextern \"C\" {\n"
    "void source(const int* in, hls::stream<int>& out, int n) {\n"
    "  for (int i = 0; i < n; ++i) out.write(in[i]);\n}\n"
    "void twice(hls::stream<int>& in, hls::stream<int>& out) {\n"
    "#pragma HLS interface ap_ctrl_none port=return\n  out.write(2 * in.read());\n}\n"
    "void sink(hls::stream<int>& in, int* out, int n) {\n"
    "  for (int i = 0; i < n; ++i) out[i] = in.read();\n}\n}\n";

TEST_F(VppLink, StreamLinksAndFreeRunningKernelsAreInTheMetadata) {
  write_text("s.cpp", kStreams);
  for (const char* kernel : {"source", "twice", "sink"}) {
    const Outcome compiled = compile(kernel, "s.cpp");
    ASSERT_EQ(compiled.status, 0) << compiled.messages;
  }
  const Outcome linked = link({"source.xo", "twice.xo", "sink.xo"},
                              {"--connectivity.sc", "source_1.out:twice_1.in:32",
                               "--connectivity.stream_connect=twice_1.out:sink_1.in"});
  ASSERT_EQ(linked.status, 0) << linked.messages;
  EXPECT_THAT(linked.messages, IsEmpty());
  const xclbin::XclbinInfo info = xclbin::inspect(std::string("a.xclbin"));
  ASSERT_EQ(info.compute_units.size(), 3u);
  EXPECT_EQ(info.compute_units[1].base, ~uint64_t{0});
  EXPECT_EQ(info.compute_units[1].control, xclbin::Control::kNone);
  std::vector<const xclbin::Memory*> links;
  for (const xclbin::Memory& memory : info.memories) {
    if (memory.tag.starts_with("dc_")) links.push_back(&memory);
  }
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0]->link_depth, 32u);
  EXPECT_EQ(links[1]->link_depth, 0u);
  const std::string xml = metadata("a.xclbin");
  EXPECT_THAT(xml, AllOf(HasSubstr("srcInst=\"twice_1\" srcPort=\"out\""),
                         HasSubstr("dstInst=\"sink_1\" dstPort=\"in\""),
                         HasSubstr("<port name=\"in\" mode=\"read_only\"")));
  const std::string unit = xml.substr(xml.find("<instance name=\"twice_1\""));
  EXPECT_THAT(unit.substr(0, unit.find("</kernel>")), Not(HasSubstr("addrRemap")));
}

TEST_F(VppLink, AnOpenStreamIsAWarning) {
  write_text("s.cpp", kStreams);
  ASSERT_EQ(compile("source", "s.cpp").status, 0);
  const Outcome linked = link({"source.xo"});
  EXPECT_EQ(linked.status, 0);
  EXPECT_THAT(linked.messages, HasSubstr("source_1.out is linked to nothing"));
}

TEST_F(VppLink, MailboxesComeFromHlsScripts) {
  write_text("m.cpp", "extern \"C\" void m(int a, int& sum) { sum += a; }\n");
  write_text("pre.tcl",
             "config_interface -s_axilite_mailbox both\nconfig_interface "
             "-s_axilite_auto_restart_counter 1\n");
  ASSERT_EQ(compile("m", "m.cpp", {"--hls.pre_tcl", "pre.tcl"}).status, 0);
  ASSERT_EQ(link({"m.xo"}).status, 0);
  EXPECT_THAT(metadata("a.xclbin"),
              AllOf(HasSubstr("mailbox=\"inout\""), HasSubstr("countedAutoRestart=\"1\""),
                    HasSubstr("name=\"a\" addressQualifier=\"0\" id=\"0\" port=\"S_AXI_CONTROL\" "
                              "size=\"0x4\" offset=\"0x20\"")));
  EXPECT_THAT(compile("m", "m.cpp", {"--hls.pre_tcl", "gone.tcl"}).messages, HasSubstr("gone.tcl"));
}

TEST_F(VppLink, EachDirectionOfAMailboxHasItsName) {
  write_text("m.cpp", "extern \"C\" void m(int a, int& sum) { sum += a; }\n");
  for (const char* direction : {"in", "out"}) {
    write_text("pre.tcl", std::string("config_interface -s_axilite_mailbox ") + direction + "\n");
    ASSERT_EQ(compile("m", "m.cpp", {"--hls.pre_tcl", "pre.tcl"}).status, 0);
    ASSERT_EQ(link({"m.xo"}).status, 0);
    const std::string xml = metadata("a.xclbin");
    EXPECT_THAT(xml, HasSubstr(std::string("mailbox=\"") + direction + "\""));
    EXPECT_THAT(xml, Not(HasSubstr("countedAutoRestart")));
  }
}

TEST_F(VppLink, APipeOfAProgramHasOneWriterAndOneReader) {
  if (std::system("clang --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no clang here";
  write_text(
      "p.cl",
      "pipe int values __attribute__((xcl_reqd_pipe_depth(32)));\n"
      "kernel void give(int v) { write_pipe_block(values, &v); }\n"
      "kernel void take(global int* out) { int v; read_pipe_block(values, &v); *out = v; }\n");
  ASSERT_EQ(compile("give", "p.cl").status, 0);
  ASSERT_EQ(compile("take", "p.cl").status, 0);
  EXPECT_EQ(link({"give.xo", "take.xo"}).status, 0);
  EXPECT_THAT(link({"give.xo"}, {"-o", "b.xclbin"}).messages,
              HasSubstr("'values' has 1 writing and 0 reading units"));
  EXPECT_THAT(link({"give.xo", "take.xo"}, {"--connectivity.nk", "give:2"}).messages,
              HasSubstr("'values' has 2 writing and 1 reading units"));
}

}  // namespace
}  // namespace tandem::vpp
