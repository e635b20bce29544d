// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
//
// The differences between the kinds of locks, as far as they are not in the scripts.
#include "lock/lock_state.hpp"

#include <leasehold/counting_semaphore.hpp>
#include <leasehold/mutex.hpp>
#include <leasehold/recursive_mutex.hpp>
#include <leasehold/shared_mutex.hpp>

namespace leasehold::detail {
namespace {

// Fields of the record with such names are not owners (lua/shared/members.lua).
error_code check_owner(std::string_view owner) {
  const bool ours = owner == "leasehold" || owner.starts_with("leasehold:");
  return owner.size() <= 65536 && !ours ? error_code() : make_error_code(error::invalid_name);
}

}  // namespace

std::shared_ptr<lock_state> make_mutex(const std::shared_ptr<client_handle>& handle, std::string name) {
  return std::make_shared<lock_state>(handle, std::move(name), kinds::mutex);
}

std::shared_ptr<lock_state> make_recursive_mutex(const std::shared_ptr<client_handle>& handle, std::string name,
                                                 std::string owner) {
  const error_code bad = owner.empty() ? make_error_code(error::invalid_name) : check_owner(owner);
  return std::make_shared<lock_state>(handle, std::move(name), kinds::recursive_mutex, owner, 0, bad);
}

std::shared_ptr<lock_state> make_writer(const std::shared_ptr<client_handle>& handle, std::string name,
                                        const std::string& owner) {
  return std::make_shared<lock_state>(handle, std::move(name), kinds::writer, owner, 0, check_owner(owner));
}

std::shared_ptr<lock_state> make_reader(const std::shared_ptr<client_handle>& handle, std::string name,
                                        const std::string& owner) {
  return std::make_shared<lock_state>(handle, std::move(name), kinds::reader, owner, 0, check_owner(owner));
}

std::shared_ptr<lock_state> make_semaphore(const std::shared_ptr<client_handle>& handle, std::string name,
                                           std::uint32_t limit) {
  // Each server of a quorum counts by itself, so the servers would not notice two holders of one permit.
  const error_code bad = limit == 0                  ? make_error_code(error::invalid_option)
                         : handle->core->is_quorum() ? make_error_code(error::not_supported)
                                                     : error_code();
  return std::make_shared<lock_state>(handle, std::move(name), kinds::counting_semaphore, std::string(), limit, bad);
}

}  // namespace leasehold::detail
