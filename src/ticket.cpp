// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/ticket.hpp>

#include <leasehold/client.hpp>
#include <leasehold/hold.hpp>

#include "lock/detach.hpp"
#include "lock/resume.hpp"
#include "protocol/ticket_text.hpp"

#include <utility>

namespace leasehold {
namespace {

const detail::ticket_fields& fields_or_none(const std::shared_ptr<const detail::ticket_fields>& fields) noexcept {
  static const detail::ticket_fields none;
  return fields ? *fields : none;
}

}  // namespace

ticket ticket::parse(std::string_view text) {
  auto read = detail::read_ticket(text);
  if (read.wrong != nullptr) throw exception(make_error_code(error::invalid_ticket), {.detail = read.wrong});
  return ticket(std::make_shared<const detail::ticket_fields>(std::move(read.fields)));
}

ticket ticket::parse(std::string_view text, error_code& ec) {
  auto read = detail::read_ticket(text);
  ec = read.wrong == nullptr ? error_code() : make_error_code(error::invalid_ticket);
  return ec ? ticket() : ticket(std::make_shared<const detail::ticket_fields>(std::move(read.fields)));
}

std::string ticket::to_string() const { return fields_ ? detail::ticket_text(*fields_) : std::string(); }

const std::string& ticket::kind() const noexcept { return fields_or_none(fields_).kind_name; }
bool ticket::is_reader() const noexcept { return fields_ && fields_->kind->role == detail::role::reader; }
const std::string& ticket::name() const noexcept { return fields_or_none(fields_).name; }
const std::string& ticket::owner() const noexcept { return fields_or_none(fields_).owner; }
std::uint32_t ticket::limit() const noexcept { return fields_or_none(fields_).limit; }
const std::string& ticket::token() const noexcept { return fields_or_none(fields_).token; }
std::uint64_t ticket::fence() const noexcept { return fields_ ? fields_->fence : 0; }
std::chrono::milliseconds ticket::lease() const noexcept { return fields_or_none(fields_).lease; }

bool ticket::equals(const ticket& other) const noexcept {
  if (!fields_ || !other.fields_) return fields_ == other.fields_;
  const auto& a = *fields_;
  const auto& b = *other.fields_;
  return a.kind == b.kind && a.name == b.name && a.owner == b.owner && a.limit == b.limit && a.token == b.token &&
         a.fence == b.fence && a.recorded == b.recorded && a.lease == b.lease && a.depth == b.depth &&
         a.rest == b.rest && a.rest_from == b.rest_from;
}

namespace detail {

void start_detach(const std::shared_ptr<hold_state>& state,
                  asio::any_completion_handler<void(error_code, ticket)> handler) {
  detach_op::start(state, std::move(handler));
}

void start_resume(const std::shared_ptr<client_handle>& handle,
                  asio::any_completion_handler<void(error_code, hold)> handler, const ticket& detached,
                  resume_options options) {
  resume_op::start(handle, std::move(handler), access::fields(detached), options);
}

}  // namespace detail
}  // namespace leasehold
