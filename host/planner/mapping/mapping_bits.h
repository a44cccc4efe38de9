// SPDX-License-Identifier: Apache-2.0
//
// MappingBits: the bits of a QUBO that describe a mapping, and the energy of exchanges of places.
//
// The field of a bit is the energy that setting the bit adds. All fields are stored, so the energy
// of an exchange costs O(1) and the exchange itself O(bits). Threads: one. Ownership: borrows the
// QUBO.
#pragma once

#include <vector>

#include "planner/mapping/qubo.h"

namespace tandem::planner {

class MappingBits {
 public:
  MappingBits(const Qubo& qubo, Permutation places)
      : qubo_(&qubo),
        n_(static_cast<int>(places.size())),
        places_(std::move(places)),
        energy_(qubo.energy(bits_of(places_))),
        fields_(qubo.linear) {
    for (int task = 0; task < n_; ++task) add_row(bit(task, place_of(task)), 1);
  }

  int num_tasks() const { return n_; }
  const Permutation& places() const { return places_; }
  double energy() const { return energy_; }
  int place_of(int task) const { return places_[static_cast<std::size_t>(task)]; }

  double delta(int task, int other) const {
    const int p = place_of(task), q = place_of(other);
    const int a = bit(task, p), b = bit(other, q), c = bit(task, q), d = bit(other, p);
    return field(c) + field(d) - field(a) - field(b) + coupling(a, b) + coupling(c, d) -
           coupling(c, a) - coupling(c, b) - coupling(d, a) - coupling(d, b);
  }

  void swap(int task, int other) {
    energy_ += delta(task, other);
    const int p = place_of(task), q = place_of(other);
    add_row(bit(task, p), -1);
    add_row(bit(other, q), -1);
    add_row(bit(task, q), 1);
    add_row(bit(other, p), 1);
    std::swap(places_[static_cast<std::size_t>(task)], places_[static_cast<std::size_t>(other)]);
  }

 private:
  int bit(int task, int place) const { return task * n_ + place; }
  double field(int bit) const { return fields_[static_cast<std::size_t>(bit)]; }
  double coupling(int bit, int other) const { return qubo_->coupling(bit, other); }
  void add_row(int bit, double sign) {
    const double* row = qubo_->row(bit);
    for (std::size_t i = 0; i < fields_.size(); ++i) fields_[i] += sign * row[i];
  }

  const Qubo* qubo_;
  int n_;
  Permutation places_;
  double energy_;
  std::vector<double> fields_;  // [num_bits]
};

}  // namespace tandem::planner
