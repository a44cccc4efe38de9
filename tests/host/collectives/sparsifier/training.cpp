// SPDX-License-Identifier: Apache-2.0
//
// Every rank is a thread with a group of its own.
#include "host/collectives/sparsifier/training.h"

#include <cmath>
#include <random>

#include "host/collectives/api/groups.h"

namespace tandem::collectives::test {

Gradient training_gradient(std::uint64_t num_values, int rank, std::uint64_t step) {
  std::mt19937_64 random(1000 * step + static_cast<std::uint64_t>(rank));
  std::uniform_real_distribution<double> uniform(1e-6, 1);
  Gradient gradient(num_values);
  for (std::uint64_t i = 0; i < num_values; ++i) {
    const double scale = 0.25 * static_cast<double>(1 + 8 * i / num_values);
    const double magnitude = std::min(32.0, -scale * std::log(uniform(random)));
    const double sign = random() % 2 == 0 ? 1 : -1;
    gradient[i] = static_cast<float>(sign * std::round(magnitude * 256) / 256);
  }
  return gradient;
}

GradientOf training_gradients(std::uint64_t num_values) {
  return [num_values](int rank, std::uint64_t step) {
    return training_gradient(num_values, rank, step);
  };
}

GradientOf drifting_gradients(std::uint64_t num_values) {
  const Gradient table = training_gradient(1 << 17, 0, 0);
  return [=](int rank, std::uint64_t step) {
    Gradient gradient(num_values);
    const std::size_t first = (step * 7919 + static_cast<std::size_t>(rank) * 104'729);
    const float scale = step % 120 < 60 ? 1.0f : 0.5f;
    for (std::size_t i = 0; i < num_values; ++i) {
      gradient[i] = scale * table[(first + i) % table.size()];
    }
    return gradient;
  };
}

SparsifierOptions plain_options(double density) {
  SparsifierOptions options;
  options.density = density;
  options.momentum = 0;
  options.hard_threshold = 4;
  options.reduce.scheme = "allgather_sparse";
  return options;
}

Training training_of(const std::string& name, double density) {
  Training training;
  training.name = name;
  training.options = plain_options(density);
  return training;
}

std::unique_ptr<Sparsifier> make(const Training& training) {
  if (!training.residence.make) {
    return make_sparsifier(training.name, training.num_values, training.options);
  }
  return make_sparsifier(
      training.name, training.residence.make(selection_shape(training.name, training.num_values)),
      training.options);
}

std::vector<RankHistory> resume(const Training& training,
                                const std::vector<SparsifierState>& states) {
  std::vector<RankHistory> histories(static_cast<std::size_t>(training.world));
  const GradientOf gradient =
      training.gradient ? training.gradient : training_gradients(training.num_values);
  const auto outcomes = run_groups(training.world, [&](Group& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    RankHistory& history = histories[rank];
    const auto sparsifier = make(training);
    if (!states.empty()) sparsifier->restore(states[rank]);
    try {
      for (std::uint64_t i = 0; i < training.steps; ++i) {
        const std::uint64_t step = sparsifier->num_steps();
        history.steps.push_back(sparsifier->step(group, gradient(group.rank(), step)));
        if (training.apply) training.apply(group.rank(), history.steps.back());
        if (!training.keep_residuals) continue;
        const auto residual = sparsifier->state().tensors["residual"];
        history.residuals.emplace_back(residual.begin(), residual.end());
      }
    } catch (const Error& error) {
      history.error = error.what();
    }
    history.state = sparsifier->state();
    const auto& residual = history.state.tensors["residual"];
    history.residual.assign(residual.begin(), residual.end());
  });
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (outcomes[rank].outcome != Outcome::kDone) histories[rank].error = outcomes[rank].text;
  }
  return histories;
}

std::vector<RankHistory> train(const Training& training) { return resume(training, {}); }

double mean_density(const std::vector<StepResult>& steps, std::size_t first) {
  double sum = 0;
  for (std::size_t step = first; step < steps.size(); ++step) {
    sum += static_cast<double>(steps[step].mean.num_entries);
  }
  return sum / static_cast<double>(steps.size() - first) /
         static_cast<double>(steps.front().mean.num_units);
}

std::vector<std::uint32_t> indices_of(const SparseTensor& tensor) {
  const auto indices = tensor.indices_as<std::uint32_t>();
  return {indices.begin(), indices.end()};
}

std::vector<float> values_of(const SparseTensor& tensor) {
  const auto values = tensor.values_as<float>();
  return {values.begin(), values.end()};
}

}  // namespace tandem::collectives::test
