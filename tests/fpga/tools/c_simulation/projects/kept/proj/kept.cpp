// SPDX-License-Identifier: Apache-2.0
//
// The function of a project whose folder has its sources.
int kept(int value) { return FACTOR * value; }
