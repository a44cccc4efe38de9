// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef FACTOR
#define FACTOR 3
#endif
