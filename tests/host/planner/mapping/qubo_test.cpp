// SPDX-License-Identifier: Apache-2.0
//
// The encoding against all bits of small problems, files against their definition, samplers against
// all mappings.
#include "planner/mapping/qubo.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "host/planner/mapping/problems.h"
#include "host/planner/message_of.h"
#include "planner/mapping/mapping_bits.h"
#include "planner/mapping/qaplib_file.h"
#include "planner/mapping/qubo_file.h"
#include "planner/mapping/samplers.h"

namespace tandem::planner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Bits = std::vector<std::uint8_t>;

Bits bits_of_number(std::uint64_t number, int num_bits) {
  Bits bits;
  for (int bit = 0; bit < num_bits; ++bit) bits.push_back(number >> bit & 1);
  return bits;
}

TEST(QuboEncoding, EveryMinimiserIsAMappingOfLeastCost) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 24; ++i) {
    const int num_tasks = i == 0 ? 4 : 1 + i % 3;
    const QuadraticAssignment problem = random_problem(num_tasks, Shape::kAny, random);
    const Qubo qubo = encode_qubo(problem, proven_penalty(problem));
    double least = std::numeric_limits<double>::infinity();
    for (std::uint64_t number = 0; number < 1ULL << qubo.num_bits; ++number) {
      least = std::min(least, qubo.energy(bits_of_number(number, qubo.num_bits)));
    }
    EXPECT_EQ(least, static_cast<double>(least_cost_of_all(problem)));
    for (std::uint64_t number = 0; number < 1ULL << qubo.num_bits; ++number) {
      const Bits bits = bits_of_number(number, qubo.num_bits);
      if (qubo.energy(bits) > least) continue;
      const auto places = decode_bits(bits);
      ASSERT_TRUE(places.has_value());
      EXPECT_EQ(static_cast<double>(problem.cost(*places)), least);
    }
  }
}

// One bit less than a mapping would be cheaper.
TEST(QuboEncoding, ASmallerPenaltyRewardsMissingBits) {
  QuadraticAssignment problem;
  problem.num_tasks = 2;
  problem.flow = {0, 10, 10, 0};
  problem.distance = {0, 1, 1, 0};
  EXPECT_EQ(proven_penalty(problem), 11);
  const Qubo small = encode_qubo(problem, 9);
  EXPECT_LT(small.energy({1, 0, 0, 0}), small.energy({1, 0, 0, 1}));
  const Qubo proven = encode_qubo(problem, 11);
  EXPECT_GT(proven.energy({1, 0, 0, 0}), proven.energy({1, 0, 0, 1}));
}

TEST(QuboEncoding, TheEnergyIsCostPlusPenaltyPerViolation) {
  std::mt19937_64 random(8);
  const QuadraticAssignment problem = random_problem(3, Shape::kAny, random);
  const double penalty = 100;
  const Qubo qubo = encode_qubo(problem, penalty);
  for (std::uint64_t number = 0; number < 512; ++number) {
    const Bits bits = bits_of_number(number, 9);
    double expected = 0;
    for (std::size_t t = 0; t < 3; ++t) {
      const int row = bits[3 * t] + bits[3 * t + 1] + bits[3 * t + 2];
      const int column = bits[t] + bits[t + 3] + bits[t + 6];
      expected += penalty * ((1 - row) * (1 - row) + (1 - column) * (1 - column));
    }
    for (int a = 0; a < 9; ++a) {
      for (int b = 0; b < 9; ++b) {
        const bool counts = a == b || (a / 3 != b / 3 && a % 3 != b % 3);
        if (!counts || bits[static_cast<std::size_t>(a)] == 0 ||
            bits[static_cast<std::size_t>(b)] == 0)
          continue;
        expected +=
            static_cast<double>(problem.flow_of(a / 3, b / 3) * problem.distance_of(a % 3, b % 3));
      }
    }
    ASSERT_EQ(qubo.energy(bits), expected);
  }
}

TEST(QuboEncoding, SpinsHaveTheSameEnergy) {
  std::mt19937_64 random(9);
  const Qubo qubo = encode_qubo(random_problem(2, Shape::kAny, random), 50);
  const Ising ising = ising_of(qubo);
  for (std::uint64_t number = 0; number < 16; ++number) {
    const Bits bits = bits_of_number(number, 4);
    double sum = ising.offset;
    for (std::size_t i = 0; i < 4; ++i) {
      const double spin = 2.0 * bits[i] - 1;
      sum += ising.fields[i] * spin;
      for (std::size_t j = 0; j < 4; ++j)
        sum += ising.couplings[4 * i + j] * spin * (2.0 * bits[j] - 1);
    }
    EXPECT_EQ(sum, qubo.energy(bits));
  }
}

