// SPDX-License-Identifier: Apache-2.0
//
// What backends declare is an option of the command line, a key of the file, and a line of
// `tandem devices --options`.
#include "apps/backend_options.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "apps/config_file.h"
#include "common/error.h"
#include "support/scratch_path.h"

namespace tandem::apps {
namespace {

using device::BackendOption;
using device::OptionType;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kWords[] = {"plain", "fast"};
constexpr BackendOption kDeclared[] = {
    {.name = "toy-kernels",
     .type = OptionType::kWord,
     .help = "kernels of toys",
     .default_value = "plain",
     .words = kWords,
     .environment = "TANDEM_TEST_TOY_KERNELS"},
    {.name = "toy-rounds", .help = "toys may round", .default_value = "false"},
    {.name = "toy-image",
     .type = OptionType::kFile,
     .help = "image of toys",
     .default_value = "the one built here"},
    {.name = "toy-sums",
     .type = OptionType::kFile,
     .help = "image of sums",
     .default_value = "none",
     .use = device::OptionUse::kAggregation}};

class ToyBackend final : public device::Backend {
 public:
  explicit ToyBackend(std::string reason) : reason_(std::move(reason)) {}
  std::string_view kind() const override { return "toy"; }
  bool available() const override { return reason_.empty(); }
  std::string unavailable_reason() const override { return reason_; }
  std::span<const BackendOption> options() const override { return kDeclared; }
  std::vector<device::DeviceInfo> enumerate(const device::DeviceOptions&) const override {
    return {};
  }
  std::unique_ptr<device::Device> open(int, const device::DeviceOptions&) const override {
    throw Error("toy", reason_);
  }

 private:
  std::string reason_;
};

class BackendOptionsOfCommands : public testing::Test {
 protected:
  device::BackendValues parsed(std::vector<std::string> words) {
    device::BackendValues values;
    device::BackendValues unused;
    CLI::App app;
    help_ = add_serve(app, values)->help();
    words.insert(words.begin(), "serve");
    words = with_config_file(app, words, [&](CLI::App& other) { add_serve(other, unused); });
    std::ranges::reverse(words);
    app.parse(words);
    return values;
  }
  CLI::App* add_serve(CLI::App& app, device::BackendValues& values) {
    CLI::App* command = app.add_subcommand("serve");
    command->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    command->add_option("--config", "a file of options");
    add_backend_options(*command, backends_, values);
    return command;
  }
  // Of a file with this text.
  device::BackendValues parsed_file(const std::string& text, std::vector<std::string> words = {}) {
    const test::ScratchPath file("toy.toml");
    std::ofstream(file.string()) << text;
    words.insert(words.begin(), {"--config", file.string()});
    return parsed(words);
  }

