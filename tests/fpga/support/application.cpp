// SPDX-License-Identifier: Apache-2.0
//
// Verdict and count of failed checks; compiled once for all programs of the corpus.
#include "application.h"

#include <atomic>
#include <exception>
#include <mutex>

namespace tandem::fpga_test {
namespace {

constexpr int kPrintedFailures = 20;
std::atomic<int> num_failures{0};

}  // namespace

void report_failure(const char* file, int line, const std::string& text) {
  static std::mutex mutex;
  if (num_failures.fetch_add(1) >= kPrintedFailures) return;
  std::lock_guard lock(mutex);
  std::cout << file << ":" << line << ": " << text << std::endl;
}

bool throws(const std::function<void()>& call, const std::string& part) {
  try {
    call();
  } catch (const std::exception& error) {
    if (std::string(error.what()).find(part) != std::string::npos) return true;
    std::cout << "the message is: " << error.what() << std::endl;
  }
  return false;
}

int run_application(int argc, char** argv, const std::function<void(const Arguments&)>& body) {
  if (argc < 2) {
    std::cout << "usage: " << argv[0] << " <xclbin> [...]" << std::endl;
    return 2;
  }
  try {
    body({argv[1], {argv + 2, argv + argc}});
  } catch (const std::exception& error) {
    std::cout << "exception: " << error.what() << std::endl;
    ++num_failures;
  }
  const bool passed = num_failures == 0;
  if (!passed) std::cout << num_failures << " checks failed" << std::endl;
  std::cout << (passed ? "TEST PASSED" : "TEST FAILED") << std::endl;
  return passed ? 0 : 1;
}

}  // namespace tandem::fpga_test
