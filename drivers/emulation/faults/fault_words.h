// SPDX-License-Identifier: Apache-2.0
//
// The words of fault scripts: events, faults, the keys of each, and functions that parse values.
//
// Pure. The functions throw std::runtime_error about the value, without its position.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "emulation/faults/fault_script.h"

namespace tandem::emulation {

std::optional<FaultEvent> find_event(const std::string& word);
std::optional<FaultKind> find_fault(const std::string& word);
// "open, load and ...", and the faults that may happen at an event.
std::string all_events();
std::string faults_at(FaultEvent event);
bool may_happen(FaultKind kind, FaultEvent event);
bool has_key(FaultKind kind, const std::string& key);
// "for, delay", or "none".
std::string fault_keys(FaultKind kind);
std::string trigger_keys(FaultEvent event);

bool is_number(const std::string& text);
uint64_t read_number(const std::string& text);  // decimal, or hexadecimal with 0x
uint64_t read_count(const std::string& text);   // from 1
uint64_t read_bytes(const std::string& text);   // from 1, with K, M or G
uint32_t read_card(const std::string& text);    // 0 to 15
uint32_t read_bit(const std::string& text);     // 0 to 7
double read_share(const std::string& text);     // above 0, at most 1
FaultTime read_time(const std::string& text);   // with us, ms or s; at most a year
Ecc read_ecc(const std::string& text);
LinkDirection read_direction(const std::string& text);
int read_error(const std::string& text);  // the name of an errno value

std::string time_text(FaultTime time);
const char* ecc_word(Ecc ecc);
const char* direction_word(LinkDirection direction);
const char* error_word(int error);

}  // namespace tandem::emulation
