-- Hand-off (docs/protocol.md, "Hand-off"): the script that finds the lock free names the next holder.

-- Makes the first living entry the holder, with a fence and a short lease that its confirmation lengthens, and tells its
-- client. The entry stays in the line until it is confirmed; the one behind it watches. The record is free or the
-- caller's own, and the caller has written something that memory pressure does not refuse, so that nothing here is.
-- take(token, fence, lease) writes the record. Returns whether there was somebody.
local function hand_off(fences, line, entries, now, take)
  local front = first_living(line, entries, now)
  local next = front[1]
  if not next then
    return false
  end
  local fence = next_fence(fences, now)
  local lease = math.min(tonumber(next[3]), 2000)
  take(next[1], fence, lease)
  -- If it is dead, it is silent before its lease has ended, and not granted again.
  if next[4] > now + look_often then
    set_entry(entries, next[1], next[2], next[3], now + look_often)
  end
  watch(fences, entries, front[2], now)
  tell(fences, next[1], 'granted ' .. next[1] .. ' ' .. fence .. ' ' .. next[2] .. ' ' .. lease)
  return true
end
