// SPDX-License-Identifier: Apache-2.0
//
// Pragmas that v++ warns of, and pragmas that it accepts.
#include "bitstreams/compiler/vpp/pragma_check.h"

#include <gmock/gmock.h>

namespace tandem::vpp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> check(const std::string& pragma) {
  return check_pragmas("# 1 \"add.cpp\"\n#pragma " + pragma + "\n");
}

TEST(PragmaCheck, AMistypedNameIsToldTheNearest) {
  EXPECT_THAT(check("HLS dataflw"),
              ElementsAre("add.cpp:1: #pragma HLS dataflw is unknown and has no effect (did you "
                          "mean 'dataflow'?)"));
  EXPECT_THAT(check("hls ARRAY_PARTITON variable=a"),
              ElementsAre("add.cpp:1: #pragma HLS array_partiton is unknown and has no effect (did "
                          "you mean 'array_partition'?)"));
  EXPECT_THAT(check("HLS nothing_like_it"),
              ElementsAre("add.cpp:1: #pragma HLS nothing_like_it is unknown and has no effect"));
}

TEST(PragmaCheck, AMistypedOptionOrModeIsToldTheNearest) {
  EXPECT_THAT(check("HLS interface m_axxi port=a"),
              ElementsAre("add.cpp:1: #pragma HLS interface has no option 'm_axxi' (did you mean "
                          "'m_axi'?)"));
  EXPECT_THAT(check("HLS INTERFACE mode = M_AXXI port=a"),
              ElementsAre("add.cpp:1: #pragma HLS interface has no mode 'M_AXXI' (did you mean "
                          "'m_axi'?)"));
  EXPECT_THAT(check("HLS interface m_axi port=a bundel=g"),
              ElementsAre("add.cpp:1: #pragma HLS interface has no option 'bundel' (did you mean "
                          "'bundle'?)"));
  EXPECT_THAT(check("HLS stream variable=s deep=4"),
              ElementsAre("add.cpp:1: #pragma HLS stream has no option 'deep'"));
  EXPECT_THAT(check("HLS inline recursiv"),
              ElementsAre("add.cpp:1: #pragma HLS inline has no option 'recursiv' (did you mean "
                          "'recursive'?)"));
}

TEST(PragmaCheck, PragmasOfTheGuideAreLeftInPeace) {
  for (const char* pragma : {
           "HLS aggregate variable=a compact=bit",
           "HLS alias ports=a, b, modes offset=0, 4, 8",
           "HLS alias ports=a, offsets distance=4",
           "HLS allocation instances=mul limit=1 operation",
           "HLS allocation function instances=foo<DT> limit=2",
           "HLS ARRAY_MAP variable=a instance=b horizontal",
           "HLS array_partition variable=a complete dim=1",
           "HLS array_reshape variable=a type=cyclic factor=N*2 dim=0",
           "HLS array_stencil variable=a off",
           "HLS bind_op variable=c op=mul impl=dsp latency=2",
           "HLS bind_storage variable=a type=RAM_2P impl=bram",
           "HLS cache port=in lines=8 depth=128 ports=2 l2_lines=16",
           "HLS DATA_PACK variable=a struct_level",
           "HLS dataflow disable_start_propagation",
           "HLS dependence variable=a inter RAW distance=2 true",
           "HLS dependence class=array type=inter dependent=false",
           "HLS disaggregate variable=a->b",
           "HLS expression_balance off",
           "HLS function_instantiate variable=a",
           "HLS inline off",
           "HLS INTERFACE s_axilite port=return bundle=control autorestart",
           "HLS interface mode=ap_memory port=a storage_type=ram_1p latency=2",
           "HLS interface axis register both port=a",
           "HLS interface mode=axis port=a register_mode=fwd depth=( N + 1 )",
           "HLS interface m_axi port=a,b offset=slave max_widen_bitwidth=512 channel=0",
           "HLS latency min=1 max=2",
           "HLS loop_flatten off",
           "HLS loop_merge force",
           "HLS loop_tripcount min=1 max=4 avg=2",
           "HLS occurrence cycle=4",
           "HLS performance target_ti=1000 unit=cycle",
           "HLS PIPELINE II=kSteps rewind style=flp",
           "HLS protocol fixed",
           "HLS reset variable=a off",
           "HLS RESOURCE variable=a core=RAM_2P_URAM",
           "HLS shared variable=a",
           "HLS stable variable=a",
           "HLS stream variable=a type=pipo depth=2 off=true",
           "HLS top name=kernel",
           "HLS unroll factor=4 skip_exit_check",
           "HLS if (OPT == 1) pipeline II=1",
           "GCC unroll 4",
           "once",
           "HLS",
       }) {
    EXPECT_THAT(check(pragma), IsEmpty()) << pragma;
  }
}

TEST(PragmaCheck, LinesAreThoseOfTheMarkersAndSystemHeadersAreLeftOut) {
  EXPECT_THAT(check_pragmas("# 1 \"/usr/h\" 1 3\n#pragma HLS dataflw\n"
                            "# 7 \"a \\\"b\\\".cpp\" 2\nint x;\n  #pragma HLS unrol\n"
                            "#pragma HLS unrol\n# 8 \"a \\\"b\\\".cpp\"\n#pragma HLS unrol"),
              ElementsAre("a \"b\".cpp:8: #pragma HLS unrol is unknown and has no effect (did you "
                          "mean 'unroll'?)",
                          "a \"b\".cpp:9: #pragma HLS unrol is unknown and has no effect (did you "
                          "mean 'unroll'?)"));
}

TEST(PragmaCheck, AnyTextIsRead) {
  for (const char* text : {"", "\n", "#", "# ", "# 1", "# 1 ", "# 1 \"", "# x \"a\"", "# 1 \"a\\\"",
                           "#pragma", "#pragma HLS interface mode", "#pragma HLS interface = =",
                           "#pragma HLS interface mode=", "# 99999999999999999999999 \"a\""}) {
    EXPECT_THAT(check_pragmas(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace tandem::vpp
