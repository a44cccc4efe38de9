// SPDX-License-Identifier: Apache-2.0
//
// RTL kernels before Verilator: the kernel object, the ports of a model, the arguments, the glue.
#include <gmock/gmock.h>

#include "bitstreams/compiler/rtl/rtl_archive.h"
#include "bitstreams/compiler/rtl/rtl_arguments.h"
#include "bitstreams/compiler/rtl/rtl_glue.h"
#include "bitstreams/compiler/rtl/rtl_interface.h"
#include "common/error.h"

namespace tandem::rtl {
namespace {

using testing::HasSubstr;

std::string entry(const std::string& kind, const std::string& text, const std::string& name = "") {
  return kind + " " + std::to_string(text.size()) + " " + name + "\n" + text + "\n";
}

template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RtlArchive, HasTextsAndSources) {
  const std::string bytes = "tandem-rtl-kernel 1\n" + entry("kernel", "vadd") +
                            entry("protocol", "ap_ctrl_chain") + entry("component", "<c/>") +
                            entry("source", "module\nvadd;", "/a folder/vadd.v") +
                            entry("source", "", "empty.sv");
  EXPECT_TRUE(is_rtl_archive(bytes));
  EXPECT_FALSE(
      is_rtl_archive("\x7f"
                     "ELF"));
  const RtlArchive archive = read_rtl_archive(bytes, "x.xo");
  EXPECT_EQ(archive.kernel, "vadd");
  EXPECT_EQ(archive.protocol, "ap_ctrl_chain");
  EXPECT_EQ(archive.component, "<c/>");
  EXPECT_EQ(archive.kernel_xml, "");
  ASSERT_EQ(archive.sources.size(), 2u);
  EXPECT_EQ(archive.sources[0].path, "/a folder/vadd.v");
  EXPECT_EQ(archive.sources[0].text, "module\nvadd;");
  EXPECT_EQ(archive.sources[1].text, "");
}

TEST(RtlArchive, RefusesEveryTruncation) {
  const std::string bytes =
      "tandem-rtl-kernel 1\n" + entry("kernel", "vadd") + entry("source", "module", "v.v");
  const size_t whole_kernel =
      std::string("tandem-rtl-kernel 1\n").size() + entry("kernel", "vadd").size();
  for (size_t size = 18; size < bytes.size(); ++size) {
    if (size == whole_kernel) continue;  // a kernel without sources
    const std::string message =
        message_of([&] { read_rtl_archive(bytes.substr(0, size), "x.xo"); });
    EXPECT_THAT(message, HasSubstr("kernel object x.xo: ")) << size;
  }
  EXPECT_THAT(message_of([] { read_rtl_archive("tandem-rtl-kernel 2\n", "x.xo"); }),
              HasSubstr("another version"));
  EXPECT_THAT(
      message_of([] { read_rtl_archive("tandem-rtl-kernel 1\n" + entry("sauce", "x"), "x.xo"); }),
      HasSubstr("unknown kind 'sauce'"));
  EXPECT_THAT(message_of([] { read_rtl_archive("tandem-rtl-kernel 1\nkernel x \n\n", "x.xo"); }),
              HasSubstr("damaged"));
}

TEST(RtlArchive, RefusesNamesThatCannotBeSymbols) {
  for (const char* name : {"../vadd", "va dd", "1vadd", "vadd\"", "vadd\n"}) {
    EXPECT_THAT(message_of([&] {
                  read_rtl_archive("tandem-rtl-kernel 1\n" + entry("kernel", name), "x.xo");
                }),
                HasSubstr("use letters, digits and '_'"))
        << name;
  }
}

// A kernel with registers, memory and two streams, as Verilator declares it.
constexpr const char* kHeader = R"(
    VL_IN8(&ap_clk,0,0);
    VL_IN8(&ap_clk_2,0,0);
    VL_IN8(&ap_rst_n,0,0);
    VL_OUT8(&__SYM__interrupt,0,0);
    VL_IN16(&mode,8,0);
    VL_OUT8(&m_axi_gmem_ARVALID,0,0);
    VL_OUT64(&m_axi_gmem_ARADDR,63,0);
    VL_INW(&m_axi_gmem_RDATA,511,0,16);
    VL_IN8(&s_axi_control_AWADDR,5,0);
    VL_IN8(&s_axi_control_AWVALID,0,0);
    VL_INW(&in_tdata,95,0,3);
    VL_IN8(&in_tvalid,0,0);
    VL_OUT8(&in_tready,0,0);
    VL_OUT(&Out_TDATA,23,0);
    VL_OUT8(&Out_TVALID,0,0);
    VL_IN8(&Out_TREADY,0,0);
    VL_OUT8(&Out_TLAST,0,0);
    VL_OUT8(&Out_TUSER,4,0);
)";

Interfaces interfaces() { return find_interfaces(read_model_header(kHeader)); }

