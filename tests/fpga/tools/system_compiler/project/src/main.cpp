// SPDX-License-Identifier: Apache-2.0
//
// Jobs through the first accelerator, on two cards; their results in order through the second one
// and to a file.
#include "acc.hpp"

int non_negative(const int* values, int size);

namespace {

void check(bool right, const char* what) {
  if (!right) throw std::runtime_error(what);
}

void add_on_cards() {
  VPP_CC cards[2];
  vpp::squeue<std::string> names[2];
  const auto in = adder::create_bufpool(vpp::input);
  const auto out = adder::create_bufpool(vpp::output);
  int received[2] = {};
  for (int card = 0; card < 2; card++) {
    adder::add_card(cards[card], card);
    names[card].init_size(1);
    adder::send_while(
        [=, &names, iteration = 0]() mutable {
          if (names[card].get().empty()) return false;
          int* A = adder::alloc_buf<int>(in, SIZE);
          int* X = static_cast<int*>(adder::alloc_buf(out, SIZE * sizeof(int)));
          for (int i = 0; i < SIZE; i++) A[i] = 1000 * card + 10 * iteration + i;
          if (card == 0) adder::compute(A, X, SIZE);
          if (card == 1) {
            for (int i = 0; i < SIZE; i++) X[i] = A[i] + 1;
          }
          adder::set_handle(iteration++);
          return true;
        },
        cards[card]);
    adder::receive_all_in_order(
        [=, &received] {
          check(adder::get_handle<int>() == received[card], "a job is out of order");
          const int* X = adder::get_buf<int>(out);
          const int* A = static_cast<int*>(adder::get_buf(in));
          for (int i = 0; i < SIZE; i++) {
            check(X[i] == 1000 * card + 10 * received[card] + i + 1, "a wrong sum");
            check(A[i] + 1 == X[i], "another input");
          }
          received[card]++;
        },
        cards[card]);
  }
  for (int iteration = 0; iteration < ITERATIONS; iteration++) {
    for (auto& queue : names) queue.put("file");
  }
  for (int card = 0; card < 2; card++) {  // the second card still waits for its names
    names[card].put("");
    adder::join(cards[card]);
    check(received[card] == ITERATIONS, "a job is missing");
  }
}

void filter_to_file(const char* path) {
  struct Handle {
    int iteration, size;
  };
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
  const auto in = adder::create_bufpool(vpp::input), between = adder::create_bufpool(vpp::remote);
  const auto out = filter::create_bufpool(vpp::output), count = filter::create_bufpool(vpp::output);
  adder::send_while([=, iteration = 0]() mutable {
    int* A = adder::file_buf<int>(in, 0, SIZE);
    int* X = adder::alloc_buf<int>(between, SIZE);
    for (int i = 0; i < SIZE; i++) A[i] = i % 3 == 0 ? -1 : iteration * 100 + i;
    adder::set_handle<Handle>({iteration, SIZE});
    adder::compute(A, X, SIZE);
    return ++iteration < ITERATIONS;
  });
  filter::send_while([=] {
    Handle handle{};
    int* X = nullptr;
    if (!adder::receive_one_in_order([&] {
          handle = adder::get_handle<Handle>();
          X = adder::transfer_buf<int>(between);
        })) {
      return false;
    }
    filter::set_handle(handle);
    int* kept = filter::alloc_buf<int>(out, handle.size);
    int* kept_count = filter::alloc_buf<int>(count, 1);
    filter::custom_sync_outputs([=] {
      filter::sync_output<int>(kept_count, 1).get();
      filter::sync_output_to_file<int>(kept, file, 4, handle.iteration * 4, *kept_count - 4).get();
    });
    filter::compute(X, handle.size, kept, kept_count);
    return true;
  });
  int jobs = 0;
  filter::receive_all_in_order([&] {
    check(filter::get_handle<Handle>().iteration == jobs++, "a job is out of order");
    check(*filter::get_buf<int>(count) == SIZE - SIZE / 3, "a wrong count");
  });
  adder::join();
  filter::join();
  check(jobs == ITERATIONS, "a job is missing");

  filter::send_while([=] {  // the file as input, in two pieces
    filter::file_buf<int>(in, file, 4, 4 * (ITERATIONS - 1));
    const int* last = filter::file_buf<int>(in, file, 2, 0, 4);
    check(last[3] == (ITERATIONS - 1) * 100 + SIZE, "the file's last word is wrong");
    check(last[5] == SIZE - 3, "the file's second word is wrong");
    return false;
  });
  filter::join();
}

void alone() {
  int* in = static_cast<int*>(filter::alloc_buf(3 * sizeof(int), vpp::input));
  int out[3], count = 0;
  in[1] = 7;
  auto future = filter::compute_async(in, 3, out, &count);
  future.get();
  check(count == 1 && out[0] == 7, "the asynchronous call is wrong");
  filter::free_buf(in);
  int values[2] = {4, 8};
  twice::compute(values, values, 2);
  check(values[0] == 5 && values[1] == 9, "functions of the same names are wrong");
  try {
    filter::get_handle();
    check(false, "a handle without a job");
  } catch (const std::logic_error& error) {
    check(std::string(error.what()).find("filter") != std::string::npos, "no name in the error");
  }
  filter::send_while([]() -> bool { throw std::runtime_error("a sender's own error"); });
  try {
    filter::join();
    check(false, "join() dropped an error");
  } catch (const std::runtime_error& error) {
    check(std::string(error.what()) == "a sender's own error", error.what());
  }
}

// More jobs than a queue has room for, and nobody who takes them; then a round whose receiver is
// first.
void rounds() {
  const auto send = [](int jobs) {
    twice::send_while([=, sent = 0]() mutable {
      twice::custom_sync_outputs([] {});
      return ++sent < jobs;
    });
  };
  twice::receive_all_in_order([] { throw std::runtime_error("a receiver's own error"); });
  send(200);
  try {
    twice::join();
    check(false, "join() dropped an error");
  } catch (const std::runtime_error& error) {
    check(std::string(error.what()) == "a receiver's own error", error.what());
  }
  int received = 0;
  twice::receive_all_in_order([&] { ++received; });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  send(3);
  twice::join();
  check(received == 3, "a receiver did not wait for its sender");
}

}  // namespace

int main(int, char** argv) {
  check(vpp::flow ==
            (std::string(getenv("XCL_EMULATION_MODE")) == "hw_emu" ? vpp::hw_emu : vpp::sw_emu),
        "another flow");
  add_on_cards();
  filter_to_file(argv[1]);
  alone();
  rounds();
  const int values[] = {3, -1, 0};
  check(non_negative(values, 3) == 2, "a wrong count of numbers");
  const std::lock_guard<std::mutex> lock(g_cout_mutex);
  std::cout << "TEST PASSED\n";
}
