// SPDX-License-Identifier: Apache-2.0
//
// The scanner finds names and interfaces of kernels in the usual styles of source.
#include "bitstreams/compiler/vpp/kernel_scan.h"

#include <gmock/gmock.h>

#include <random>

#include "bitstreams/compiler/vpp/hls_settings.h"
#include "vpp/messages.h"

namespace tandem::vpp {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using vpp_test::message_of;
using xclbin::Control;

std::vector<std::string> names(const std::string& text, const std::string& kernel = "k") {
  std::vector<std::string> result;
  for (const ScannedArgument& argument : scan_kernel(text, kernel, "k.cpp").arguments) {
    result.push_back(argument.name);
  }
  return result;
}

TEST(KernelScan, ArgumentsOfAllShapesHaveTheirNames) {
  EXPECT_THAT(names("void k(const ap_uint<512>* in, hls::vector<float, 16> *out, int table[4], "
                    "unsigned n) {}"),
              ElementsAre("in", "out", "table", "n"));
  EXPECT_THAT(names("void k(hls::stream<ap_axiu<32, 0, 0, 0> >& a, hls::stream<int, 8> &b) {}"),
              ElementsAre("a", "b"));
  EXPECT_THAT(names("void k(std::complex<float> const * __restrict x, volatile int *y) {}"),
              ElementsAre("x", "y"));
  EXPECT_THAT(names("void k(unsigned long long n, float f = 1.0f, int m[2][3]) {}"),
              ElementsAre("n", "f", "m"));
  EXPECT_THAT(names("void k(ns::type a, ::other b, struct s c, int&d, float&&e) {}"),
              ElementsAre("a", "b", "c", "d", "e"));
  EXPECT_THAT(names("void k([[maybe_unused]] int a, int b __attribute__((unused))) {}"),
              ElementsAre("a", "b"));
  EXPECT_THAT(names("void k(ap_int<(8 > 4) ? 3 : 2> a, t<1, f(2)> b) {}").size(), 2u);
}

TEST(KernelScan, AKernelMayBeCalledLikeAFunctionOfALibrary) {
  const std::string text = R"(# 1 "k.cpp"
# 1 "/usr/include/c++/12/bits/stl_algobase.h" 1 3
namespace std { template <typename It, typename T> void fill(It first, It last, const T& value) {} }
void fill(int system) {}
# 2 "k.cpp" 2
namespace detail { void fill(char inner) { if (inner) { } } }
struct Canvas { void fill(int colour); };
void Canvas::fill(int colour) {}
template <typename T> void fill(T any) {}
extern "C" { void other(int o) {} }
extern "C" void fill(int* o, int v, int n) {}
namespace later { void fill(long last) {} }
# 1 "tandem-glue" 3
void fill(int glue) {}
)";
  EXPECT_THAT(names(text, "fill"), ElementsAre("o", "v", "n"));
  EXPECT_THAT(message_of([&] { names(text, "absent"); }), HasSubstr("found: fill, other"));
  EXPECT_THAT(names("namespace a { extern \"C\" { void k(int x) {} } void k(int y) {} }"),
              ElementsAre("x"));
}

TEST(KernelScan, FunctionsThatCannotBeStartedAreRefusedInASentence) {
  const auto error = [](const std::string& text) { return message_of([&] { names(text); }); };
  EXPECT_THAT(error("static void k(int a) {}"), AllOf(HasSubstr("k.cpp"), HasSubstr("is static")));
  EXPECT_THAT(error("extern \"C\" int k(int a) {}"), HasSubstr("returns a value"));
  EXPECT_THAT(error("void* k(int a) {}"), HasSubstr("returns a value"));
  EXPECT_THAT(error("void k(int** a) {}"), HasSubstr("pointer to pointers"));
  EXPECT_THAT(error("namespace z { void k(int a) {} }"), HasSubstr("in a namespace"));
  EXPECT_THAT(error("template <int N> void k(int a) {}"), HasSubstr("is a template"));
  EXPECT_THAT(error("void k(int a) {}\nvoid k(int* a) {}"), HasSubstr("is overloaded"));
  EXPECT_THAT(names("inline void k(t<int*, int*> a, const int* b) {}"), ElementsAre("a", "b"));
}

TEST(KernelScan, ArgumentsWithoutNamesGetTheirPlaceAsName) {
  EXPECT_THAT(names("void k(int, float *, hls::stream<int> &, type) {}"),
              ElementsAre("arg0", "arg1", "arg2", "arg3"));
}

