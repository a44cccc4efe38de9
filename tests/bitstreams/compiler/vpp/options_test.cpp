// SPDX-License-Identifier: Apache-2.0
//
// The command line and configuration files of v++: every option's spellings, and the messages for
// unknown ones.
#include "bitstreams/compiler/vpp/options.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "bitstreams/compiler/vpp/option_table.h"
#include "vpp/messages.h"

namespace tandem::vpp {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using vpp_test::message_of;

const std::vector<std::string> kCompile = {"-c", "-t", "sw_emu", "k.cpp"};

Options with(std::vector<std::string> more) {
  more.insert(more.begin(), kCompile.begin(), kCompile.end());
  return read_options(more);
}

std::string error_of(const std::vector<std::string>& arguments) {
  return message_of([&] { read_options(arguments); });
}

class ConfigurationFile : public testing::Test {
 protected:
  ConfigurationFile()
      : folder_(std::filesystem::temp_directory_path() /
                ("tandem-vpp-options-" + std::to_string(getpid()) + "-" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~ConfigurationFile() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  std::filesystem::path folder_;
};

TEST(VppOptions, ShortLongAndOldSpellingsMeanTheSame) {
  const std::vector<std::vector<std::string>> spellings = {
      {"-c", "-t", "hw_emu", "-f", "u50", "-k", "vadd", "-o", "vadd.xo", "k.cpp"},
      {"-c", "-t=hw_emu", "-fu50", "-kvadd", "-ovadd.xo", "k.cpp"},
      {"--compile", "--target", "hw_emu", "--platform", "u50", "--kernel", "vadd", "--output",
       "vadd.xo", "k.cpp"},
      {"--compile", "--target=hw_emu", "--platform=u50", "--kernel=vadd", "--output=vadd.xo",
       "k.cpp"},
      {"-compile", "-target", "hw_emu", "-platform=u50", "-kernel", "vadd", "-output", "vadd.xo",
       "k.cpp"},
      {"k.cpp", "-c", "--output='vadd.xo'", "--kernel=\"vadd\"", "-t", "hw_emu", "-f", "u50"}};
  for (const auto& words : spellings) {
    const Options options = read_options(words);
    EXPECT_EQ(options.stage, Stage::kCompile);
    EXPECT_EQ(options.target, Target::kHardware);
    EXPECT_EQ(options.platform, "u50");
    EXPECT_THAT(options.kernels, ElementsAre("vadd"));
    EXPECT_EQ(options.output, "vadd.xo");
    EXPECT_THAT(options.inputs, ElementsAre("k.cpp"));
    EXPECT_THAT(options.warnings, IsEmpty());
  }
}

TEST(VppOptions, ListsGrowAndKeepTheirOrder) {
  const Options options = with({"-I", "a", "-Ib", "--include=c", "-D", "X", "-DY=1", "--define",
                                "Z=\"a b\"", "--hls_include", "h:i", "--input_files", "m.cpp"});
  EXPECT_THAT(options.include_dirs, ElementsAre("a", "b", "c"));
  EXPECT_THAT(options.defines, ElementsAre("X", "Y=1", "Z=\"a b\""));
  EXPECT_THAT(options.hls_include_dirs, ElementsAre("h", "i"));
  EXPECT_THAT(options.inputs, ElementsAre("k.cpp", "m.cpp"));
}

TEST(VppOptions, FlagsAndSingleValuesAreTaken) {
  const Options options = with({"-g", "-s", "-O3", "--temp_dir", "t", "--log_dir=l",
                                "--kernel_frequency", "250", "--depfile", "k.d", "-k", "k",
                                "--advanced.prop", "kernel.k.kernel_flags=-std=c++17 -DQ",
                                "--advanced.prop=kernel.other.kernel_flags=-DR"});
  EXPECT_TRUE(options.debug);
  EXPECT_TRUE(options.save_temps);
  EXPECT_EQ(options.optimization, "3");
  EXPECT_EQ(options.temp_dir, "t");
  EXPECT_EQ(options.log_dir, "l");
  EXPECT_EQ(options.kernel_frequency_mhz, 250u);
  EXPECT_EQ(options.depfile, "k.d");
  EXPECT_THAT(options.kernel_flags, ElementsAre("-std=c++17", "-DQ"));
  EXPECT_TRUE(with({"--save-temps", "--debug"}).save_temps);
  EXPECT_TRUE(with({"--save_temps"}).save_temps);
  EXPECT_EQ(with({"--optimize", "quick"}).optimization, "1");
  for (const char* quote : {"'", "\""}) {
    const std::string flags = quote + std::string("-DA -DB") + quote;
    EXPECT_THAT(with({"-k", "k", "--advanced.prop", "kernel.k.kernel_flags=" + flags}).kernel_flags,
                ElementsAre("-DA", "-DB"));
  }
  EXPECT_EQ(with({"--kernel_frequency", "0:300|1:500"}).kernel_frequency_mhz, 300u);
}

TEST(VppOptions, StagesAreLinkPackageHelpAndVersion) {
  EXPECT_EQ(read_options({"-l", "-t", "sw_emu", "k.xo"}).stage, Stage::kLink);
  const Options package =
      read_options({"-p", "a.link.xclbin", "-t", "sw_emu", "--package.out_dir", "out",
                    "--package.sd_file", "x", "--package.sd_file=y", "--package.boot_mode=sd"});
  EXPECT_EQ(package.stage, Stage::kPackage);
  EXPECT_EQ(package.package_dir, "out");
  EXPECT_THAT(package.package_files, ElementsAre("x", "y"));
  for (const char* each :
       {"--package.ps_on_x86", "--package.no-image", "--package.defer_aie_run"}) {
    const Options switched = read_options({"-p", "-t", "sw_emu", each, "a.link.xclbin"});
    EXPECT_THAT(switched.inputs, ElementsAre("a.link.xclbin")) << each;
    EXPECT_THAT(switched.warnings, IsEmpty()) << each;
  }
  EXPECT_EQ(read_options({"--help"}).stage, Stage::kHelp);
  EXPECT_EQ(read_options({"-h"}).stage, Stage::kHelp);
  EXPECT_EQ(read_options({"--version"}).stage, Stage::kVersion);
  EXPECT_EQ(read_options({"-v"}).stage, Stage::kVersion);
  EXPECT_THAT(usage(), AllOf(HasSubstr("--kernel_frequency"), HasSubstr("connectivity")));
}

TEST(VppOptions, OptionsWithoutEffectAreAcceptedWithALineAtMost) {
  std::istringstream words(
      "--dk chipscope:vadd_1 --xp param:x=y -j8 -R2 --report_level estimate --report_dir r "
      "--remote_ip_cache c --messageDb m.mdb --export_script --from_step vpl "
      "--user_board_repo_paths p --profile_kernel data:all:all:all --vivado.prop run.x=y "
      "--hls.jobs 4 --clock.defaultFreqHz=300000000 --profile.data all:all:all "
      "--debug.chipscope vadd_1 --advanced.misc x --linkhook.custom=a,b --jobs 3 --no_ip_cache");
  const Options options =
      with({std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()});
  EXPECT_THAT(options.warnings, IsEmpty());
  EXPECT_THAT(options.inputs, ElementsAre("k.cpp"));
  for (const std::string& note : options.notes) {
    EXPECT_THAT(note, HasSubstr("no effect in emulation"));
  }
  EXPECT_THAT(options.notes, testing::Contains(HasSubstr("[vivado]")));
  EXPECT_THAT(options.notes, testing::Contains(HasSubstr("--report_dir")));
}

TEST(VppOptions, AnUnknownOptionIsNamedAndNotFatal) {
  const Options options = with({"--frobnicate=7", "--hyperdrive", "on", "-Zx", "--last", "b.cpp"});
  ASSERT_EQ(options.warnings.size(), 4u);
  EXPECT_THAT(options.warnings[0], HasSubstr("--frobnicate=7"));
  EXPECT_THAT(options.warnings[1], AllOf(HasSubstr("--hyperdrive"), HasSubstr("'on'")));
  EXPECT_THAT(options.warnings[2], HasSubstr("-Zx"));
  EXPECT_THAT(options.warnings[3], HasSubstr("--last"));
  EXPECT_THAT(options.inputs, ElementsAre("k.cpp", "b.cpp")) << "a source is never a value";
}

TEST(VppOptions, WhatIsWrongIsSaidInOneSentence) {
  EXPECT_THAT(error_of({"k.cpp"}), HasSubstr("-c (compile)"));
  EXPECT_THAT(error_of({"-c", "-l", "-t", "sw_emu", "k.cpp"}), HasSubstr("exclude each other"));
  EXPECT_THAT(error_of({"-c", "k.cpp"}), HasSubstr("target is missing"));
  EXPECT_THAT(error_of({"-c", "-t", "hw", "k.cpp"}), HasSubstr("sw_emu or hw_emu"));
  EXPECT_THAT(error_of({"-c", "-t", "x86", "k.cpp"}), HasSubstr("'x86' is unknown"));
  EXPECT_THAT(error_of({"-c", "-t", "sw_emu"}), HasSubstr("no input files"));
  EXPECT_THAT(error_of({"-c", "-t", "sw_emu", "k.cpp", "-o"}), HasSubstr("-o needs a value"));
  EXPECT_THAT(error_of({"-c", "-t", "sw_emu", "k.cpp", "--output="}), HasSubstr("missing"));
  EXPECT_THAT(error_of({"-c", "-t", "sw_emu", "k.cpp", "-O9"}), HasSubstr("'9' is unknown"));
  EXPECT_THAT(error_of({"-c", "-t", "sw_emu", "k.cpp", "--kernel_frequency", "fast"}),
              HasSubstr("'fast' is not a frequency"));
  for (const char* megahertz : {"0", "65536"}) {
    EXPECT_THAT(error_of({"-c", "-t", "sw_emu", "k.cpp", "--kernel_frequency", megahertz}),
                HasSubstr("is not a frequency in MHz"))
        << megahertz;
  }
  EXPECT_THAT(error_of({"-c", "--config", "/nowhere/link.cfg"}), HasSubstr("/nowhere/link.cfg"));
}

TEST_F(ConfigurationFile, GivesTheSameSettingsAsTheCommandLine) {
  const std::string path = write("all.cfg",
                                 "# a comment\n"
                                 "  platform = xilinx_u250_gen3x16_xdma_4_1_202210_1  # trailing\n"
                                 "target=sw_emu\nsave-temps=1\ndebug = 1\ninclude=inc\n"
                                 "define=A=3\nkernel=k\ntemp_dir=\"t d\"\noptimize=2\n\n"
                                 "[advanced]\nparam=compiler.x=y\n"
                                 "prop=kernel.k.kernel_flags=-DFLAG\nmisc=solution_name=s\n"
                                 "[profile]\ndata=all:all:all\n[vivado]\nprop=run.a.b={-x \"y\"}\n"
                                 "[clock]\nfreqHz=300000000:k\n[hls]\npre_tcl=a.tcl,b.tcl\n"
                                 "syn.interface.s_axilite_mailbox=both\n[debug]\nchipscope=a\n"
                                 "[package]\nout_dir=p\r\n");
  const Options options = read_options({"-c", "--config", path, "k.cpp"});
  EXPECT_EQ(options.platform, "xilinx_u250_gen3x16_xdma_4_1_202210_1");
  EXPECT_TRUE(options.save_temps);
  EXPECT_TRUE(options.debug);
  EXPECT_THAT(options.include_dirs, ElementsAre("inc"));
  EXPECT_THAT(options.defines, ElementsAre("A=3"));
  EXPECT_THAT(options.kernels, ElementsAre("k"));
  EXPECT_EQ(options.temp_dir, "t d");
  EXPECT_THAT(options.kernel_flags, ElementsAre("-DFLAG"));
  EXPECT_THAT(options.hls_scripts, ElementsAre("a.tcl", "b.tcl"));
  EXPECT_EQ(options.hls.mailbox, Mailbox::kBoth);
  EXPECT_EQ(options.package_dir, "p");
  EXPECT_THAT(options.warnings, IsEmpty());
}

TEST_F(ConfigurationFile, ConnectivityKeepsOrderAndPlace) {
  const std::string path = write("links.cfg",
                                 "# links\n[connectivity]\n nk = k:2:a.b \nsp=a.in:DDR[1]\n"
                                 "stream_connect=a.out:b.in:16\nsc=b.out:a.back\nslr=a:SLR0\n");
  const Options options = read_options({"-l", "-t", "sw_emu", "--config", path, "k.xo"});
  EXPECT_THAT(options.config_files, ElementsAre(path));
  ASSERT_EQ(options.connectivity.size(), 5u);
  EXPECT_EQ(options.connectivity[0].key, "nk");
  EXPECT_EQ(options.connectivity[0].value, "k:2:a.b");
  EXPECT_EQ(options.connectivity[1].where, path + ":4");
  EXPECT_EQ(options.connectivity[2].key, "stream_connect");
  EXPECT_THAT(options.warnings, IsEmpty());
}

TEST_F(ConfigurationFile, ACommentFollowsABlankOrATab) {
  const std::string path = write(
      "c.cfg", "[connectivity]\nsp=a.in:DDR[1] # one\nsp=a.in:DDR[2]\t# two\nsp=a#b.in:DDR[3]\n");
  const Options options = read_options({"-l", "-t", "sw_emu", "--config", path, "k.xo"});
  ASSERT_EQ(options.connectivity.size(), 3u);
  EXPECT_EQ(options.connectivity[0].value, "a.in:DDR[1]");
  EXPECT_EQ(options.connectivity[1].value, "a.in:DDR[2]");
  EXPECT_EQ(options.connectivity[2].value, "a#b.in:DDR[3]");
}

TEST_F(ConfigurationFile, TheFirstValueCountsAndTheCommandLineComesFirst) {
  const std::string first =
      write("a.cfg",
            "platform=u50\ntarget=hw\nkernel_frequency=100\nkernel_frequency=150\n"
            "include=a\ndebug=0\nkernel=k\n[connectivity]\nnk=k:1\n");
  const std::string second =
      write("b.cfg",
            "kernel_frequency=200\ntemp_dir=b\ninclude=b\n[package]\nout_dir=b\n"
            "[connectivity]\nsp=k_1.a:DDR[0]\n");
  const Options options = read_options(
      {"-l", "-t", "sw_emu", "--config", first, "--config=" + second, "--platform", "u250",
       "--connectivity.sp", "k_1.b:DDR[1]", "--connectivity.nk=j:2", "-g", "-k", "k", "k.xo"});
  EXPECT_EQ(options.platform, "u250");
  EXPECT_EQ(options.target, Target::kSoftware) << "what the file says is not even wrong";
  EXPECT_EQ(options.kernel_frequency_mhz, 100u);
  EXPECT_EQ(options.temp_dir, "b");
  EXPECT_EQ(options.package_dir, "b");
  EXPECT_TRUE(options.debug);
  EXPECT_THAT(options.include_dirs, ElementsAre("a", "b"));
  EXPECT_THAT(options.kernels, ElementsAre("k"));
  ASSERT_EQ(options.connectivity.size(), 4u);
  EXPECT_EQ(options.connectivity[0].where, "--connectivity.sp");
  EXPECT_EQ(options.connectivity[1].value, "j:2");
  EXPECT_EQ(options.connectivity[2].where, first + ":9");
  EXPECT_TRUE(options.connectivity[2].from_file);
  EXPECT_EQ(with({"-O3", "-O0", "--temp_dir", "s", "--temp_dir=t"}).temp_dir, "s");
}

TEST_F(ConfigurationFile, ATypoInConnectivityIsAnErrorWithFileAndLine) {
  const auto error = [&](const std::string& text) {
    return error_of({"-l", "-t", "sw_emu", "--config", write("x.cfg", text), "k.xo"});
  };
  EXPECT_THAT(error("[connectivity]\n\nspp=k_1.a:DDR[0]\n"),
              AllOf(HasSubstr("x.cfg:3"), HasSubstr("'spp'"), HasSubstr("stream_connect")));
  EXPECT_THAT(error_of({"-l", "-t", "sw_emu", "--connectivity.spp=x", "k.xo"}),
              AllOf(HasSubstr("--connectivity.spp"), HasSubstr("'spp'")));
  EXPECT_THAT(error("[connectivity]\nnk\n"), AllOf(HasSubstr("x.cfg:2"), HasSubstr("key=value")));
  EXPECT_THAT(error("[connectivity\n"), AllOf(HasSubstr("x.cfg:1"), HasSubstr("bracket")));
  EXPECT_THAT(error_of({"-l", "--config", write("x.cfg", "target=hw\n"), "k.xo"}),
              HasSubstr("x.cfg:1"));
}

TEST_F(ConfigurationFile, ConnectivityOfOtherCardsHasNoEffect) {
  const std::string path =
      write("x.cfg", "[connectivity]\nregion=a:b\nnoc.connect=k_1.a:DDR\nconnect=a:b\nnk=k:1\n");
  const Options options = read_options({"-l", "-t", "sw_emu", "--config", path, "k.xo"});
  EXPECT_EQ(options.connectivity.size(), 1u);
  EXPECT_THAT(options.notes, testing::UnorderedElementsAre(
                                 HasSubstr("[connectivity] region is accepted and has no effect"),
                                 HasSubstr("noc.connect"), HasSubstr("[connectivity] connect ")));
}

TEST_F(ConfigurationFile, UnknownKeysAndSectionsAreErrorsThatNameTheNearest) {
  const auto error = [&](const std::string& text) {
    return error_of({"-l", "-t", "sw_emu", "--config", write("x.cfg", text), "k.xo"});
  };
  EXPECT_THAT(error("target=sw_emu\nplatfrom=u50\n"),
              AllOf(HasSubstr("x.cfg:2"), HasSubstr("'platfrom'"), HasSubstr("mean 'platform'")));
  EXPECT_THAT(error("[conectivity]\nnk=k:2\n"),
              AllOf(HasSubstr("x.cfg:1"), HasSubstr("[conectivity]"), HasSubstr("'connectivity'")));
  EXPECT_THAT(error("foo=bar\n"), AllOf(HasSubstr("'foo'"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(error("[vivado]\nanything=1\n"), IsEmpty());
  EXPECT_THAT(with({"--plattform=u50"}).warnings, ElementsAre(HasSubstr("mean 'platform'")));
}

TEST(VppConfiguration, DamagedTextGivesAnErrorOrSettingsAndNothingElse) {
  const std::string good =
      "platform=u50\n[connectivity]\nnk=k:2:a.b\nsp=a.in:HBM[0:3]\nsc=a.o:b.i:4\n[hls]\njobs=3\n";
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    std::string text = good;
    for (uint32_t change = 0; change < 1 + random() % 6; ++change) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 5);
          if (text.empty()) text = "=";
          break;
        default:
          text.insert(at, 1, "[]=#\n:.\"-"[random() % 9]);
      }
    }
    Settings settings;
    const std::string message =
        message_of([&] { read_configuration(text, "damaged.cfg", settings); });
    EXPECT_TRUE(message.empty() || message.find("damaged.cfg:") != std::string::npos) << message;
    for (const Setting& setting : settings.settings) EXPECT_FALSE(setting.key.empty());
  }
}

}  // namespace
}  // namespace tandem::vpp
