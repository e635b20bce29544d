// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// What the errors of servers mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace leasehold::detail {

// For an operation.
enum class refusal : std::uint8_t {
  try_again,    // The server cannot answer now.
  moving_slot,  // The same: the slot is being moved, and the server may have some of the keys only (TRYAGAIN).
  no_majority,  // The same, of a quorum: too few of its servers have answered.
  wrong_type,   // The record is another program's.
  no,           // The server does not allow it.
};
refusal classify(std::string_view words) noexcept;
constexpr bool is_temporary(refusal r) { return r < refusal::wrong_type; }

// The script may have failed halfway. Redis says so behind the words of the error, before version 7 in front of them.
bool may_have_written(std::string_view error) noexcept;
// The server is a replica.
bool is_read_only(std::string_view words) noexcept;
// The server cannot write its snapshot, and changes nothing (MISCONF). It refuses a PING, too.
bool is_unsaved(std::string_view words) noexcept;
// A state of the server that ends, or another server takes its place: it cannot save (MISCONF), has too few replicas
// (NOREPLICAS), or is one (READONLY).
bool may_pass(std::string_view words) noexcept;
// The server refuses a channel for good, by a missing right or command.
bool is_lasting(std::string_view words) noexcept;
// The server does not know the script by its digest.
bool is_unknown_script(std::string_view words) noexcept;
// The server does not accept the password, or wants one.
bool is_about_password(std::string_view words) noexcept;
// What is missing, and what to do, if the words say that the server (or a proxy in front of it) lacks a command that
// leasehold needs; else the words. command: the one that was refused, if that is known.
std::string why_it_cannot_serve(std::string_view words, std::string_view command = {});
// The same for a server that takes HELLO 3 for something else.
std::string why_no_resp3();
// Another node of the cluster has the slot (MOVED), or is about to have it (ASK).
bool is_moved(std::string_view words) noexcept;
bool is_redirection(std::string_view words) noexcept;
// The server takes the keys of one slot only (CROSSSLOT).
bool is_cross_slot(std::string_view words) noexcept;
// The same, or other clients of this server have tagged keys (lua/shared/fence.lua).
bool wants_tagged_keys(std::string_view words) noexcept;

}  // namespace leasehold::detail