TEST(KernelScan, NoArgumentsAreNone) {
  EXPECT_THAT(names("void k() {}"), IsEmpty());
  EXPECT_THAT(names("void k( void ) {}"), IsEmpty());
}

TEST(KernelScan, DefinitionsAreFoundAmongOtherText) {
  const std::string text = R"(# 1 "k.h" 1
void k(int declared, int only);
struct Holder { void k(int member) { if (true) { } } };
static const char* text = "void k(int quoted) {";
# 3 "k.cpp" 2
namespace inner { inline namespace v1 { void helper(int a) { k(a, 1); } } }
template <typename T, int N = (3 > 2)> T twice(T v) { return v; }
int values[] = {1, 2, 3};
auto lambda = [](int x) { return x; };
enum class E : int { kA, kB };
extern "C" {
__attribute__((visibility("default"))) void
k
(int first,
 int second)
{
  char c = '{'; int big = 1'000'000; const char* s = R"x(})x";
  for (int i = 0; i < 3; ++i) { k2(i); }
}
}
void after() {}
)";
  EXPECT_THAT(names(text), ElementsAre("first", "second"));
  std::vector<std::string> found;
  for (const FunctionDefinition& function : find_functions(text)) found.push_back(function.name);
  EXPECT_THAT(found, ElementsAre("helper", "twice", "k", "after"));
}

TEST(KernelScan, ControlProtocolsComeFromThePragmas) {
  const auto control = [](const std::string& pragma) {
    return scan_kernel("void k(int n) {\n" + pragma + "\n}", "k", "k.cpp").control;
  };
  EXPECT_EQ(control(""), Control::kChain);
  EXPECT_EQ(control("#pragma HLS INTERFACE s_axilite port=return"), Control::kChain);
  EXPECT_EQ(control("#pragma HLS INTERFACE ap_ctrl_none port=return"), Control::kNone);
  EXPECT_EQ(control("  #pragma hls interface mode = ap_ctrl_none port = return"), Control::kNone);
  EXPECT_EQ(control("#pragma HLS interface ap_ctrl_hs port=return"), Control::kHandshake);
  EXPECT_EQ(control("#pragma HLS INTERFACE mode=ap_ctrl_chain port=return bundle=control"),
            Control::kChain);
  EXPECT_EQ(control("#pragma HLS pipeline ap_ctrl_none"), Control::kChain);
  EXPECT_EQ(scan_kernel("void k() {\n}\nvoid j() {\n#pragma HLS interface ap_ctrl_none "
                        "port=return\n}",
                        "k", "k.cpp")
                .control,
            Control::kChain)
      << "another function's pragma";
}

TEST(KernelScan, InterfacesTellBundlesAndRegisters) {
  const ScannedKernel kernel = scan_kernel(R"(
void k(const int* in, int *out, int *sum, int limits[4 * 2], int plain[16], int n) {
#pragma HLS INTERFACE m_axi port=in offset=slave bundle=gmem0 depth=16
#pragma HLS INTERFACE mode=m_axi bundle = gmem1 port = out
#pragma HLS INTERFACE s_axilite port=in bundle=control
#pragma HLS INTERFACE s_axilite port=out
#pragma HLS INTERFACE s_axilite port=sum
#pragma HLS INTERFACE s_axilite port=limits
#pragma HLS INTERFACE s_axilite port=n
})",
                                           "k", "k.cpp");
  ASSERT_EQ(kernel.arguments.size(), 6u);
  EXPECT_EQ(kernel.arguments[0].bundle, "gmem0");
  EXPECT_EQ(kernel.arguments[1].bundle, "gmem1");
  EXPECT_EQ(kernel.arguments[0].register_elements, "");
  EXPECT_EQ(kernel.arguments[2].register_elements, "1");
  EXPECT_EQ(kernel.arguments[3].register_elements, "4 * 2");
  EXPECT_EQ(kernel.arguments[4].register_elements, "") << "an array without s_axilite is memory";
  EXPECT_EQ(kernel.arguments[5].register_elements, "") << "a scalar is a register anyway";
  EXPECT_TRUE(kernel.arguments[4].global);
  EXPECT_FALSE(kernel.arguments[5].global);
}