TEST(QuboEncoding, RefusesWhatIsNotProven) {
  QuadraticAssignment problem = ring_problem(3);
  problem.flow[1] = -1;
  EXPECT_THAT(message_of([&] { proven_penalty(problem); }), HasSubstr("at least 0"));
  problem = ring_problem(3);
  problem.distance[1] = -1;
  EXPECT_THAT(message_of([&] { encode_qubo(problem, 1); }), HasSubstr("at least 0"));
  EXPECT_THAT(message_of([&] { proven_penalty(ring_problem(41)); }),
              HasSubstr("41 tasks need 1681 bits"));
}

TEST(QuboBits, OnlyMappingsAreDecoded) {
  EXPECT_THAT(*decode_bits({0, 1, 1, 0}), ElementsAre(1, 0));
  EXPECT_FALSE(decode_bits({1, 1, 0, 0}).has_value());
  EXPECT_FALSE(decode_bits({1, 0, 1, 0}).has_value());
  EXPECT_FALSE(decode_bits({1, 0, 0, 0}).has_value());
  EXPECT_FALSE(decode_bits({1, 0, 1}).has_value());
  EXPECT_EQ(bits_of({1, 0}), (Bits{0, 1, 1, 0}));
}

TEST(QuboBits, AnExchangeIsPricedByItsEnergies) {
  std::mt19937_64 random(12);
  const Qubo qubo = encode_qubo(random_problem(5, Shape::kAny, random), 77);
  Permutation places = {3, 1, 4, 0, 2};
  MappingBits bits(qubo, places);
  for (int step = 0; step < 20; ++step) {
    const int i = step % 5, j = (i + 1 + step % 4) % 5;
    Permutation swapped = places;
    std::swap(swapped[static_cast<std::size_t>(i)], swapped[static_cast<std::size_t>(j)]);
    EXPECT_EQ(bits.delta(i, j), qubo.energy(bits_of(swapped)) - qubo.energy(bits_of(places)));
    bits.swap(i, j);
    places = swapped;
    EXPECT_EQ(bits.energy(), qubo.energy(bits_of(places)));
    EXPECT_EQ(bits.places(), places);
  }
}

TEST(QuboSamplers, EachFindsTheLeastOfAllMappings) {
  std::mt19937_64 random(21);
  for (const int num_tasks : {1, 2, 7}) {
    const QuadraticAssignment problem = random_problem(num_tasks, Shape::kAny, random);
    const Qubo qubo = encode_qubo(problem, proven_penalty(problem));
    const auto least = static_cast<double>(least_cost_of_all(problem));
    for (const char* name : {"annealing", "tempering", "quantum", "tabu"}) {
      SearchOptions options;
      options.most_steps = 3000;
      const SampledMapping found = sample_mapping(qubo, sampler_of(name), options);
      EXPECT_EQ(found.energy, least) << name;
      EXPECT_EQ(static_cast<double>(problem.cost(found.places)), least) << name;
    }
  }
  EXPECT_THAT(message_of([] { sampler_of("cold"); }), HasSubstr("no sampler is called 'cold'"));
}

TEST(QuboFiles, TheTextHasEveryTermOnce) {
  Qubo qubo;
  qubo.num_bits = 3;
  qubo.offset = 2.5;
  qubo.linear = {1, 0, -4};
  qubo.couplings = {0, 7, 0, 7, 0, -0.5, 0, -0.5, 0};
  EXPECT_EQ(qubo_text(qubo),
            "c energy = 2.5 + the terms below\np qubo 0 3 2 2\n0 0 1\n2 2 -4\n0 1 7\n1 2 -0.5\n");
  const auto json = nlohmann::json::parse(ising_json(qubo));
  EXPECT_EQ(
      json,
      nlohmann::json::parse(
          R"({"offset": 2.625, "h": {"0": 2.25, "1": 1.625, "2": -2.125}, "J": {"0,1": 1.75, "1,2": -0.125}})"));
}

