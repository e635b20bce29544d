-- What a kind with several holds knows of its record (members.lua).
local exists, latest, members, soonest, about = false, '0', 0, 0, ''
local changed = false
local shares_fence, about_for, count

-- Where it is told that the lock is free, for programs that do not stand in line; nil: nowhere.
local unlock_channel
