// SPDX-License-Identifier: Apache-2.0
//
// v++: builds kernels and bitstreams for emulated cards with the vendor's command line.
#include "bitstreams/vpp/stages.h"

int main(int argc, char** argv) { return tandem::vpp::run_program({argv + 1, argv + argc}); }
