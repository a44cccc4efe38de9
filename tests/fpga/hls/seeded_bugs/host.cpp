// SPDX-License-Identifier: Apache-2.0
//
// Runs all rows of the corpus; see corpus.h. An argument limits it to the rows whose names contain
// it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>

#include "corpus.h"

namespace tandem::fpga_test {

Bench::Bench(const std::string& xclbin) : device(0), uuid(device.load_xclbin(xclbin)) {}

Buffers Bench::make(const xrt::kernel& kernel) {
  Buffers buffers{xrt::bo(device, kBytes, kernel.group_id(0)),
                  xrt::bo(device, kBytes, kernel.group_id(1)),
                  xrt::bo(device, kBytes, kernel.group_id(2))};
  std::iota(buffers.in.map<int*>(), buffers.in.map<int*>() + kCount, 0);
  buffers.in.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  return buffers;
}

ert_cmd_state Bench::run(const std::string& name, int number) {
  xrt::kernel chosen = kernel(name);
  Buffers buffers = make(chosen);
  return chosen(buffers.in, buffers.out, buffers.scratch, kCount, number).wait(kPatience);
}

ert_cmd_state Bench::run_well(xrt::kernel& kernel, Buffers& buffers) {
  return kernel(buffers.in, buffers.out, buffers.scratch, kCount, -1).wait(kPatience);
}

std::vector<std::string> take_report() {
  const char* const name = std::getenv("TANDEM_CARD_REPORT");
  std::ifstream in(name);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::remove(name);
  return lines;
}

int marked_line(const std::string& file, const std::string& name) {
  std::string path = __FILE__;
  path.replace(path.rfind("host.cpp"), std::string::npos, file);
  std::ifstream in(path);
  std::string line;
  const std::string mark = "// bug " + name;
  for (int number = 1; std::getline(in, line); ++number) {
    const size_t at = line.find(mark);
    if (at != std::string::npos && at + mark.size() == line.size()) return number;
  }
  return 0;
}

namespace {

bool has(const std::string& line, const std::string& text) {
  return line.find(text) != std::string::npos;
}

void fail(const Row& row, const std::string& what, const std::vector<std::string>& report) {
  std::string text = row.name + ": " + what;
  for (const std::string& line : report) text += "\n  " + line;
  report_failure(__FILE__, __LINE__, text);
}

// What is wrong with the report of a bug; empty: nothing.
std::string complaint_of_line(const Row& row, const std::string& line) {
  if (!has(line, "{\"kind\": \"" + row.kind + "\", \"severity\": \"")) return "not " + row.kind;
  for (const char* member : {"kernel", "unit", "argument", "file", "line", "message"}) {
    if (!has(line, ", \"" + std::string(member) + "\": ")) return "no " + std::string(member);
  }
  if (!row.argument.empty() && !has(line, "\"argument\": \"" + row.argument + "\"")) {
    return "its argument is not " + row.argument;
  }
  if (row.file.empty()) return {};
  const int wanted = marked_line(row.file, row.name);
  if (wanted == 0) return "its line has no mark in " + row.file;
  const std::string place = row.file + "\", \"line\": " + std::to_string(wanted) + ",";
  return has(line, place) ? "" : "it is not at " + row.file + ":" + std::to_string(wanted);
}

std::string complaint(const Row& row, const std::vector<std::string>& report) {
  if (report.size() == 1) return complaint_of_line(row, report[0]);
  return "it gives " + std::to_string(report.size()) + " findings, not 1";
}

class Corpus {
 public:
  explicit Corpus(std::string xclbin) : xclbin_(std::move(xclbin)) { take_report(); }

  void run(const Row& row) {
    if (!bench_) bench_ = std::make_unique<Bench>(xclbin_);
    row.run(*bench_, false);
    const std::vector<std::string> silent = take_report();
    if (!silent.empty()) fail(row, "its mended twin is not silent", silent);
    row.run(*bench_, true);
    const std::vector<std::string> report = take_report();
    const std::string wrong = complaint(row, report);
    if (!wrong.empty()) fail(row, wrong, report);
    if (row.ends_card) bench_.reset();
  }

 private:
  std::string xclbin_;
  std::unique_ptr<Bench> bench_;
};

void run_corpus(const Arguments& arguments) {
  Corpus corpus(arguments.xclbin);
  const std::string wanted = arguments.rest.empty() ? "" : arguments.rest[0];
  std::set<std::string> names, kinds;
  for (const auto& rows :
       {buffer_rows(), copy_rows(), argument_rows(), unit_rows(), kernel_rows()}) {
    for (const Row& row : rows) {
      CHECK(names.insert(row.name).second);
      kinds.insert(row.kind);
      if (has(row.name, wanted)) corpus.run(row);
    }
  }
  CHECK(names.size() >= 60);
  CHECK_EQ(kinds.size(), 18u);
  std::cout << names.size() << " bugs of " << kinds.size() << " kinds\n";
}

}  // namespace
}  // namespace tandem::fpga_test

int main(int argc, char** argv) {
  return tandem::fpga_test::run_application(argc, argv, tandem::fpga_test::run_corpus);
}
