// SPDX-License-Identifier: Apache-2.0
//
// Correction: measured over predicted, lately.
//
// It moves over some eight measurements. A short one that is wrong by more than 4 may be an
// accident of the machine; a long one, and a second one in the same direction, is believed at once.
// Threads: values. Errors: none.
#pragma once

namespace tandem::engine {

class Correction {
 public:
  double factor() const { return factor_; }
  // By how much a prediction must change after this measurement; the factor stays.
  double change_of(double predicted_s, double measured_s);
  // The factor changes by that. `predicted_s` has the factor in it. Times that are not above 0
  // change nothing.
  void learn(double predicted_s, double measured_s);
  // Half of the way back to 1.
  void relax();

 private:
  double factor_ = 1;
  int direction_ = 0;  // of the last measurement that was believed to be an accident
};

}  // namespace tandem::engine
