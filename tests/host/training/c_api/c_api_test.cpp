// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads that meet in a store of functions, through the shared library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "training/c_api/tandem_training.h"

extern "C" int abi_as_c_sees_it(void);
extern "C" tandem_status create_as_c_does(const tandem_store* store, tandem_group** group);

namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// What put() and get() of the C ABI promise.
class Store {
 public:
  tandem_store functions() { return {this, put, get}; }
  bool broken = false;

 private:
  static int put(void* context, const char* key, const void* value, std::size_t size) {
    auto* self = static_cast<Store*>(context);
    const std::lock_guard lock(self->mutex_);
    if (self->broken) return -1;
    std::string text(static_cast<const char*>(value), size);
    return self->values_.emplace(key, std::move(text)).second ? 1 : 0;
  }
  static std::int64_t get(void* context, const char* key, void* value, std::size_t capacity) {
    auto* self = static_cast<Store*>(context);
    const std::lock_guard lock(self->mutex_);
    const auto found = self->values_.find(key);
    if (found == self->values_.end()) return -1;
    std::memcpy(value, found->second.data(), std::min(capacity, found->second.size()));
    return static_cast<std::int64_t>(found->second.size());
  }

  std::mutex mutex_;
  std::map<std::string, std::string> values_;
};

std::string group_json(int rank, int world) {
  return nlohmann::json{{"rank", rank}, {"world", world}, {"address", "127.0.0.1"}}.dump();
}

constexpr const char* kOptions =
    R"({"sparsifier": "topk", "density": 0.1, "scheme": "allgather_sparse", "dense_below": 10})";

// A rank's handles.
struct Rank {
  int rank = 0;
  tandem_group* group = nullptr;
  tandem_reducer* reducer = nullptr;
  std::uint32_t weight = 99, bias = 99, embed = 99;

  void add_parameters() {
    const std::int64_t weights[] = {10, 10}, biases[] = {5}, rows[] = {20, 2};
    ASSERT_EQ(tandem_reducer_add_parameter(reducer, "weight", weights, 2, &weight), TANDEM_OK);
    ASSERT_EQ(tandem_reducer_add_parameter(reducer, "bias", biases, 1, &bias), TANDEM_OK);
    ASSERT_EQ(tandem_reducer_add_parameter(reducer, "embed", rows, 2, &embed), TANDEM_OK);
  }
  tandem_status reduce(std::vector<float>& values, int exact = 0) {
    const std::uint32_t bucket[] = {weight, bias};
    std::uint64_t ticket = 0;
    EXPECT_EQ(
        tandem_reducer_submit(reducer, bucket, 2, values.data(), TANDEM_F32, exact, 1, &ticket),
        TANDEM_OK)
        << tandem_last_error();
    return tandem_reducer_wait(reducer, ticket);
  }
};

