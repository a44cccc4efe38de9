// SPDX-License-Identifier: Apache-2.0
//
// JSON lines, the table and the progress. The table's lines are the memory of a run: the curve is
// drawn from them.
#include "training/trainer/training_log.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "common/error.h"
#include "training/trainer/checkpoint.h"

namespace tandem::training {
namespace {

constexpr const char* kColumns =
    "step,loss,gradient_norm,rate,tokens_per_s,density_sent,build_up,bytes_sent,seconds";

std::string duration_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

class JsonLog final : public TrainingLog {
 public:
  void step(const StepFigures& figures) override { print(json_line(figures)); }
  void evaluation(const EvaluationFigures& figures) override { print(json_line(figures)); }

 private:
  static void print(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
};

class ProgressLog final : public TrainingLog {
 public:
  explicit ProgressLog(std::uint64_t steps) : steps_(steps) {}
  void step(const StepFigures& figures) override {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < kPause && figures.step != steps_) return;
    last_ = now;
    spdlog::info("{}", progress_line(figures, steps_));
  }
  void evaluation(const EvaluationFigures& figures) override {
    if (figures.auc) {
      spdlog::info("after step {} the log loss is {:.5f} and the AUC {:.4f} over {} samples",
                   figures.step, figures.mean_nll, *figures.auc, figures.tokens);
      return;
    }
    spdlog::info("after step {} the perplexity is {:.4f} over {} tokens", figures.step,
                 std::exp(figures.mean_nll), figures.tokens);
  }

 private:
  static constexpr std::chrono::seconds kPause{2};
  std::uint64_t steps_;
  std::chrono::steady_clock::time_point last_;
};

class CsvLog final : public TrainingLog {
 public:
  CsvLog(const std::string& path, std::uint64_t step) : path_(path) {
    begin(std::string(kColumns) + "\n" + kept_lines(step));
  }
  void step(const StepFigures& f) override {
    out_ << fmt::format("{},{:.9g},{:.9g},{:.9g},{:.6g},{:.6g},{:.6g},{},{:.6g}\n", f.step, f.loss,
                        f.gradient_norm, f.rate, f.tokens_per_second(), f.density_sent, f.build_up,
                        f.bytes_sent, f.seconds)
         << std::flush;
    check();
  }

 private:
  std::string kept_lines(std::uint64_t step) const {
    std::ifstream before(path_);
    std::string kept;
    std::string line;
    std::getline(before, line);
    while (step > 0 && std::getline(before, line)) {
      std::uint64_t number = 0;
      std::istringstream(line) >> number;
      if (number <= step) kept += line + "\n";
    }
    return kept;
  }
  // The old content stays until the new file is complete.
  void begin(const std::string& lines) {
    const std::string next = path_ + ".partial";
    write_bytes(next, std::as_bytes(std::span(lines)));
    if (std::rename(next.c_str(), path_.c_str()) == 0) out_.open(path_, std::ios::app);
    check();
  }
  void check() {
    if (!out_.is_open() || !out_)
      throw Error("train", "cannot write '" + path_ + "': " + std::strerror(errno));
  }

  std::string path_;
  std::ofstream out_;
};

class ExpendableLog final : public TrainingLog {
 public:
  explicit ExpendableLog(const OpenLog& open) {
    tell([&] { log_ = open(); });
  }
  void step(const StepFigures& figures) override {
    if (log_) tell([&] { log_->step(figures); });
  }
  void evaluation(const EvaluationFigures& figures) override {
    if (log_) tell([&] { log_->evaluation(figures); });
  }
  void end() override {
    if (log_) tell([&] { log_->end(); });
  }

 private:
  template <typename Part>
  void tell(const Part& part) {
    try {
      part();
    } catch (const Error& error) {
      spdlog::error("{}; the run continues without this log", error.what());
      log_.reset();
    }
  }

  std::unique_ptr<TrainingLog> log_;
};

}  // namespace

std::string json_line(const StepFigures& f) {
  const nlohmann::ordered_json line = {{"step", f.step},
                                       {"loss", f.loss},
                                       {"tokens_per_s", f.tokens_per_second()},
                                       {"density_sent", f.density_sent},
                                       {"build_up", f.build_up},
                                       {"bytes_sent", f.bytes_sent},
                                       {"seconds", f.seconds},
                                       {"gradient_norm", f.gradient_norm},
                                       {"rate", f.rate}};
  return line.dump();
}

std::string json_line(const EvaluationFigures& f) {
  if (f.auc) {
    return nlohmann::ordered_json({{"evaluated_step", f.step},
                                   {"logloss", f.mean_nll},
                                   {"auc", *f.auc},
                                   {"samples_scored", f.tokens}})
        .dump();
  }
  const nlohmann::ordered_json line = {{"evaluated_step", f.step},
                                       {"mean_nll", f.mean_nll},
                                       {"ppl", std::exp(f.mean_nll)},
                                       {"tokens_scored", f.tokens}};
  return line.dump();
}

std::string progress_line(const StepFigures& f, std::uint64_t steps) {
  std::string text = fmt::format("step {} of {}, loss {:.4f}, {:.0f} tokens/s", f.step, steps,
                                 f.loss, f.tokens_per_second());
  if (f.density_sent < 1) text += fmt::format(", {:.3g} % sent", 100 * f.density_sent);
  if (f.step < steps) {
    const double left =
        f.seconds / static_cast<double>(f.steps) * static_cast<double>(steps - f.step);
    text += ", " + duration_text(left) + " left";
  }
  return text;
}

std::unique_ptr<TrainingLog> make_json_log() { return std::make_unique<JsonLog>(); }
std::unique_ptr<TrainingLog> make_progress_log(std::uint64_t steps) {
  return std::make_unique<ProgressLog>(steps);
}
std::unique_ptr<TrainingLog> make_csv_log(const std::string& path, std::uint64_t step) {
  return std::make_unique<CsvLog>(path, step);
}

std::unique_ptr<TrainingLog> make_expendable(const OpenLog& open) {
  return std::make_unique<ExpendableLog>(open);
}

}  // namespace tandem::training