TEST(KernelScan, AMissingKernelIsToldWithWhatTheSourceHas) {
  const std::string text =
      "# 1 \"/usr/include/x.h\" 1 3\nint hidden(int a) { return a; }\n# 2 \"k.cpp\" 2\n"
      "void vadd(int a) {}\nvoid vmul(int a) {}\n";
  const std::string message = message_of([&] { scan_kernel(text, "vad", "src/k.cpp"); });
  EXPECT_THAT(message, AllOf(HasSubstr("src/k.cpp"), HasSubstr("'vad'"), HasSubstr("vadd, vmul"),
                             Not(HasSubstr("hidden"))));
  EXPECT_THAT(message_of([] { scan_kernel("", "k", "k.cpp"); }), HasSubstr("defines none"));
}

TEST(KernelScan, DamagedTextNeverCrashes) {
  const std::string good =
      "# 1 \"k.cpp\"\nnamespace a { struct B { int c; }; }\nextern \"C\" { void k(const int* a, "
      "hls::stream<ap_uint<3>>& s, int t[4]) {\n#pragma HLS interface m_axi port=a bundle=g\n for "
      "(int i = 0; i < 3; ++i) { a[i] = \"x\"[0] + 'c'; }\n} }\n";
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string text = good;
    for (uint32_t change = 0; change < 1 + random() % 8; ++change) {
      const size_t at = random() % text.size();
      if (random() % 2 == 0) {
        text[at] = static_cast<char>(random());
      } else {
        text.insert(at, 1, "(){}[]<>\"'#;"[random() % 12]);
      }
    }
    message_of([&] { scan_kernel(text.substr(0, 1 + random() % text.size()), "k", "k.cpp"); });
  }
}

TEST(HlsSettings, ScriptsTellOfRegistersAndPorts) {
  HlsSettings settings;
  read_hls_script(
      "# config_interface -s_axilite_mailbox in\nopen_project x\n"
      "config_interface -s_axilite_mailbox both; config_interface "
      "-s_axilite_auto_restart_counter 1\nconfig_interface -m_axi_auto_max_ports=true "
      "-s_axilite_sw_reset\nset_directive_pipeline \"k/loop\"\n",
      "pre.tcl", settings);
  EXPECT_EQ(settings.mailbox, Mailbox::kBoth);
  EXPECT_EQ(settings.restart_counters, 1u);
  EXPECT_TRUE(settings.separate_ports);
  EXPECT_TRUE(settings.software_reset);
  EXPECT_TRUE(settings.has_control_registers());
}

TEST(HlsSettings, FlagsHaveSeveralWordsAndCountersMayBeOff) {
  for (const char* word : {"", "1", "true", "yes", "on"}) {
    HlsSettings settings;
    EXPECT_TRUE(read_hls_key("syn.interface.s_axilite_sw_reset", word, "c.cfg:1", settings));
    EXPECT_TRUE(settings.software_reset) << word;
  }
  for (const char* word : {"0", "false", "no", "off"}) {
    HlsSettings settings;
    read_hls_key("syn.interface.s_axilite_sw_reset", word, "c.cfg:1", settings);
    EXPECT_FALSE(settings.software_reset) << word;
  }
  HlsSettings settings;
  read_hls_script("config_interface -s_axilite_auto_restart_counter 1\n", "pre.tcl", settings);
  read_hls_script("config_interface -s_axilite_auto_restart_counter 0\n", "pre.tcl", settings);
  EXPECT_EQ(settings.restart_counters, 0u);
}

TEST(HlsSettings, CommentsOfScriptsMayBeIndented) {
  HlsSettings settings;
  read_hls_script(" \t# config_interface -s_axilite_mailbox in\n", "pre.tcl", settings);
  EXPECT_EQ(settings.mailbox, Mailbox::kNone);
}

TEST(HlsSettings, WrongValuesAreToldWithFileAndLine) {
  HlsSettings settings;
  EXPECT_THAT(message_of([&] {
                read_hls_script("\nconfig_interface -s_axilite_mailbox maybe\n", "pre.tcl",
                                settings);
              }),
              AllOf(HasSubstr("pre.tcl:2"), HasSubstr("'maybe'")));
  EXPECT_THAT(message_of([&] {
                read_hls_key("syn.interface.s_axilite_auto_restart_counter", "4", "c.cfg:3",
                             settings);
              }),
              AllOf(HasSubstr("c.cfg:3"), HasSubstr("'4'")));
  EXPECT_FALSE(read_hls_key("jobs", "4", "c.cfg:3", settings));
  EXPECT_THAT(message_of([&] {
                read_hls_script("config_interface -s_axilite_mailbox", "pre.tcl", settings);
              }),
              HasSubstr("pre.tcl:1"));
}

}  // namespace
}  // namespace tandem::vpp
