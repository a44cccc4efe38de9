// SPDX-License-Identifier: Apache-2.0
//
// emconfig.json: the cards that an emulated application sees. emconfigutil writes it, the shim
// reads it.
//
// The layout is that of XRT's emulation: Version.FileVersion "2.0" and Platform.Boards[].Devices[]
// with Name and NumDevices. The device's PlatformDescription holds a user's own platform, so the
// file is enough where the platform's JSON is not available. Errors: Error naming the file and the
// field. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bitstreams/xclbin/platform.h"

namespace tandem::xclbin {

// The most cards that a file may request.
constexpr uint32_t kMaxEmulatedCards = 16;

std::string write_emconfig(const Platform& platform, uint32_t num_cards);
// The platform of every card, in order.
std::vector<const Platform*> read_emconfig(const std::string& path);
// `origin` is used in messages only.
std::vector<const Platform*> parse_emconfig(const std::string& text, const std::string& origin);

}  // namespace tandem::xclbin
