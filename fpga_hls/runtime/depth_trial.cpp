// SPDX-License-Identifier: Apache-2.0
//
// A line is one write, so cards of several processes may share the folder.
#include "fpga_hls/runtime/depth_trial.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "fpga_hls/runtime/process.h"

namespace tandem::hls_runtime {
namespace {

DepthTrial* current_trial = nullptr;

// Names end at a tab or the end of a line.
std::string one_field(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

}  // namespace

DepthTrial::DepthTrial(const std::string& folder) : found_file_(folder + "/found") {
  const std::string file = folder + "/plan";
  std::ifstream plan(file);
  if (!plan) throw std::runtime_error("TANDEM_DEPTH_TRIAL: cannot read " + file);
  int number = 0;
  for (std::string line; std::getline(plan, line);) {
    ++number;
    std::istringstream fields(line);
    uint32_t depth = 0;
    int at = 0;
    std::string name, source;
    fields >> depth >> at;
    const bool good = fields && depth > 0 && fields.get() == '\t' &&
                      std::getline(fields, name, '\t') && std::getline(fields, source);
    if (!good) {
      throw std::runtime_error(file + ":" + std::to_string(number) +
                               ": expected DEPTH, LINE, STREAM and FILE with tabs between them");
    }
    fixed_[{source, at, name}] = depth;
  }
}

// Units hold it as long as the process lives.
void DepthTrial::begin(const std::string& folder) { current_trial = new DepthTrial(folder); }

DepthTrial* DepthTrial::current() { return current_trial; }

void DepthTrial::plan(tandem_hls::Channel& channel) {
  if (channel.trial != 0 || is_link(channel)) return;
  const Key key{one_field(channel.file), channel.line, one_field(channel.name)};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto fixed = fixed_.find(key);
  channel.stated_depth = static_cast<uint32_t>(channel.depth);
  channel.depth = fixed == fixed_.end() ? 1 : fixed->second;
  channel.trial = fixed == fixed_.end() ? kGrowingTrial : kFixedTrial;
  if (seen_.insert(key).second) append("stream", channel.stated_depth, key);
}

void DepthTrial::record(const RunFindings& run) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const NeededDepth& needed : run.depths) {
    const Key key{one_field(needed.place.file), needed.place.line, one_field(needed.stream)};
    uint64_t& depth = grown_[key];
    if (needed.depth <= depth) continue;
    depth = needed.depth;
    append("needs", depth, key);
  }
}

void DepthTrial::append(const char* what, uint64_t depth, const Key& key) {
  const auto& [file, line, stream] = key;
  const std::string text = std::string(what) + '\t' + std::to_string(depth) + '\t' +
                           std::to_string(line) + '\t' + stream + '\t' + file + '\n';
  const int found = ::open(found_file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const bool written =
      found >= 0 && ::write(found, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (found >= 0) close(found);
  if (!written) throw std::runtime_error("TANDEM_DEPTH_TRIAL: cannot write to " + found_file_);
}

}  // namespace tandem::hls_runtime
