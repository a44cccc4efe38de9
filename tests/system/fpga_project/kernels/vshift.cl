// SPDX-License-Identifier: Apache-2.0
//
// data += amount, a work-item per value.
kernel void vshift(global int* data, int amount) { data[get_global_id(0)] += amount; }
