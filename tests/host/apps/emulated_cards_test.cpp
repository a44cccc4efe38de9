// SPDX-License-Identifier: Apache-2.0
//
// The variables that ids of cards need.
#include "apps/emulated_cards.h"

#include <gmock/gmock.h>

#include "common/error.h"

namespace tandem::apps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

CardEnvironment sourced() {
  CardEnvironment environment;
  environment.xilinx_xrt = "/emulated";
  environment.is_emulation = true;
  return environment;
}

TEST(EmulatedCards, AreAsManyAsTheIdsName) {
  EXPECT_THAT(card_variables({"cpu", "xrt:0", "xrt:2"}, sourced()),
              ElementsAre(Pair("TANDEM_CARDS", "3")));
  EXPECT_THAT(card_variables({"xrt"}, sourced()), ElementsAre(Pair("TANDEM_CARDS", "1")));
}

TEST(EmulatedCards, AreNotAskedForByOtherDevices) {
  EXPECT_THAT(card_variables({"cpu", "cuda:1", "xrtx:3", "xrt:"}, sourced()), IsEmpty());
}

TEST(EmulatedCards, StayAsManyAsTheVariableSays) {
  CardEnvironment environment = sourced();
  environment.tandem_cards = "2";
  EXPECT_THAT(card_variables({"xrt:0", "xrt:1"}, environment), IsEmpty());
  try {
    card_variables({"xrt:0", "xrt:5"}, environment);
    FAIL() << "six cards of two";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("xrt:5 asks for 6 cards, but TANDEM_CARDS=2"));
    EXPECT_THAT(error.what(), HasSubstr("set TANDEM_CARDS=6"));
  }
}

TEST(EmulatedCards, AreAtMostSixteen) {
  EXPECT_THAT(card_variables({"xrt:15"}, sourced()), ElementsAre(Pair("TANDEM_CARDS", "16")));
  for (const std::string id : {"xrt:16", "xrt:70", "xrt:2147483647"}) {
    try {
      card_variables({"xrt:0", id}, sourced());
      FAIL() << id;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(id + " asks for"));
      EXPECT_THAT(error.what(), HasSubstr("at most 16 cards are emulated, xrt:0 to xrt:15"));
    }
  }
}

TEST(EmulatedCards, ComeWithTheProgramWhereNoRuntimeIsSetUp) {
  CardEnvironment environment;
  environment.own_tree = "/opt/tandem/xrt";
  EXPECT_THAT(card_variables({"xrt:1"}, environment),
              ElementsAre(Pair("TANDEM_CARDS", "2"), Pair("XILINX_XRT", "/opt/tandem/xrt")));
  EXPECT_THAT(missing_cards_hint(environment), HasSubstr("source /opt/tandem/xrt/setup.sh"));
}

TEST(EmulatedCards, NeverStandInForRealCards) {
  CardEnvironment environment;
  environment.own_tree = "/opt/tandem/xrt";
  environment.has_real_runtime = true;
  EXPECT_THAT(card_variables({"xrt:1"}, environment), IsEmpty());
  environment.xilinx_xrt = "/opt/xilinx/xrt";
  EXPECT_THAT(card_variables({"xrt:1"}, environment), IsEmpty());
  EXPECT_THAT(missing_cards_hint(environment), HasSubstr("/opt/xilinx/xrt finds no card"));
}

}  // namespace
}  // namespace tandem::apps