std::vector<Bits> samples_of(const std::string& text, int num_bits = 4) {
  std::istringstream in(text);
  return read_samples(in, num_bits);
}

TEST(QuboFiles, ReadsSamplesOfAnyForm) {
  const Bits bits = {0, 1, 1, 0};
  EXPECT_THAT(samples_of("0110\n\n0 1 1 0\r\n-1 +1,1 -1\n"), ElementsAre(bits, bits, bits));
  EXPECT_THAT(samples_of("[0, 1, 1, 0]"), ElementsAre(bits));
  EXPECT_THAT(samples_of("[[0, 1, 1, 0], [-1, 1, 1, -1]]"), ElementsAre(bits, bits));
  EXPECT_THAT(samples_of("{\"samples\": [[0, 1, 1, 0]]}"), ElementsAre(bits));
}

TEST(QuboFiles, NamesTheWrongSample) {
  EXPECT_THAT(message_of([] { samples_of(" \n"); }), HasSubstr("the file is empty"));
  EXPECT_THAT(message_of([] { samples_of("0110\n012\n"); }), HasSubstr("line 2: '2' is neither"));
  EXPECT_THAT(message_of([] { samples_of("01-0\n"); }), HasSubstr("line 1: '-' is neither"));
  EXPECT_THAT(message_of([] { samples_of("011\n"); }),
              HasSubstr("line 1: 3 values, but the problem has 4 bits"));
  EXPECT_THAT(message_of([] { samples_of("[[0,1,1,0],[0,1]]"); }), HasSubstr("sample 1: 2 values"));
  EXPECT_THAT(message_of([] { samples_of("[[0,1,1,0],3]"); }),
              HasSubstr("sample 1: it is not an array"));
  EXPECT_THAT(message_of([] { samples_of("[0,1,1,0.5]"); }), HasSubstr("sample 0: 0.5 is neither"));
  EXPECT_THAT(message_of([] { samples_of("[0,1,1,2]"); }), HasSubstr("sample 0: 2 is neither"));
  EXPECT_THAT(message_of([] { samples_of("[0,1,1,18446744073709551615]"); }),
              HasSubstr("sample 0: 18446744073709551615 is neither"));
  EXPECT_THAT(message_of([] { samples_of("{\"bits\": 1}"); }),
              HasSubstr("neither lines of bits nor"));
  EXPECT_THAT(message_of([] { samples_of("[0,1"); }), HasSubstr("neither lines of bits nor"));
}

QuadraticAssignment problem_of(const std::string& text) {
  std::istringstream in(text);
  return read_qaplib(in);
}

TEST(QaplibFile, ReadsNumbersInLinesOfAnyLength) {
  const QuadraticAssignment problem = problem_of("2\n\n 0 1\r\n2 3 4\n5 6\t7\n");
  EXPECT_EQ(problem.num_tasks, 2);
  EXPECT_THAT(problem.flow, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(problem.distance, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(problem.cost({1, 0}), 0 * 7 + 1 * 6 + 2 * 5 + 3 * 4);
}

TEST(QaplibFile, ABestKnownValueBesideTheSizeIsLeftOut) {
  EXPECT_THAT(problem_of("2 99\n0 1 2 3\n4 5 6 7\n").flow, ElementsAre(0, 1, 2, 3));
}

TEST(QaplibFile, NamesTheWrongLine) {
  const auto refused = [](const std::string& text) {
    return message_of([&] { problem_of(text); });
  };
  EXPECT_THAT(refused(""), HasSubstr("the file is empty"));
  EXPECT_THAT(refused("0"), HasSubstr("line 1: the size 0 is not from 1 to 2048"));
  EXPECT_THAT(refused("2049"), HasSubstr("line 1: the size 2049 is not"));
  EXPECT_THAT(refused("1\n0\n1.5\n"), HasSubstr("line 3: '1.5' is not a whole number"));
  EXPECT_THAT(
      refused("2\n0 1 2 3\n4 5 6\n"),
      HasSubstr("line 3: the file ends with 7 numbers behind the size 2; two matrices have 8"));
  EXPECT_THAT(refused("2 99 0 1 2 3\n4 5 6 7\n"), HasSubstr("9 numbers"));
  EXPECT_THAT(refused("1\n100000000\n100000000\n"), HasSubstr("passes 2^51"));
}

}  // namespace
}  // namespace tandem::planner
