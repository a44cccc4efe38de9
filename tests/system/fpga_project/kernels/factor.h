// SPDX-License-Identifier: Apache-2.0
//
// What vscale multiplies by, unless its flags say otherwise.
#pragma once

#ifndef FACTOR
#define FACTOR 3
#endif
