// SPDX-License-Identifier: Apache-2.0
//
// Exercises: the checks of kernels in OpenCL C. Each bug leaves one finding with its line, and its
// mended twin none.
#include <fstream>
#include <string>
#include <vector>

#include "opencl_card.h"
#include "taken_report.h"

using namespace tandem::fpga_test;

namespace {

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(int);

struct Bug {
  int number;
  const char* kind;
  const char* argument;  // empty: none
  size_t items = 1;      // of its work-group
  const char* kernel = "probe";
  const char* file = "kernel.cl";
};

const std::vector<Bug> kBugs = {{1, "out_of_bounds", "in"},     {2, "out_of_bounds", "out"},
                                {3, "local_out_of_bounds", ""}, {4, "local_out_of_bounds", ""},
                                {5, "misaligned", "in"},        {6, "out_of_bounds", "in"},
                                {7, "local_out_of_bounds", ""}, {8, "local_out_of_bounds", "", 16},
                                {10, "out_of_bounds", "out"},   {11, "local_out_of_bounds", ""}};

constexpr int kEndless = 12;
constexpr int kValueBugs = 10;
constexpr size_t kItems = 16;  // COUNT of items.cl

Bug value_bug(int number) { return {number, "uninitialised_local", "", 1, "values", "values.cl"}; }
Bug item_bug(int number, const char* kind, const char* argument = "") {
  return {number, kind, argument, kItems, "items", "items.cl"};
}

std::vector<Bug> loop_bugs() {
  std::vector<Bug> bugs = {{1, "out_of_bounds", "in"},     {2, "local_out_of_bounds", ""},
                           {3, "local_out_of_bounds", ""}, {4, "uninitialised_local", ""},
                           {5, "uninitialised_local", ""}, {6, "uninitialised_local", ""},
                           {7, "uninitialised_local", ""}, {8, "misaligned", "in"},
                           {9, "uninitialised_local", ""}};
  for (Bug& bug : bugs) {
    bug.kernel = "loops";
    bug.file = "loops.cl";
  }
  for (const int number : {1, 2, 3})
    bugs.push_back({number, "race", "", kItems, "turns", "turns.cl"});
  return bugs;
}

std::vector<Bug> all_bugs() {
  std::vector<Bug> bugs = kBugs;
  for (int number = 1; number <= kValueBugs; ++number) bugs.push_back(value_bug(number));
  for (const int number : {1, 2, 4, 5, 6, 7}) bugs.push_back(item_bug(number, "race"));
  bugs.push_back(item_bug(3, "race", "out"));
  for (const int number : {8, 9, 10}) bugs.push_back(item_bug(number, "deadlock"));
  bugs.push_back(item_bug(11, "uninitialised_local"));
  for (const Bug& bug : loop_bugs()) bugs.push_back(bug);
  return bugs;
}

int marked_line(const Bug& bug) {
  std::string path = __FILE__;
  path.replace(path.rfind("host.cpp"), std::string::npos, bug.file);
  std::ifstream in(path);
  const std::string mark = "// bug " + std::to_string(bug.number);
  std::string line;
  for (int at = 1; std::getline(in, line); ++at) {
    if (line.ends_with(mark)) return at;
  }
  return 0;
}

// The error of the run, or CL_SUCCESS.
cl_int run(const LoadedCard& card, const Bug& bug, int number) {
  const Queue queue = card.queue();
  const Kernel kernel = card.kernel(bug.kernel);
  const std::vector<int> values = numbers(kCount, 3);
  const Memory in = card.buffer(CL_MEM_READ_ONLY, kBytes);
  const Memory out = card.buffer(CL_MEM_READ_WRITE, kBytes);
  OCL(clEnqueueWriteBuffer(queue.get(), in.get(), CL_TRUE, 0, kBytes, values.data(), 0, nullptr,
                           nullptr));
  const std::vector<int> zeros(kCount);
  OCL(clEnqueueWriteBuffer(queue.get(), out.get(), CL_TRUE, 0, kBytes, zeros.data(), 0, nullptr,
                           nullptr));
  OCL(clSetKernelArg(kernel.get(), 0, sizeof(cl_mem), &in));
  OCL(clSetKernelArg(kernel.get(), 1, sizeof(cl_mem), &out));
  OCL(clSetKernelArg(kernel.get(), 2, sizeof(int), &kCount));
  OCL(clSetKernelArg(kernel.get(), 3, sizeof(int), &number));
  cl_event made = nullptr;
  OCL(clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr, &bug.items, &bug.items, 0,
                             nullptr, &made));
  const Event over(made);
  clFinish(queue.get());
  cl_int status = CL_QUEUED;
  OCL(clGetEventInfo(over.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                     nullptr));
  return status == CL_COMPLETE ? CL_SUCCESS : status;
}

void expect_finding(const Bug& bug) {
  const std::string report = take_report();
  CHECK_EQ(count_of(report, "\n"), 1);
  CHECK_EQ(count_of(report, "{\"kind\": \"" + std::string(bug.kind) + "\""), 1);
  // An endless loop has instructions without a line of their own: those of the call are told.
  const std::string line = bug.number == kEndless ? "" : std::to_string(marked_line(bug)) + ",";
  const int at_line = count_of(report, std::string(bug.file) + "\", \"line\": " + line);
  CHECK_EQ(at_line, 1);
  if (*bug.argument != '\0') {
    CHECK_EQ(count_of(report, "\"argument\": \"" + std::string(bug.argument) + "\""), 1);
  }
  if (count_of(report, "\n") != 1 || at_line != 1)
    std::cout << bug.file << " bug " << bug.number << ":\n" << report;
}

void find_bugs(const Arguments& arguments) {
  const LoadedCard card(arguments.xclbin);
  take_report();
  for (const Bug& bug : all_bugs()) {
    OCL(run(card, bug, -bug.number));
    const std::string silent = take_report();
    CHECK_EQ(silent, std::string());
    OCL(run(card, bug, bug.number));
    expect_finding(bug);
  }
}

// A quotient without a value, with which the kernel goes on, and a kernel that TANDEM_CARD_DEADLINE
// ends: its run fails.
void find_ends(const Arguments& arguments) {
  for (const Bug& bug : {Bug{9, "division_by_zero", ""}, Bug{kEndless, "never_ends", ""}}) {
    const LoadedCard card(arguments.xclbin);
    OCL(run(card, bug, -bug.number));
    CHECK_EQ(take_report(), std::string());
    CHECK_EQ(run(card, bug, bug.number) < 0, bug.number == kEndless);
    expect_finding(bug);
  }
}

void find_all(const Arguments& arguments) {
  find_bugs(arguments);
  find_ends(arguments);
}

}  // namespace

int main(int argc, char** argv) { return run_application(argc, argv, find_all); }
