// SPDX-License-Identifier: Apache-2.0
//
// Correction: the factor between measured and predicted times of recent steps.
//
// The factor is an average over about eight measurements. A short measurement that differs by more
// than a factor of 4 may be an accident of the machine, so it is ignored. A long one, or a second
// one in the same direction, replaces the factor at once. Threads: plain data. Errors: none.
#pragma once

namespace tandem::engine {

class Correction {
 public:
  double factor() const { return factor_; }
  // Returns the factor by which predictions should change after this measurement. Does not apply
  // it, but remembers an accident.
  double change_of(double predicted_s, double measured_s);
  // Multiplies the factor by change_of(). `predicted_s` already includes the factor. Times that are
  // not above 0 change nothing.
  void learn(double predicted_s, double measured_s);
  // Moves the factor half of the way back to 1.
  void relax();

 private:
  double factor_ = 1;
  int direction_ = 0;  // of the last measurement that was ignored as an accident
};

}  // namespace tandem::engine
