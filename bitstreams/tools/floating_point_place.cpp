// SPDX-License-Identifier: Apache-2.0
//
// A library that stands where build scripts look for the vendor's model of its floating-point
// operators, and for the GMP and MPFR beside it.
//
// Programs name it on their link line and call nothing of it: half and hls:: functions are in the
// headers. So it has one number, which says that no model is here.

extern "C" __attribute__((visibility("default"))) const int tandem_floating_point_models = 0;
