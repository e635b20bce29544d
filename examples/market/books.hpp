// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
//
// How much there has to be: the hash market:books has the sum of all money in the field funds, and in items the number
// of items that were ever made. They are numbered from 1.
#pragma once

#include "market/database.hpp"

#include <string>
#include <vector>

namespace market {

// Sellers are the users from 1, and buyers those after them. Each has `funds` and no items. On the market are the items
// 1 to `stock`, of all sellers in turn.
asio::awaitable<void> open_books(database& data, long sellers, long buyers, long funds, long stock);

// Makes the items `first` to `first + number - 1` and gives them to a user.
asio::awaitable<void> make_items(database& data, long user, long first, long number);

// Looks at all money and all items while nobody trades. Returns what is wrong, in words: a sum of money that is not
// that of the books, an item that is in two places or in none. An empty list: all is as it has to be.
asio::awaitable<std::vector<std::string>> check_books(database& data);

// The first of the market's keys that exists, or "".
asio::awaitable<std::string> find_books(database& data);

// Deletes all that belongs to the market.
asio::awaitable<void> remove_books(database& data);

}  // namespace market