TEST(RtlInterface, GroupsPortsByTheirNames) {
  const std::vector<Signal> signals = read_model_header(kHeader);
  ASSERT_EQ(signals.size(), 18u);
  EXPECT_EQ(signals[3].name, "interrupt");
  EXPECT_EQ(signals[3].member, "__SYM__interrupt");
  EXPECT_FALSE(signals[3].is_input);
  EXPECT_EQ(signals[4].bits, 9u);
  const Interfaces found = interfaces();
  ASSERT_EQ(found.memories.size(), 1u);
  EXPECT_EQ(found.memories[0].name, "m_axi_gmem");
  EXPECT_EQ(found.memories[0].signals.at("rdata").bits, 512u);
  ASSERT_EQ(found.controls.size(), 1u);
  EXPECT_EQ(found.controls[0].name, "s_axi_control");
  ASSERT_EQ(found.streams.size(), 2u);
  EXPECT_FALSE(found.streams[0].writes);
  EXPECT_TRUE(found.streams[1].writes);
  EXPECT_EQ(found.clocks.size(), 2u);
  EXPECT_EQ(found.low_resets.size(), 1u);
  ASSERT_EQ(found.other_inputs.size(), 1u);
  EXPECT_EQ(found.other_inputs[0].name, "mode");
}

std::string register_xml(const std::string& name, const std::string& offset, int bits,
                         const std::string& bus = "") {
  std::string text = "<s:register><s:name>" + name + "</s:name><s:addressOffset>" + offset +
                     "</s:addressOffset><s:size>" + std::to_string(bits) + "</s:size>";
  if (!bus.empty()) {
    text += "<s:parameters><s:parameter><s:name>ASSOCIATED_BUSIF</s:name><s:value>" + bus +
            "</s:value></s:parameter></s:parameters>";
  }
  return text + "</s:register>";
}

RtlArchive with_registers(const std::string& registers) {
  RtlArchive archive;
  archive.file = "x.xo";
  archive.kernel = "vadd";
  archive.component = "<s:component xmlns:s=\"x\"><s:memoryMaps><s:memoryMap><s:addressBlock>" +
                      registers + "</s:addressBlock></s:memoryMap></s:memoryMaps></s:component>";
  return archive;
}

TEST(RtlArguments, AreRegistersThenStreams) {
  const RtlArchive archive = with_registers(register_xml("CTRL", "0x000", 32) +
                                            register_xml("a", "0x010", 64, "m_axi_gmem") +
                                            register_xml("count", "28", 32));
  const RtlDescription found = describe_rtl(archive, interfaces());
  EXPECT_EQ(found.top, "vadd");
  EXPECT_EQ(found.protocol, RtlProtocol::kHandshake);
  ASSERT_EQ(found.arguments.size(), 4u);
  EXPECT_EQ(found.arguments[0].name, "a");
  EXPECT_EQ(found.arguments[0].kind, ArgumentKind::kGlobal);
  EXPECT_EQ(found.arguments[0].offset, 16u);
  EXPECT_EQ(found.arguments[0].bytes, 8u);
  EXPECT_EQ(found.arguments[1].kind, ArgumentKind::kScalar);
  EXPECT_EQ(found.arguments[1].bytes, 4u);
  EXPECT_EQ(found.arguments[2].name, "in");
  EXPECT_EQ(found.arguments[3].kind, ArgumentKind::kStream);
}

TEST(RtlArguments, ComeFromKernelXmlIfThereIsOne) {
  RtlArchive archive = with_registers(register_xml("ignored", "0x10", 32));
  archive.component.replace(archive.component.find("<s:memoryMaps>"), 0,
                            "<s:model><s:views><s:view><s:modelName>other_top</s:modelName>"
                            "</s:view></s:views></s:model>");
  archive.kernel_xml =
      "<root><kernel hwControlProtocol=\"ap_ctrl_chain\"><args>"
      "<arg name=\"p\" addressQualifier=\"1\" port=\"M_AXI_GMEM\" size=\"0x8\" offset=\"0x10\" "
      "type=\"float*\"/><arg name=\"in\" addressQualifier=\"4\" "
      "port=\"in\"/></args></kernel></root>";
  const RtlDescription found = describe_rtl(archive, interfaces());
  EXPECT_EQ(found.top, "other_top");
  EXPECT_EQ(found.protocol, RtlProtocol::kChain);
  ASSERT_EQ(found.arguments.size(), 2u);
  EXPECT_EQ(found.arguments[0].type, "float*");
  EXPECT_EQ(found.arguments[1].bytes, 0u);
  archive.protocol = "user_managed";
  EXPECT_EQ(describe_rtl(archive, interfaces()).protocol, RtlProtocol::kHandshake);
}

