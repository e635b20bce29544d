-- Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
-- SPDX-License-Identifier: BSL-1.0
--
-- What all kinds of locks do in the same way (docs/protocol.md, "The scripts").
--
-- Redis does not roll back: everything is read and checked before the first write, and the first write of whatever
-- frees or hands over is one that memory pressure does not refuse, or is repeated after one (fence.lua). Messages are
-- sent after the record is written.
--
-- A reply about a lease is one string, which costs a third of an array: <status> <fence> <left> <s> <us>, where left is
-- what remains of the lease in milliseconds and s and us are the server's time; kinds may add a depth.
local function answer(status, fence, left)
  finish()
  send_messages()
  local entries_of_owner = status == 1 and depth and depth() or ''
  return status .. ' ' .. fence .. ' ' .. string.format('%d', left) .. clock .. entries_of_owner
end

-- The first of these entries, and of those behind them, that is of another client or has another ask; nil: there is
-- none. If too many are in front of it, the last one that was looked at stands for it.
local function first_other(client, ask, e, second)
  for _ = 1, 32 do
    if not e or e[5] ~= ask or string.sub(e[1], 1, #client) ~= client then
      return e
    end
    e, second = second or next_waiting(), nil
  end
  return e
end

local mine = fence_of(token)
if what == 'renew' and ARGV[4] and ARGV[4] ~= mine then
  mine = nil
end

-- release TOKEN LEASE [ASK]: another waiter of the same client, with the same ask, would take the hold over. If no
-- other entry waits (of another client, or with another ask), the hold is kept for the client, with the fence of the
-- next holder; the reply is then as for acquire.
-- refresh TOKEN LEASE ASK NOT-AFTER: the same for a cohort that goes on meanwhile; if others wait, nothing changes.
-- status 1: kept, with that fence | 2: others wait (refresh) | -1: too late (refresh)
if mine and ARGV[3] and (what == 'release' or what == 'refresh') then
  if what == 'refresh' and now > tonumber(ARGV[5]) then
    return answer(-1, 0, 0)
  end
  if not (goes_on and not goes_on(ARGV[4])) and
    not first_other(string.match(token, '^[^.]+.'), ARGV[4] or '', waited_for and next_waiting()) then
    local left = lengthen(token, tonumber(ARGV[3]))
    return answer(1, refresh(token), left)
  end
  if what == 'refresh' then
    return answer(2, 0, 0)
  end
  chunk, place, behind, silent = {}, 1, 0, 0
end

-- release TOKEN -> 1: released | 0: held, but not with this token | -1: not held
-- Ends whatever the token has: its hold is handed to the next waiter in the queue, its entry leaves the queue.
-- A repeat finds neither and changes nothing.
--
-- rest TOKEN LEFT: the same, but nothing is granted in the place of the hold for LEFT more milliseconds. A repeat does
-- not find the token any more.
if what == 'release' or what == 'rest' then
  if mine and what == 'rest' and tonumber(ARGV[3]) > 0 then
    rest(token, tonumber(ARGV[3]))
  elseif mine then
    leave(token)
  end
  local others = occupied()
  if waited_for then
    leave_queue(token)
    advance()
  end
  finish()
  send_messages()
  return mine and 1 or others and 0 or -1
end

-- want TOKEN: from now on the token's client is notified when another client waits. It changes neither lease nor fence.
-- status 1: no other client waits | 2: another one waits | 0: it is not this token's
if mine and what == 'want' then
-- include: untagged
  if first_other(string.match(token, '^[^.]+.'), '', waited_for and next_waiting()) then
    return answer(2, 0, 0)
  end
  if mark then
    mark(token, mine)
  end
  return answer(1, mine, left_for(''))
end

-- raise TOKEN FENCE G [EXACT]: on a quorum, where each server has given this grant a fence of its own. The hold's fence
-- becomes FENCE, unless it is larger, and no later grant here has a smaller one than G * 2048 = FENCE. Neither the
-- lease nor the queue changes; a repeat changes nothing. The kinds answer it by themselves. EXACT: the server had lost
-- the hold, or never had it, and has just given it a fence of its own. The hold then keeps FENCE, even if that is
-- smaller.
-- status 1: it is this token's, with the fence that it has now | 0: it is not
--
-- renew TOKEN LEASE, confirm TOKEN LEASE, and acquire again after a lost reply or a lost message: lengthens the lease
-- (0: only asks), never shortens it, never creates a record. A confirmed entry leaves the queue.
-- renew TOKEN LEASE FENCE: the same, if the hold has this fence (of a ticket).
-- status 1: it is this token's | 0: it is not
-- An acquire that was delayed past its not-after only asks.
if mine and what ~= 'refresh' then
  local is_late = what == 'acquire' and now > tonumber(ARGV[4])
  local left = lengthen(token, is_late and 0 or tonumber(ARGV[3]))
  if waited_for and (leave_queue(token) or made_room) then
    advance()
  end
  return answer(1, mine, left)
end

-- acquire TOKEN LEASE NOT-AFTER STAMP [ASK [REPAIR [FOLLOWS]]]
--   lease      in milliseconds
--   not-after  in microseconds of the server's clock
--   stamp      the client's, if it waits in the queue; "" if it does not
--   follows    of readers (shared_mutex.lua)
--   repair     "1": a record that another program made without an expiry gets one lease
-- status 1: granted | 0: busy, left is then when to ask again at the latest (-1: no expiry) | 2: busy, and this token
-- waits in the queue in front | 3: the same further back | -1: too late
-- A repeat with the same token is a confirmation (see below). One that was delayed past its not-after is refused, so
-- that bytes of a closed connection cannot create a lock that no client knows of.
if what == 'acquire' then
  local lease, stamp, ask, repair = ARGV[3], ARGV[5] or '', ARGV[6] or '', ARGV[7] == '1'
  if now > tonumber(ARGV[4]) then
    return answer(-1, 0, 0)
  end
  if foreign_queue then
    finish()
    return redis.error_reply('WRONGTYPE ' .. queue .. ' is that of another kind of lock')
  end
  if reenters and reenters(ask) or not waited_for and admits(ask) then
    if waited_for then
      leave_queue(token)
    end
    return answer(1, enter(token, ask, tonumber(lease)), lease)
  end
  if waited_for then
    redis.call('PEXPIRE', queue, '60000')
    redis.call('PEXPIRE', entries, '60000')
  end
  if stamp ~= '' then
    -- Clients with tagged keys do not see this queue.
-- include: untagged
    local entry = stamp .. ' ' .. lease .. ' ' .. string.format('%d', now + poll_often) ..
      (ask == '' and '' or ' ' .. ask)
    if not redis.call('ZSCORE', queue, token) then
      redis.call('ZADD', queue, redis.call('HINCRBY', entries, '#' .. kind, '1'), token)
    end
    if redis.call('HSET', entries, token, entry, '#ran', ran()) < 2 and not waited_for then
      -- There were entries of a queue that was evicted, or deleted by hand.
      redis.call('DEL', entries)
      redis.call('ZADD', queue, redis.call('HINCRBY', entries, '#' .. kind, '1'), token)
      redis.call('HSET', entries, token, entry, '#ran', ran())
    end
    if not waited_for then
      redis.call('PEXPIRE', queue, '60000')
      redis.call('PEXPIRE', entries, '60000')
    end
  end
  -- The next waiter is granted the lock, not the asker.
  local fence, first, second = advance(token, tonumber(lease))
  if not fence and not first and behind < 256 and admits(ask) then
    leave_queue(token)
    fence = enter(token, ask, tonumber(lease))
  end
  if fence then
    return answer(1, fence, lease)
  end
  local left = left_for(ask)
  if left == -1 and repair then
    redis.call('PEXPIRE', record, lease)
    left = lease
  end
  if stamp == '' then
    return answer(0, 0, left)
  end
  -- The holder's client is notified of the first entry of another client: when it joins, and at each of its polls, in
  -- case a message was lost.
  if listener then
    local front = first_other(string.match(listener, '^[^.]+.'), ask, first, second)
    if front and front[1] == token then
      notify(listener, 'wanted ' .. listener)
    end
  end
  -- An entry polls often if the silent entries in front of it are too many for one call. It also polls often if an
  -- entry in front is late, because that one may be dead.
  local late = math.max(resumed, now - slack - 1)
  if not second or first[1] == token or second[1] == token or math.min(first[4], second[4]) <= late then
    return answer(2, 0, left)
  end
  set_entry({token, stamp, lease, now + poll_rarely, ask})
  return answer(3, 0, left)
end

if waited_for and made_room then
  advance()
end
return answer(made_room and 1 or 0, 0, 0)
