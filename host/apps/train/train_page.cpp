// SPDX-License-Identifier: Apache-2.0
//
// Points are what the charts of the page show; evaluations are kept as they are.
#include "apps/train/train_page.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/number.h"
#include "server/http/loopback.h"
#include "server/page_server.h"

namespace tandem::apps {
namespace {

using training::EvaluationFigures;
using training::StepFigures;

constexpr std::size_t kMostPoints = 400;
constexpr std::chrono::milliseconds kTextAge{500};

// Lines at equal distances, and the last one.
template <typename Line>
class FewLines {
 public:
  void add(const Line& line) {
    last_ = line;
    if (++since_ < stride_) return;
    since_ = 0;
    kept_.push_back(line);
    if (kept_.size() <= kMostPoints) return;
    std::vector<Line> every_second;
    for (std::size_t at = 0; at < kept_.size(); at += 2) every_second.push_back(kept_[at]);
    kept_ = std::move(every_second);
    stride_ *= 2;
  }
  void go_back_to(std::uint64_t step) {
    std::erase_if(kept_, [step](const Line& line) { return line.step > step; });
    if (last_ && last_->step > step) last_.reset();
  }
  const std::optional<Line>& last() const { return last_; }
  std::vector<Line> all() const {
    std::vector<Line> lines = kept_;
    if (last_ && (lines.empty() || lines.back().step != last_->step)) lines.push_back(*last_);
    return lines;
  }

