// SPDX-License-Identifier: Apache-2.0
//
// Where the ports are on one platform.
#pragma once
#define PORT DDR[0]
