// SPDX-License-Identifier: Apache-2.0
// The target of the tests' precompiled headers needs a source.
