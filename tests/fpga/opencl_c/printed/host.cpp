// SPDX-License-Identifier: Apache-2.0
//
// Exercises: printf in a kernel comes out where the application's output goes.
#include <fcntl.h>
#include <unistd.h>

#include "opencl_card.h"

using namespace tandem::fpga_test;

namespace {

void run_kernel(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel("say");
  set_arguments(kernel.get(), cl_int(4), cl_float(1.25f));
  const size_t items = 4;
  OCL(clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &items, &items, 0, nullptr,
                             nullptr));
  OCL(clFinish(queue.get()));
}

void pass(const Arguments& arguments) {
  // The card inherits what standard output is when it starts.
  const int real = dup(STDOUT_FILENO);
  const int file = open("printed.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  std::cout.flush();
  dup2(file, STDOUT_FILENO);
  run_kernel(arguments);
  std::cout.flush();
  dup2(real, STDOUT_FILENO);
  const std::vector<unsigned char> bytes = read_file("printed.txt");
  const std::string text(bytes.begin(), bytes.end());
  const char* const expected[] = {
      "item 0 of 4:  0.00 100% done\n", "item 3 of 4:  3.75 100% done\n",
      "1.000000,2.000000,3.000000,1.250000|-4,5|1,2,3|1,2,3,4,-5,6,7,8|a,b,ff,0|1099511627776,2|-1,"
      "-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1,-1|x|abcdef0123456789\n"};
  for (const char* line : expected) {
    if (text.find(line) != std::string::npos) continue;
    report_failure(__FILE__, __LINE__, std::string("not printed: ") + line + "but: " + text);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, pass); }
