// SPDX-License-Identifier: Apache-2.0
//
// The shared library has no other source: it consists of the archive of the C functions.
#include "training/c_api/tandem_training.h"
