// SPDX-License-Identifier: Apache-2.0
//
// The shared library has no source of its own: it is the archive of the C functions.
#include "training/c_api/tandem_training.h"
