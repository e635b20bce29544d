// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// Queries to the store that belong to no hold. A query sends its scripts one after the other, and each of them until it
// is answered, for client_options::command_timeout at most.
#pragma once

#include "client/operation.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace leasehold::detail {

// Result: the value that comes with the error_code; void: none.
template <class Result>
class query;
template <class Result>
using operation_of_query =
    std::conditional_t<std::is_void_v<Result>, operation<query<Result>>, operation<query<Result>, Result>>;

template <class Result>
class query : public caller, public operation_of_query<Result> {
  using base = operation_of_query<Result>;

 public:
  using typename base::handler;

  // To be called once. If `bad` is an error it is the outcome, and nothing is sent.
  void start(error_code bad = {}) {
    bad_ = bad;
    this->launch(any_type);
  }

 protected:
  using base::core_;
  using base::end;
  using base::self_;

  // record: the one that the script is about, or one by which it reaches its server (store::routes).
  query(std::shared_ptr<client_handle> handle, std::string_view record, typename handler::handler_type h)
      : base(handle->core, std::move(h)), handle_(std::move(handle)), record_(record) {}
  ~query() = default;

  // An answer that is no error has arrived: ask again, or end the query.
  virtual void take(const outcome&, const answer&) = 0;
  // The script was not answered, or it failed half-way. It may have run or not, and it is sent again.
  virtual void unanswered() {}
  // The server has refused the request. True: the query has dealt with that.
  virtual bool takes_refusal(const outcome&) { return false; }
  // The outcome when the time is over.
  virtual error_code too_late() const { return error::unreachable; }

  const client_options& options() const { return core_->options(); }
  clock::time_point gives_up_at() const { return give_up_at_; }
  client_core& core() const { return *core_; }
  const std::shared_ptr<client_handle>& handle() const { return handle_; }

  const std::string& record() const { return record_; }
  // Sends the request.
  void ask(std::string record) {
    record_ = std::move(record);
    ask();
  }
  void ask() {
    give_up_at_ = later(clock::now(), options().command_timeout);
    core_->set(*this, give_up_at_);
    send();
  }
  // Sends the request again, in the time that is left,
  void ask_again() { send(); }
  // or after a pause.
  void ask_later(const answer& a) {
    core_->set(*this, std::min(later(a.received, std::chrono::milliseconds(50)), give_up_at_));
  }

 private:
  void begin() override {
    if (bad_) return end(bad_);
    if (!core_->open()) return end(error::closed);
    core_->add(*this);
    ask();
  }

  void send() {
    if (!self_ || core_->send(self_, 0)) return;
    if (core_->refused()) return end(error::refused);
    core_->when_up(*this);
  }

  // A script that waits must not run after its user was notified of the end of the query.
  bool wants(std::uint32_t) const override { return self_ != nullptr; }

  void answered(std::uint32_t, const answer& a) override {
    core_->note_answer(a);
    if (!self_) return;
    if (a.from_store == nullptr) {
      unanswered();
      return send();
    }
    const outcome& o = *a.from_store;
    if (!o.refused) {
      core_->note_understood(a);
      return take(o, a);
    }
    switch (*o.refused) {
      case refusal::moving_slot: core_->note_excuse(o.words); [[fallthrough]];
      case refusal::try_again:
      case refusal::no_majority:
        if (o.may_have_written) unanswered();
        return ask_later(a);
      case refusal::wrong_type:
        if (!takes_refusal(o)) end(error::wrong_type);
        return;
      case refusal::no:
        if (takes_refusal(o)) return;
        core_->note_refusal(o.words);
        return end(error::refused);
    }
  }

  void store_is_up() override { send(); }
  void store_refuses(error_code ec) override { end(ec); }

  void ring(clock::time_point now) override {
    if (now >= give_up_at_) {
      const error_code ec = core_->too_few_answer() ? make_error_code(error::no_quorum) : too_late();
      if (ec == error::unreachable) core_->note_silence();
      return end(ec);
    }
    core_->set(*this, give_up_at_);
    send();
  }

  const std::shared_ptr<client_handle> handle_;
  std::string record_;
  error_code bad_;
  clock::time_point give_up_at_{};
};

}  // namespace leasehold::detail
