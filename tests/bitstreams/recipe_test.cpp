// SPDX-License-Identifier: Apache-2.0
//
// Recipes, connectivity files and what is read from kernel sources.
#include "bitstreams/recipe.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bitstreams/builder.h"
#include "bitstreams/depfile.h"
#include "bitstreams/source_scan.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename Function>
std::string message_of(Function function) {
  try {
    function();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

const Platform& u55c() { return find_platform("u55c"); }

std::string connectivity_error(const std::string& text) {
  return message_of([&] { parse_connectivity(text, "x.cfg", u55c()); });
}

TEST(Connectivity, ReadsUnitsAndBanks) {
  const Connectivity result = parse_connectivity(
      "# comment\n[connectivity]\nnk=a:2\nnk = "
      "b:2:left.right\nsp=a_1.in:HBM[3]\nsp=left.out:HBM[4:7] # range\n"
      "slr=a_1:SLR0\n[vivado]\nprop=whatever\n",
      "x.cfg", u55c());
  ASSERT_EQ(result.units.size(), 2u);
  EXPECT_THAT(result.units[0].unit_names, ElementsAre("a_1", "a_2"));
  EXPECT_THAT(result.units[1].unit_names, ElementsAre("left", "right"));
  ASSERT_EQ(result.connections.size(), 2u);
  EXPECT_EQ(result.connections[0].first_bank, 3u);
  EXPECT_EQ(result.connections[1].unit, "left");
  EXPECT_EQ(result.connections[1].argument, "out");
  EXPECT_EQ(result.connections[1].last_bank, 7u);
}

TEST(Connectivity, NamesTheLineThatIsWrong) {
  const std::string head = "[connectivity]\n";
  EXPECT_THAT(connectivity_error(head + "\nnk=a:0"), HasSubstr("x.cfg:3"));
  EXPECT_THAT(connectivity_error(head + "nk=a:x"), HasSubstr("not a number"));
  EXPECT_THAT(connectivity_error(head + "nk=a:2:one"), HasSubstr("1 names"));
  EXPECT_THAT(connectivity_error(head + "sp=a_1.in"), HasSubstr("unit.argument"));
  EXPECT_THAT(connectivity_error(head + "sp=a_1.in:HBM[32]"), HasSubstr("no memory HBM[32]"));
  EXPECT_THAT(connectivity_error(head + "sp=a_1.in:HBM[7:4]"), HasSubstr("backwards"));
  EXPECT_THAT(connectivity_error(head + "stream_connect=a.x:b.y"), HasSubstr("not emulated"));
  EXPECT_THAT(connectivity_error(head + "bogus=1"), HasSubstr("unknown"));
}

TEST(SourceScan, FindsArgumentNames) {
  const std::string text = R"(
// void k(int wrong);
void k(int declared, int only);
extern "C" {
void k(const ap_uint<512>* in, hls::vector<float, 16> *out, int table[4], unsigned n /* count, really */)
{
#pragma HLS interface ap_ctrl_none port=return
}
})";
  const KernelSource source = scan_kernel_source(text, "k", "k.cpp");
  EXPECT_THAT(source.argument_names, ElementsAre("in", "out", "table", "n"));
  EXPECT_EQ(source.control, Control::kNone);
}

TEST(SourceScan, ChainIsTheDefaultAndNoArgumentsAreFine) {
  const KernelSource source =
      scan_kernel_source("void run_all() {\n  k();\n}\n", "run_all", "k.cpp");
  EXPECT_TRUE(source.argument_names.empty());
  EXPECT_EQ(source.control, Control::kChain);
}

TEST(SourceScan, SaysWhenThereIsNoDefinition) {
  EXPECT_THAT(message_of([] { scan_kernel_source("void other() {}", "k", "k.cpp"); }),
              HasSubstr("k.cpp"));
}

TEST(Depfile, PathsLoseTheirEscapes) {
  EXPECT_THAT(parse_depfile("/tmp/k.o: /a\\ b/k.cpp \\\n /c\\#d/e.h \\\r\n /$$f/g.h /h\\i.h\n"),
              ElementsAre("/a b/k.cpp", "/c#d/e.h", "/$f/g.h", "/h\\i.h"));
  EXPECT_TRUE(parse_depfile("").empty());
  EXPECT_THAT(parse_depfile("a: b\\"), ElementsAre("b\\"));
}

TEST(Depfile, EscapedPathsAreReadBack) {
  for (const char* path : {"plain.h", "a b.h", "a  b.h", "#.h", "$x$.h", "back\\slash.h",
                           "back\\ slash.h", "two\\\\ # $.h"}) {
    EXPECT_THAT(parse_depfile("out: " + escape_for_make(path) + "\n"), ElementsAre(path));
  }
}

class RecipeFile : public testing::Test {
 protected:
  RecipeFile() {
    folder_ = std::filesystem::temp_directory_path() /
              ("tandem-recipe-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) +
               std::to_string(getpid()));
    root_ = folder_;
    std::filesystem::create_directories(folder_);
  }
  ~RecipeFile() override { std::filesystem::remove_all(root_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  std::filesystem::path root_;
  std::filesystem::path folder_;
};

TEST_F(RecipeFile, BuildsAKernelAndDescribesIt) {
  write("k.cpp",
        "#include \"size.h\"\nextern \"C\" void k(const short* in, long n, float* out) {\n  out[0] "
        "= in[0] * n * SIZE;\n}\n");
  write("size.h", "#define SIZE 3\n");
  write("k.cfg", "[connectivity]\nnk=k:2\nsp=k_2.out:HBM[9]\n");
  const std::string recipe = write(
      "k.toml",
      "name = \"k\"\nconnectivity = \"k.cfg\"\n[[kernel]]\nname = \"k\"\nsource = \"k.cpp\"\n");
  BuildOptions options;
  options.output = (folder_ / "k.xclbin").string();
  options.depfile = (folder_ / "k.d").string();
  const XclbinInfo info = inspect(build(load_recipe(recipe), options));
  ASSERT_EQ(info.kernels.size(), 1u);
  ASSERT_EQ(info.kernels[0].arguments.size(), 3u);
  EXPECT_EQ(info.kernels[0].arguments[1].name, "n");
  EXPECT_EQ(info.kernels[0].arguments[1].offset, 0x1cu);
  EXPECT_EQ(info.kernels[0].arguments[1].host_bytes, 8u);
  EXPECT_EQ(info.kernels[0].arguments[2].offset, 0x28u);
  EXPECT_EQ(info.compute_units.size(), 2u);
  std::ifstream depfile(options.depfile);
  const std::string dependencies{std::istreambuf_iterator<char>(depfile), {}};
  EXPECT_THAT(dependencies, HasSubstr("size.h"));
  EXPECT_THAT(dependencies, HasSubstr("k.cfg"));
}

TEST_F(RecipeFile, IsBuiltInAFolderWithBlanksInItsName) {
  folder_ /= "with some blanks";
  std::filesystem::create_directories(folder_);
  write("k.cpp", "#include \"k.h\"\nextern \"C\" void k(int n, int* out) { out[0] = n * K; }\n");
  write("k.h", "#define K 3\n");
  const std::string recipe =
      write("k.toml", "name = \"k\"\n[[kernel]]\nname = \"k\"\nsource = \"k.cpp\"\n");
  BuildOptions options;
  options.output = (folder_ / "k.xclbin").string();
  options.depfile = (folder_ / "k.d").string();
  build(load_recipe(recipe), options);
  std::ifstream depfile(options.depfile);
  const std::vector<std::string> paths =
      parse_depfile({std::istreambuf_iterator<char>(depfile), {}});
  EXPECT_THAT(paths, testing::IsSupersetOf({recipe, (folder_ / "k.h").string()}));
  for (const std::string& path : paths) EXPECT_TRUE(std::filesystem::exists(path)) << path;
}

TEST_F(RecipeFile, IsBuiltByClangToo) {
  if (std::system("clang++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no clang++ here";
  write("k.cpp", "extern \"C\" void k(const short* in, int n, int* out) { out[0] = in[0] * n; }\n");
  const std::string recipe =
      write("k.toml", "name = \"k\"\n[[kernel]]\nname = \"k\"\nsource = \"k.cpp\"\n");
  BuildOptions options;
  options.output = (folder_ / "k.xclbin").string();
  options.compiler = "clang++";
  const XclbinInfo info = inspect(build(load_recipe(recipe), options));
  ASSERT_EQ(info.kernels.size(), 1u);
  ASSERT_EQ(info.kernels[0].arguments.size(), 3u);
  EXPECT_EQ(info.kernels[0].arguments[0].type, "const short *");
}

TEST_F(RecipeFile, ShowsTheCompilersMessage) {
  write("k.cpp", "extern \"C\" void k(int n) { this is no C++ }\n");
  const std::string recipe =
      write("k.toml", "name = \"k\"\n[[kernel]]\nname = \"k\"\nsource = \"k.cpp\"\n");
  EXPECT_THAT(message_of([&] { build(load_recipe(recipe)); }), HasSubstr("k.cpp:1"));
}

TEST_F(RecipeFile, RefusesStreamsBetweenKernels) {
  write("k.cpp",
        "struct Stream { int read(); bool empty(); };\nextern \"C\" void k(Stream& in, int* out) { "
        "out[0] = in.read(); }\n");
  const std::string recipe =
      write("k.toml", "name = \"k\"\n[[kernel]]\nname = \"k\"\nsource = \"k.cpp\"\n");
  EXPECT_THAT(message_of([&] { build(load_recipe(recipe)); }), HasSubstr("stream"));
}

TEST_F(RecipeFile, NamesTheKeyThatIsWrong) {
  const auto error = [&](const std::string& text) {
    const std::string path = write("r.toml", text);
    return message_of([&] { load_recipe(path); });
  };
  const std::string kernel = "[[kernel]]\nname = \"k\"\nsource = \"k.cpp\"\n";
  EXPECT_THAT(error(kernel), HasSubstr("'name'"));
  EXPECT_THAT(error("name = \"r\"\n"), HasSubstr("'kernel'"));
  EXPECT_THAT(error("name = \"r\"\n" + kernel), HasSubstr("'kernel.source'"));
  EXPECT_THAT(error("name = \"r\"\nnmae = 1\n" + kernel), HasSubstr("'nmae'"));
  EXPECT_THAT(error("name = 3\n" + kernel), HasSubstr("not a string"));
  EXPECT_THAT(error("name = \"r\"\nflags = \"-O1\"\n" + kernel), HasSubstr("array"));
  EXPECT_THAT(error("name = "), HasSubstr("r.toml"));
  write("k.cpp", "");
  EXPECT_THAT(error("name = \"r\"\nplatform = \"z9\"\n" + kernel), HasSubstr("u55c"));
}

}  // namespace
}  // namespace tandem::xclbin
