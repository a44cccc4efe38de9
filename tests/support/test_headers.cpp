// SPDX-License-Identifier: Apache-2.0
//
// The only source of the target that precompiles the headers of tests (tandem_compile_test()).