TEST(RtlArguments, RefuseWhatCannotRun) {
  const auto refusal = [](const RtlArchive& archive, const Interfaces& ports) {
    return message_of([&] { describe_rtl(archive, ports); });
  };
  EXPECT_THAT(refusal(with_registers(register_xml("a", "0x10", 64, "m_axi_other")), interfaces()),
              HasSubstr("argument 'a' belongs to the port 'm_axi_other', which module 'vadd' does "
                        "not have"));
  EXPECT_THAT(refusal(with_registers(register_xml("a", "0x10", 32, "m_axi_gmem")), interfaces()),
              HasSubstr("pointer 'a' has 4 bytes"));
  EXPECT_THAT(refusal(with_registers(register_xml("a", "0x20", 32)), interfaces()),
              HasSubstr("argument 'a' is at offset 32"));
  EXPECT_THAT(refusal(with_registers(register_xml("a", "0x12", 32)), interfaces()),
              HasSubstr("not a multiple of 4"));
  Interfaces bare = interfaces();
  bare.clocks.clear();
  EXPECT_THAT(refusal(with_registers(""), bare), HasSubstr("has no clock"));
  Interfaces two = interfaces();
  two.controls.push_back(two.controls[0]);
  EXPECT_THAT(refusal(with_registers(""), two), HasSubstr("has 2 AXI4-Lite ports"));
  RtlArchive free = with_registers(register_xml("a", "0x10", 32));
  free.protocol = "ap_ctrl_none";
  EXPECT_THAT(refusal(free, interfaces()), HasSubstr("such a kernel has streams only"));
  free.component = with_registers("").component;
  EXPECT_EQ(describe_rtl(free, interfaces()).protocol, RtlProtocol::kNone);
  RtlArchive unknown = with_registers("");
  unknown.protocol = "ap_ctrl_magic";
  EXPECT_THAT(refusal(unknown, interfaces()), HasSubstr("protocol 'ap_ctrl_magic'"));
  RtlArchive damaged = with_registers("");
  damaged.component += "<";
  EXPECT_THAT(refusal(damaged, interfaces()), HasSubstr("component.xml is damaged"));
}

TEST(RtlArguments, AreInTheRegistersOfAUnit) {
  const auto refusal = [](const std::string& offset, int bits) {
    const std::string registers = register_xml("a", "0x10", 32) + register_xml("b", offset, bits);
    return message_of([&] { describe_rtl(with_registers(registers), interfaces()); });
  };
  EXPECT_EQ(refusal("0xfffc", 32), "no error");
  for (const char* offset : {"0xfffc", "0xfffffffc", "0x100000018", "-4"}) {
    EXPECT_NE(refusal(offset, 64), "no error") << offset;
  }
  EXPECT_THAT(refusal("0xfffc", 64), HasSubstr("argument 'b' ends behind the 64 KB of registers"));
  EXPECT_THAT(refusal("0xfffffffc", 64), HasSubstr("argument 'b'"));
}

TEST(RtlArguments, NeedMemoryPortsOfOneWidth) {
  const auto refusal = [](const std::string& more) {
    const Interfaces ports = find_interfaces(read_model_header(kHeader + more));
    return message_of([&] { describe_rtl(with_registers(""), ports); });
  };
  const std::string writes = "VL_OUT8(&m_axi_b_AWVALID,0,0);\nVL_OUT64(&m_axi_b_AWADDR,63,0);\n";
  EXPECT_EQ(refusal(writes + "VL_OUT(&m_axi_b_WDATA,31,0);\nVL_OUT8(&m_axi_b_WSTRB,3,0);"),
            "no error");
  EXPECT_THAT(refusal(writes), HasSubstr("port 'm_axi_b' has 0 bits of RDATA, 0 of WDATA"));
  EXPECT_THAT(refusal(writes + "VL_OUT(&m_axi_b_WDATA,23,0);"), HasSubstr("24 of WDATA"));
  EXPECT_THAT(refusal(writes + "VL_OUT8(&m_axi_b_WDATA,3,0);"), HasSubstr("4 of WDATA"));
  EXPECT_THAT(refusal(writes + "VL_OUT(&m_axi_b_WDATA,31,0);\nVL_OUT8(&m_axi_b_WSTRB,1,0);"),
              HasSubstr("2 of WSTRB"));
  EXPECT_THAT(refusal("VL_OUT8(&m_axi_gmem_AWVALID,0,0);\nVL_OUT(&m_axi_gmem_WDATA,31,0);"),
              HasSubstr("512 bits of RDATA, 32 of WDATA"));
}

TEST(RtlGlue, ABeatHasTheSideChannelsOfItsPort) {
  const Interfaces ports = interfaces();
  const RtlDescription described =
      describe_rtl(with_registers(register_xml("a", "0x10", 64, "m_axi_gmem")), ports);
  const std::string glue = rtl_glue("vadd", described, ports);
  EXPECT_THAT(glue, HasSubstr("using Beat1 = ap_uint<96>;"));
  EXPECT_THAT(glue, HasSubstr("using Beat2 = hls::axis<ap_uint<24>, 5, 0, 0>;"));
  EXPECT_THAT(glue, HasSubstr("model.ap_clk_2 = clock;"));
  EXPECT_THAT(glue, HasSubstr("model.ap_rst_n = !active;"));
  EXPECT_THAT(glue, HasSubstr("pins.rdata = TANDEM_PIN(m_axi_gmem_RDATA, 512);"));
  EXPECT_THAT(glue, HasSubstr("tandem_kernel_vadd()"));
  EXPECT_THAT(glue, HasSubstr("tandem_checked_vadd()"));
}

}  // namespace
}  // namespace tandem::rtl