 private:
  std::vector<Line> kept_;
  std::optional<Line> last_;
  std::uint64_t since_ = 0, stride_ = 1;  // lines since one was kept; lines per kept one
};

struct Figures {
  FewLines<StepFigures> points;
  FewLines<EvaluationFigures> evaluations;
  std::vector<transport::PeerTraffic> peers;
  bool has_ended = false;
};

// "127.0.0.1:8090" or "[::1]:8090".
server::http::ListenOptions listen_at(const std::string& text) {
  server::http::ListenOptions listen;
  const std::size_t colon = text.rfind(':');
  std::optional<std::uint16_t> port;
  if (colon != std::string::npos) port = number_of<std::uint16_t>(text.substr(colon + 1));
  listen.host = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (listen.host.size() > 2 && listen.host.front() == '[' && listen.host.back() == ']') {
    listen.host = listen.host.substr(1, listen.host.size() - 2);
  } else if (listen.host.find(':') != std::string::npos) {
    port.reset();
  }
  if (!port || listen.host.empty()) {
    throw Error("train", "--ui '" + text +
                             "' is not an ADDRESS:PORT, such as 127.0.0.1:8090; port 0 is any free "
                             "one");
  }
  listen.port = *port;
  return listen;
}

template <typename Value>
nlohmann::json column(const std::vector<StepFigures>& points, Value value) {
  nlohmann::json values = nlohmann::json::array();
  for (const StepFigures& point : points) values.push_back(value(point));
  return values;
}

// Seconds of a step that a phase took.
template <double StepFigures::*Phase>
double per_step(const StepFigures& figures) {
  return figures.steps > 0 ? figures.*Phase / static_cast<double>(figures.steps) : 0;
}

nlohmann::json points_json(const std::vector<StepFigures>& points) {
  return {{"step", column(points, [](const StepFigures& f) { return f.step; })},
          {"loss", column(points, [](const StepFigures& f) { return f.loss; })},
          {"tokens_per_second",
           column(points, [](const StepFigures& f) { return f.tokens_per_second(); })},
          {"density", column(points, [](const StepFigures& f) { return f.density_sent; })},
          {"whole", column(points, per_step<&StepFigures::seconds>)},
          {"backward", column(points, per_step<&StepFigures::backward_seconds>)},
          {"reduce", column(points, per_step<&StepFigures::reduce_seconds>)},
          {"update", column(points, per_step<&StepFigures::update_seconds>)}};
}

nlohmann::json peers_json(const std::vector<transport::PeerTraffic>& peers) {
  nlohmann::json all = nlohmann::json::array();
  for (const transport::PeerTraffic& peer : peers) {
    all.push_back({{"bytes_sent", peer.bytes_sent},
                   {"messages_sent", peer.messages_sent},
                   {"bytes_received", peer.bytes_received},
                   {"messages_received", peer.messages_received}});
  }
  return all;
}

std::string page_text(const Figures& figures, const TrainPageOptions& options) {
  const StepFigures last = figures.points.last().value_or(StepFigures{});
  nlohmann::json evaluations = nlohmann::json::array();
  for (const EvaluationFigures& one : figures.evaluations.all()) {
    evaluations.push_back({{"step", one.step}, {"loss", one.mean_nll}, {"tokens", one.tokens}});
  }
  const nlohmann::json page = {{"title", options.title},
                               {"steps", options.steps},
                               {"step", last.step},
                               {"state", figures.has_ended ? "ended" : "training"},
                               {"rate", last.rate},
                               {"gradient_norm", last.gradient_norm},
                               {"ranks", figures.peers.empty() ? 1 : figures.peers.size()},
                               {"points", points_json(figures.points.all())},
                               {"evaluations", std::move(evaluations)},
                               {"peers", peers_json(figures.peers)}};
  return page.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

struct TrainPage::State {
  TrainPageOptions options;
  server::PageOptions page;

  mutable std::mutex mutex;  // guards figures
  Figures figures;

  mutable std::mutex text_mutex;  // for requests of browsers only; guards the members below
  mutable std::string text;
  mutable std::chrono::steady_clock::time_point text_time;

  std::unique_ptr<server::PageServer> server;  // the last member: it ends before the others

  void add(const StepFigures& line) {
    const std::lock_guard lock(mutex);
    figures.peers = line.peers;  // of the last line alone
    StepFigures point = line;
    point.peers = {};
    figures.points.add(point);
  }
  void add(const EvaluationFigures& line) {
    const std::lock_guard lock(mutex);
    figures.evaluations.add(line);
  }

  void go_back_to(std::uint64_t step) {
    const std::lock_guard lock(mutex);
    figures.points.go_back_to(step);
    figures.evaluations.go_back_to(step);
    if (!figures.points.last()) figures.peers = {};
  }

  std::string json() const {
    const std::lock_guard one_at_a_time(text_mutex);
    const auto now = std::chrono::steady_clock::now();
    if (!text.empty() && now - text_time < kTextAge) return text;
    Figures copy;
    {
      const std::lock_guard lock(mutex);
      copy = figures;
    }
    text = page_text(copy, options);
    text_time = now;
    return text;
  }
};

// Belongs to one opening of the logs.
class TrainPage::Log final : public training::TrainingLog {
 public:
  explicit Log(std::shared_ptr<State> state) : state_(std::move(state)) {}

  void step(const StepFigures& line) override { state_->add(line); }
  void evaluation(const EvaluationFigures& line) override { state_->add(line); }
  void end() override {
    const std::lock_guard lock(state_->mutex);
    state_->figures.has_ended = true;
  }

 private:
  std::shared_ptr<State> state_;
};

TrainPage::TrainPage(const TrainPageOptions& options) {
  if (options.address.empty()) {
    if (options.key_file.empty()) return;
    throw Error("train", "--ui-keys needs --ui");
  }
  state_ = std::make_shared<State>();
  state_->options = options;
  server::PageOptions& page = state_->page;
  page.listen = listen_at(options.address);
  page.start = "training.html";
  page.data["/status"] = [state = state_.get()] { return state->json(); };
  if (!options.key_file.empty()) {
    server::LoadedKeys loaded = server::load_api_keys(options.key_file);
    if (!loaded.warning.empty()) spdlog::warn("{}", loaded.warning);
    page.api_keys = std::move(loaded.keys);
  } else if (!server::http::is_loopback_only(page.listen)) {
    throw Error("train", "--ui " + options.address +
                             ": others can connect there; name a file of API keys by --ui-keys, "
                             "or use 127.0.0.1");
  }
}

TrainPage::~TrainPage() = default;

void TrainPage::open() {
  if (state_->server) return;
  state_->server = std::make_unique<server::PageServer>(state_->page);
  spdlog::info("this training is shown at {}", state_->server->url());
}

std::unique_ptr<training::TrainingLog> TrainPage::make_log(std::uint64_t step) {
  state_->go_back_to(step);
  return std::make_unique<Log>(state_);
}

std::string TrainPage::json() const { return state_->json(); }

}  // namespace tandem::apps
