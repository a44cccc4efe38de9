// SPDX-License-Identifier: Apache-2.0
//
// Converts one layer of a page between this backend's layout (see kernels/attention.cl) and that of
// AttentionUnit::export_page.
//
// `image` is the whole image of the page; `page` the bytes of one layer, page_layout().page_bytes.
// Padding written to a page is zero. Cost: one pass over the bytes. Threads: any.
#pragma once

#include <cstddef>
#include <span>

#include "device/attention_unit.h"
#include "opencl/attention_program.h"

namespace tandem::opencl {

void image_from_page(const device::AttentionGeometry& geometry, const PageLayout& layout, int layer,
                     std::span<const std::byte> page, std::span<std::byte> image);

void page_from_image(const device::AttentionGeometry& geometry, const PageLayout& layout, int layer,
                     std::span<const std::byte> image, std::span<std::byte> page);

}  // namespace tandem::opencl