void run_ranks(int world, const std::function<void(Rank&)>& body, const char* options = kOptions) {
  Store store;
  std::vector<std::thread> threads;
  for (int number = 0; number < world; ++number) {
    threads.emplace_back([&, number] {
      Rank rank;
      rank.rank = number;
      const tandem_store functions = store.functions();
      ASSERT_EQ(tandem_group_create(group_json(number, world).c_str(), &functions, &rank.group),
                TANDEM_OK)
          << tandem_last_error();
      ASSERT_EQ(tandem_reducer_create(rank.group, options, &rank.reducer), TANDEM_OK)
          << tandem_last_error();
      rank.add_parameters();
      body(rank);
      tandem_reducer_destroy(rank.reducer);
      tandem_group_destroy(rank.group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CApi, IsC) {
  EXPECT_EQ(abi_as_c_sees_it(), 1);
  Store store;
  const tandem_store functions = store.functions();
  tandem_group* group = nullptr;
  ASSERT_EQ(create_as_c_does(&functions, &group), TANDEM_OK) << tandem_last_error();
  tandem_group_destroy(group);
}

TEST(CApi, ReducesABucketInPlace) {
  run_ranks(3, [](Rank& rank) {
    std::vector<float> values(105, 0);
    values[7] = 3.0f * static_cast<float>(rank.rank);
    values[102] = 6;
    ASSERT_EQ(rank.reduce(values), TANDEM_OK) << tandem_last_error();
    EXPECT_EQ(values[7], 3);
    EXPECT_EQ(values[102], 6);
    std::vector<float> all(105, 1.0f + static_cast<float>(rank.rank));
    ASSERT_EQ(rank.reduce(all, /*exact=*/1), TANDEM_OK);
    EXPECT_THAT(all, Each(2.0f));
  });
}

TEST(CApi, ABucketOnADeviceThatIsNotThereIsAnErrorOnAllRanks) {
  EXPECT_EQ(tandem_training_device("opencl:0"), TANDEM_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("'opencl:0' cannot hold gradients"));
  EXPECT_EQ(tandem_training_device(nullptr), TANDEM_ERROR);
  EXPECT_NE(tandem_training_device("cuda:4096"), TANDEM_OK);
  EXPECT_THAT(tandem_last_error(), HasSubstr("[cuda]"));
  run_ranks(2, [](Rank& rank) {
    const std::uint32_t bucket[] = {rank.weight, rank.bias};
    std::vector<float> values(105, 1.0f);
    std::uint64_t ticket = 0;
    const auto submit = [&](const char* device) {
      const tandem_bucket given{bucket, 2, values.data(), TANDEM_F32, 0, 1, device, nullptr};
      return tandem_reducer_submit_bucket(rank.reducer, &given, &ticket);
    };
    EXPECT_EQ(tandem_reducer_submit_bucket(rank.reducer, nullptr, &ticket), TANDEM_ERROR);
    ASSERT_EQ(submit(nullptr), TANDEM_OK) << "host memory";
    EXPECT_EQ(tandem_reducer_wait(rank.reducer, ticket), TANDEM_OK);
    std::ranges::fill(values, 1.0f);
    std::string name = "xrt:0";
    ASSERT_EQ(submit(name.c_str()), TANDEM_OK);
    name = "gone!";  // the library has copied it
    EXPECT_EQ(tandem_reducer_wait(rank.reducer, ticket), TANDEM_ERROR);
    EXPECT_THAT(tandem_last_error(), HasSubstr("rank 0: gradients on xrt:0"));
    EXPECT_THAT(values, Each(1.0f));
    EXPECT_EQ(rank.reduce(values), TANDEM_OK) << "the reducer stays usable";
  });
}

TEST(CApi, HandsOutRowsSortedAndUnique) {
  run_ranks(2, [](Rank& rank) {
    const std::int64_t rows[] = {9, 4, 9};
    const float values[] = {1, 2, 3, 4, 5, 6};
    std::uint64_t ticket = 0;
    ASSERT_EQ(tandem_reducer_submit_rows(rank.reducer, rank.embed, rows, rank.rank == 0 ? 3 : 0,
                                         values, TANDEM_F32, 1, &ticket),
              TANDEM_OK);
    ASSERT_EQ(tandem_reducer_wait(rank.reducer, ticket), TANDEM_OK) << tandem_last_error();
    tandem_rows* mean = nullptr;
    ASSERT_EQ(tandem_reducer_take_rows(rank.reducer, ticket, &mean), TANDEM_OK);
    ASSERT_EQ(tandem_rows_count(mean), 2u);
    std::vector<std::int64_t> indices(2);
    std::vector<float> found(4);
    ASSERT_EQ(tandem_rows_copy(mean, indices.data(), found.data()), TANDEM_OK);
    EXPECT_THAT(indices, ElementsAre(4, 9));
    EXPECT_THAT(found, ElementsAre(1.5, 2, 3, 4));
    tandem_rows_destroy(mean);
    EXPECT_EQ(tandem_reducer_take_rows(rank.reducer, ticket, &mean), TANDEM_ERROR);
    EXPECT_EQ(mean, nullptr);
  });
}

TEST(CApi, TellsKindsOfErrorsApart) {
  std::barrier both_have_their_errors(2);
  run_ranks(2, [&](Rank& rank) {
    std::vector<float> values(105, rank.rank == 1 ? NAN : 0);
    EXPECT_EQ(rank.reduce(values), TANDEM_NON_FINITE);
    EXPECT_THAT(tandem_last_error(), HasSubstr("step 0: the gradient of weight on rank 1"));
    const std::uint32_t unknown = 50;
    std::uint64_t ticket = 0;
    ASSERT_EQ(
        tandem_reducer_submit(rank.reducer, &unknown, 1, values.data(), TANDEM_F32, 0, 1, &ticket),
        TANDEM_OK);
    EXPECT_EQ(tandem_reducer_wait(rank.reducer, ticket), TANDEM_ERROR);
    EXPECT_THAT(tandem_last_error(), HasSubstr("there is no parameter 50"));
    ASSERT_EQ(tandem_reducer_submit(rank.reducer, &rank.bias, 1, values.data(), 9, 0, 1, &ticket),
              TANDEM_OK);
    EXPECT_EQ(tandem_reducer_wait(rank.reducer, ticket), TANDEM_ERROR);
    EXPECT_THAT(tandem_last_error(), HasSubstr("gradients are of type f32"));
    both_have_their_errors.arrive_and_wait();
    if (rank.rank == 0) tandem_group_abort(rank.group, "the driver has left");
    std::vector<float> later(105, 1);
    EXPECT_EQ(rank.reduce(later), TANDEM_TRANSPORT_ERROR);
    EXPECT_THAT(tandem_last_error(), HasSubstr("the driver has left"));
  });
}

TEST(CApi, SavesAndRestores) {
  run_ranks(2, [](Rank& rank) {
    std::vector<float> values(105);
    for (std::size_t i = 0; i < 105; ++i) values[i] = static_cast<float>(i);
    ASSERT_EQ(rank.reduce(values), TANDEM_OK);
    void *first = nullptr, *second = nullptr;
    std::size_t first_size = 0, second_size = 0;
    ASSERT_EQ(tandem_reducer_state(rank.reducer, &first, &first_size), TANDEM_OK);
    values.assign(105, 1);
    ASSERT_EQ(rank.reduce(values), TANDEM_OK);
    ASSERT_EQ(tandem_reducer_restore(rank.reducer, first, first_size), TANDEM_OK)
        << tandem_last_error();
    ASSERT_EQ(tandem_reducer_state(rank.reducer, &second, &second_size), TANDEM_OK);
    ASSERT_EQ(second_size, first_size);
    EXPECT_EQ(std::memcmp(first, second, first_size), 0);
    EXPECT_EQ(tandem_reducer_restore(rank.reducer, first, first_size - 1), TANDEM_ERROR);
    EXPECT_THAT(tandem_last_error(), HasSubstr("truncated"));
    tandem_free(first);
    tandem_free(second);
  });
}

TEST(CApi, TellsStatisticsAndMetrics) {
  run_ranks(1, [](Rank& rank) {
    std::vector<float> values(105, 1);
    ASSERT_EQ(rank.reduce(values), TANDEM_OK);
    char *json = nullptr, *metrics = nullptr;
    ASSERT_EQ(tandem_reducer_statistics(rank.reducer, &json), TANDEM_OK);
    const auto statistics = nlohmann::json::parse(json);
    EXPECT_EQ(statistics["steps"], 1);
    EXPECT_EQ(statistics["buckets"][0]["parameters"], (std::vector<std::string>{"weight", "bias"}));
    EXPECT_EQ(statistics["buckets"][0]["density_asked"], 0.1);
    ASSERT_EQ(tandem_reducer_metrics(rank.reducer, &metrics), TANDEM_OK);
    EXPECT_THAT(metrics, HasSubstr("tandem_training_steps_total 1"));
    tandem_free(json);
    tandem_free(metrics);
  });
}

TEST(CApi, EndsAStepWithoutABucket) {
  run_ranks(1, [](Rank& rank) {
    ASSERT_EQ(tandem_reducer_end_step(rank.reducer), TANDEM_OK);
    char* json = nullptr;
    ASSERT_EQ(tandem_reducer_statistics(rank.reducer, &json), TANDEM_OK);
    EXPECT_EQ(nlohmann::json::parse(json)["steps"], 1);
    tandem_free(json);
  });
}

TEST(CApi, ChecksOptionsWithoutAGroup) {
  EXPECT_EQ(tandem_reducer_check_options(kOptions), TANDEM_OK);
  EXPECT_EQ(tandem_reducer_check_options(R"({"sparsifier": "mircro"})"), TANDEM_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("did you mean 'micro'?"));
}

TEST(CApi, RefusesNullPointersByName) {
  tandem_group* group = nullptr;
  tandem_reducer* reducer = nullptr;
  EXPECT_EQ(tandem_group_create(nullptr, nullptr, &group), TANDEM_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("options is a null pointer"));
  EXPECT_EQ(tandem_group_create("{}", nullptr, nullptr), TANDEM_ERROR);
  EXPECT_EQ(tandem_reducer_create(nullptr, "{}", &reducer), TANDEM_ERROR);
  EXPECT_EQ(tandem_reducer_wait(nullptr, 1), TANDEM_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("reducer is a null pointer"));
  EXPECT_EQ(tandem_reducer_end_step(nullptr), TANDEM_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("reducer is a null pointer"));
  EXPECT_EQ(tandem_reducer_check_options(nullptr), TANDEM_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("options is a null pointer"));
  EXPECT_EQ(tandem_rows_count(nullptr), 0u);
  tandem_group_abort(nullptr, nullptr);
  tandem_group_destroy(nullptr);
  tandem_reducer_destroy(nullptr);
  tandem_rows_destroy(nullptr);
  tandem_free(nullptr);
  const tandem_store empty = {nullptr, nullptr, nullptr};
  EXPECT_EQ(tandem_group_create("{\"world\": 2}", &empty, &group), TANDEM_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("the store's function put is a null pointer"));
}

TEST(CApi, SaysWhatIsWrongWithAGroup) {
  tandem_group* group = nullptr;
  EXPECT_EQ(tandem_group_create("{\"transport\": \"tcp\"}", nullptr, &group), TANDEM_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("the option transport is 'tcp'; choose gloo or mpi"));
  Store store;
  store.broken = true;
  const tandem_store functions = store.functions();
  EXPECT_EQ(tandem_group_create(group_json(0, 2).c_str(), &functions, &group), TANDEM_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("the store did not take the key"));
  EXPECT_EQ(group, nullptr);
}

TEST(CApi, NamesTheRankThatDoesNotCome) {
  Store store;
  const tandem_store functions = store.functions();
  tandem_group* group = nullptr;
  EXPECT_EQ(tandem_group_create(R"({"world": 2, "address": "127.0.0.1", "timeout_s": 0.2})",
                                &functions, &group),
            TANDEM_TRANSPORT_ERROR);
  EXPECT_THAT(tandem_last_error(), HasSubstr("rank 1"));
}

}  // namespace