  const ToyBackend toy_{"no toys here"};
  const device::Backend* const list_[1] = {&toy_};
  const Backends backends_{list_};
  std::string help_;
};

TEST_F(BackendOptionsOfCommands, AreWordsOfTheCommandLine) {
  EXPECT_TRUE(parsed({}).all().empty()) << "the backend's defaults hold";
  const device::BackendValues values = parsed(
      {"--toy-kernels", "plain", "--toy-kernels", "fast", "--toy-rounds", "--toy-image=a b"});
  EXPECT_EQ(values.word(kDeclared[0]), "fast") << "the last one wins";
  EXPECT_TRUE(values.is_on(kDeclared[1]));
  EXPECT_EQ(values.find(kDeclared[2]), "a b");
  EXPECT_EQ(parsed({"--toy-image", ""}).find(kDeclared[2]), std::nullopt);
  EXPECT_THAT(help_, HasSubstr("kernels of toys"));
  EXPECT_THAT(help_, HasSubstr("--toy-kernels TEXT:{plain,fast}=plain"));
  EXPECT_THAT(help_, HasSubstr("TANDEM_TEST_TOY_KERNELS"));
  EXPECT_THAT(help_, Not(HasSubstr("toy-sums"))) << "no model uses it";
}

TEST_F(BackendOptionsOfCommands, AreSetByTheirVariableToo) {
  setenv("TANDEM_TEST_TOY_KERNELS", "fast", 1);
  EXPECT_EQ(parsed({}).word(kDeclared[0]), "fast");
  EXPECT_EQ(parsed({"--toy-kernels", "plain"}).word(kDeclared[0]), "plain");
  unsetenv("TANDEM_TEST_TOY_KERNELS");
}

TEST_F(BackendOptionsOfCommands, AreKeysOfTheFile) {
  const std::string text = "toy-kernels = \"fast\"\ntoy-rounds = true\n[toys]\ntoy-image = \"i\"\n";
  EXPECT_EQ(parsed_file(text).word(kDeclared[0]), "fast");
  EXPECT_TRUE(parsed_file(text).is_on(kDeclared[1]));
  EXPECT_EQ(parsed_file(text).find(kDeclared[2]), "i");
  EXPECT_FALSE(parsed_file("toy-rounds = false\n").is_on(kDeclared[1]));
  EXPECT_EQ(parsed_file(text, {"--toy-kernels", "plain"}).word(kDeclared[0]), "plain");
}

TEST_F(BackendOptionsOfCommands, NameTheNearestKeyAndTheAllowedValues) {
  try {
    parsed({"--toy-kernels", "slow"});
    FAIL() << "it is none of the words";
  } catch (const CLI::ParseError& error) {
    EXPECT_THAT(error.what(), HasSubstr("slow not in {plain,fast}"));
  }
  try {
    parsed_file("toy-kernel = \"fast\"\n");
    FAIL() << "there is no such key";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'toy-kernel' (did you mean 'toy-kernels'?)"));
  }
}

TEST_F(BackendOptionsOfCommands, NameFilesThatMustBeThere) {
  const test::ScratchPath file("toy.image");
  EXPECT_NO_THROW(require_files(backends_, {}));
  try {
    require_files(backends_, {{"toy-image", file.string()}});
    FAIL() << "it is no file";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "[toy] --toy-image '" + file.string() + "' is not a file");
  }
  std::ofstream(file.string()) << "image";
  EXPECT_NO_THROW(require_files(backends_, {{"toy-image", file.string()}}));
}

TEST_F(BackendOptionsOfCommands, AreListedWithTypeDefaultAndHelp) {
  EXPECT_EQ(options_text(backends_),
            "toy (not available: no toys here):\n"
            "  --toy-kernels (word: plain, fast; default: plain; environment: "
            "TANDEM_TEST_TOY_KERNELS)\n      kernels of toys\n"
            "  --toy-rounds (flag; default: false)\n      toys may round\n"
            "  --toy-image (file; default: the one built here)\n      image of toys\n"
            "  --toy-sums (file; default: none)\n      image of sums\n");
  const nlohmann::json json = options_json(backends_);
  EXPECT_EQ(json[0]["backend"], "toy");
  EXPECT_EQ(json[0]["available"], false);
  EXPECT_EQ(json[0]["reason"], "no toys here");
  EXPECT_EQ(json[0]["options"].size(), 4u);
  EXPECT_EQ(json[0]["options"][0], nlohmann::json({{"name", "toy-kernels"},
                                                   {"type", "word"},
                                                   {"default", "plain"},
                                                   {"words", {"plain", "fast"}},
                                                   {"environment", "TANDEM_TEST_TOY_KERNELS"},
                                                   {"help", "kernels of toys"}}));
}

// As `tandem serve --help` has them.
TEST(BackendOptionsOfTheBuild, KeepTheirSpelling) {
  device::BackendValues values;
  CLI::App command;
  add_backend_options(command, device::backends(), values);
  for (const char* name : {"--xclbin", "--cpu-sparse", "--cuda-kernels", "--cuda-fp8-rows"}) {
    EXPECT_NE(command.get_option_no_throw(name), nullptr) << name;
  }
  EXPECT_EQ(command.get_option_no_throw("--aggregation-xclbin"), nullptr) << "no model uses it";
  const std::string text = options_text(device::backends());
  EXPECT_THAT(text, HasSubstr("--aggregation-xclbin (file"));
  EXPECT_THAT(text, HasSubstr("cpu:\n  --cpu-sparse (word: auto, always, never; default: auto)\n"));
  EXPECT_THAT(text, testing::ContainsRegex("opencl[^\n]*: no options\n"));
}

}  // namespace
}  // namespace tandem::apps
