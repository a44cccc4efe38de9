// SPDX-License-Identifier: Apache-2.0
//
// Scripts of faults: what they mean, and what is wrong with a wrong one.
#include "emulation/faults/fault_script.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <string>

#include "emulation/faults/fault_plan.h"
#include "emulation/faults/storm.h"
#include "support/scratch_path.h"

namespace tandem::emulation {
namespace {

using testing::HasSubstr;

std::string script_problem(const std::string& text) {
  try {
    parse_fault_script(text, "f");
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(FaultScript, ReadsEveryPart) {
  const FaultScript script = parse_fault_script(
      "# a comment\nseed 0x10\n\n"
      "launch 3 unit=add:add_1 card=1 late by=1.5ms; sync every=2 count=4 p=0.5 "
      "direction=to_device flip offset=7 bit=6 ecc=corrected # another\n"
      "after 2s short bytes=64K for=10us",
      "f");
  EXPECT_EQ(script.seed, 16u);
  ASSERT_EQ(script.rules.size(), 3u);
  const FaultRule& launch = script.rules[0];
  EXPECT_EQ(launch.event, FaultEvent::kLaunch);
  EXPECT_EQ(launch.number, 3u);
  EXPECT_EQ(launch.unit, "add:add_1");
  EXPECT_EQ(launch.card, 1u);
  EXPECT_EQ(launch.fault.kind, FaultKind::kLate);
  EXPECT_EQ(launch.fault.by, FaultTime(1500));
  EXPECT_EQ(launch.line, 4u);
  const FaultRule& sync = script.rules[1];
  EXPECT_EQ(sync.every, 2u);
  EXPECT_EQ(sync.most, 4u);
  EXPECT_EQ(sync.probability, 0.5);
  EXPECT_EQ(sync.direction, LinkDirection::kToDevice);
  EXPECT_EQ(sync.fault.offset, 7u);
  EXPECT_EQ(sync.fault.bit, 6u);
  EXPECT_EQ(sync.fault.ecc, Ecc::kCorrected);
  const FaultRule& after = script.rules[2];
  EXPECT_EQ(after.after, FaultTime(2'000'000));
  EXPECT_EQ(after.fault.bytes, 65536u);
  EXPECT_EQ(after.fault.lasts, FaultTime(10));
  EXPECT_EQ(after.line, 5u);
}

TEST(FaultScript, AStatementReadsBackAsTheSame) {
  for (const char* text : {"launch 3 card=1 unit=a:b late by=1500us",
                           "sync every=2 p=0.25 skip=3 count=4 direction=to_device "
                           "flip offset=7 bit=6 ecc=corrected",
                           "after 2000ms die for=300ms delay=5ms", "allocate 1 short bytes=65536",
                           "launch p=0.123456789 fail", "launch flip address=4096 ecc=uncorrected",
                           "load fail error=EBUSY", "sync 1 slow for=1ms factor=0.125",
                           "open 2 fail", "launch never", "launch 9 twice", "launch lost_interrupt",
                           "sync stall for=7us error=EIO", "launch 1 hang", "load 1 reset"}) {
    const FaultScript script = parse_fault_script(text, "f");
    ASSERT_EQ(script.rules.size(), 1u);
    EXPECT_EQ(fault_statement(script.rules[0]), text);
  }
}

TEST(FaultScript, MistakesNameLineAndField) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"launch 1 die\nexplode",
       "f:2: field 'explode': is not an event; a line begins with seed, open,"},
      {"launch 1 explode",
       "f:1: field 'explode': is not a fault; at 'launch' these can happen: die,"},
      {"launch 1", "f:1: field 'launch': has no fault after it"},
      {"launch 0 die", "field 'launch': '0' is not from 1"},
      {"launch 1 2 die", "field '2': is not a fault"},
      {"launch x=1 die", "field 'x': does not belong to the event 'launch'; it takes every, p,"},
      {"sync unit=a fail", "field 'unit': does not belong to the event 'sync'"},
      {"launch unit= fail", "field 'unit': is empty"},
      {"launch direction=to_device fail", "field 'direction': does not belong"},
      {"sync direction=up fail", "field 'direction': 'up' is not to_device or from_device"},
      {"launch card=16 die", "field 'card': '16' is not from 0 to 15"},
      {"launch p=0 die", "field 'p': '0' is not above 0 and at most 1"},
      {"launch p=nan die", "field 'p':"},
      {"launch 3 every=2 die", "field 'every': cannot be combined with a number"},
      {"launch 3 skip=2 die", "field 'skip': cannot be combined with a number"},
      {"launch die by=3ms", "field 'by': does not belong to the fault 'die'; it takes for, delay"},
      {"launch never for=3ms", "field 'for': does not belong to the fault 'never'; it takes none"},
      {"launch die now", "field 'now': is not a key=value of the fault"},
      {"launch late", "field 'by': is missing"},
      {"launch late by=3", "field 'by': '3' has no unit; write us, ms or s"},
      {"launch late by=1e9s", "field 'by': '1e9s' is not from 1us to a year"},
      {"sync slow", "field 'factor': is missing or 1"},
      {"sync slow factor=2", "field 'factor': '2' is not above 0"},
      {"sync stall", "field 'for': is missing"},
      {"allocate short", "field 'bytes': is missing"},
      {"allocate short bytes=99999G", "field 'bytes':"},
      {"allocate never", "field 'never': cannot happen at 'allocate'; these can happen: die,"},
      {"after 1s fail", "field 'fail': cannot happen at 'after'"},
      {"after die", "field 'after': needs a time: after 500ms die"},
      {"after soon die", "field 'after': 'soon' is not a number"},
      {"sync flip bit=8", "field 'bit': '8' is not from 0 to 7"},
      {"sync flip ecc=maybe", "field 'ecc': 'maybe' is not none, corrected or uncorrected"},
      {"sync flip address=1", "field 'address': is for launch"},
      {"launch flip offset=1", "field 'offset': is for sync"},
      {"sync fail error=EFUN", "field 'error': 'EFUN' is none of EIO, EBUSY,"},
      {"sync p=0.5 p=0.1 fail", "field 'p': is given twice"},
      {"launch late by=1ms by=2ms", "field 'by': is given twice"},
      {"allocate fail error=EIO", "field 'error': is not for allocate"},
      {"open fail error=EIO", "field 'error': is not for open"},
      {"seed", "field 'seed': is not followed by a number"},
      {"seed x", "field 'seed': 'x' is not a whole number"},
      {"seed 1 2", "field '2': is not allowed after the seed's number"},
  };
  for (const auto& [text, problem] : mistakes) {
    EXPECT_THAT(script_problem(text), HasSubstr(problem)) << text;
  }
}

TEST(FaultScript, ComesFromTextOrFile) {
  EXPECT_EQ(read_fault_script("launch 1 die").rules.size(), 1u);
  const test::ScratchPath scratch("script.faults");
  const std::string path = scratch.string();
  std::ofstream(path) << "seed 5\nlaunch 1 die\nlaunch 2 die\n";
  EXPECT_EQ(read_fault_script(path).rules.size(), 2u);
  EXPECT_EQ(read_fault_script("@" + path).seed, 5u);
  std::ofstream(path) << "\nlaunch\n";
  try {
    read_fault_script("@" + path);
    FAIL() << "a script without a fault was accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path + ":2: field 'launch'"));
  }
  EXPECT_THROW(read_fault_script("@/no/such/file"), std::runtime_error);
  EXPECT_THROW(read_fault_script("/no/such/file"), std::runtime_error);
  EXPECT_THROW(read_fault_script("@/tmp"), std::runtime_error);
}

std::vector<uint64_t> numbers_of_launches(FaultPlan& plan, uint64_t launches, uint32_t card = 0) {
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < launches; ++i) {
    for (const DueFault& due : plan.due({FaultEvent::kLaunch, card, "k", "u"})) {
      numbers.push_back(due.rule.number);
    }
  }
  return numbers;
}

