-- What a kind with several holds knows of its record (members.lua).
local exists, latest, members, soonest, about = false, '0', 0, 0, ''
local changed = false
local shares_fence, about_for, count