FaultPlan plan_of(const std::string& text) { return FaultPlan(parse_fault_script(text, "f")); }

TEST(FaultPlan, CountsPerCardAndPerRule) {
  FaultPlan plan = plan_of("launch 2 fail; launch every=3 unit=u fail; launch 1 unit=other fail");
  EXPECT_EQ(numbers_of_launches(plan, 6, 0), (std::vector<uint64_t>{2, 3, 6}));
  EXPECT_EQ(numbers_of_launches(plan, 3, 1), (std::vector<uint64_t>{2, 3}));
}

TEST(FaultPlan, SkippedEventsAreCountedButHaveNoFault) {
  FaultPlan plan = plan_of("launch every=2 skip=4 fail");
  EXPECT_EQ(numbers_of_launches(plan, 8), (std::vector<uint64_t>{6, 8}));
}

TEST(FaultPlan, ALimitHoldsForAllCards) {
  FaultPlan plan = plan_of("launch count=2 fail");
  EXPECT_EQ(numbers_of_launches(plan, 1, 1).size(), 1u);
  EXPECT_EQ(numbers_of_launches(plan, 5, 0).size(), 1u);
}

TEST(FaultPlan, ProbabilityIsOfTheSeedAndCloseToItsShare) {
  const auto numbers = [](const std::string& seed, uint32_t card) {
    FaultPlan plan = plan_of("seed " + seed + "; launch p=0.1 fail");
    return numbers_of_launches(plan, 10'000, card);
  };
  const auto some = numbers("1", 0);
  EXPECT_GT(some.size(), 850u);
  EXPECT_LT(some.size(), 1150u);
  EXPECT_EQ(numbers("1", 0), some);
  EXPECT_NE(numbers("2", 0), some);
  EXPECT_NE(numbers("1", 1), some);
}

TEST(FaultStorm, IsAScriptOfItsSeedForEachCard) {
  const std::string storm = make_storm(5, 100, 2);
  const FaultScript script = parse_fault_script(storm, "storm");
  EXPECT_EQ(script.seed, 5u);
  EXPECT_EQ(make_storm(5, 100, 2), storm);
  EXPECT_NE(make_storm(6, 100, 2), storm);
  double share = 0;
  for (const FaultRule& rule : script.rules) {
    ASSERT_TRUE(rule.card) << fault_statement(rule);
    const bool flips = rule.fault.kind == FaultKind::kFlip;
    EXPECT_FALSE(flips && rule.fault.ecc == Ecc::kNone) << "a silent fault";
    const bool often = rule.event == FaultEvent::kLaunch || rule.event == FaultEvent::kSync;
    if (*rule.card == 1 && often) share += rule.probability;
  }
  EXPECT_GT(share, 0.005);
  EXPECT_LT(share, 0.015);
  EXPECT_FALSE(parse_fault_script(make_storm(5, 100, 0), "storm").rules[0].card);
}

}  // namespace
}  // namespace tandem::emulation
