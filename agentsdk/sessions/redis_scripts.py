"""The scripts of a session in Redis, each done whole or not at all.

A session is a list of items, a hash of what else is known of it, and a list of the items that compactions have replaced. Sorted
sets hold the ids of sessions by when they changed last: one all of them, one for each user that user's.
"""

from __future__ import annotations

from agentsdk.databases.redis import Script

LATEST = Script("return redis.call('LRANGE', KEYS[1], ARGV[1], -1)")

# KEYS of a session's scripts: the items, the hash, the archive, the ids of all sessions, and what the key of a user's ids
# begins with. ARGV 1 to 3: the id, and the user and the metadata that it begins with. Of the items the first `compacted` stand
# for those in the archive.
_BEGIN = """
local items, info, archive, all, of_user, id = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1]
local length, known = redis.call('LLEN', items), redis.call('ZSCORE', all, id)
local kept = redis.call('HGET', info, 'user') or ''
local user = kept == '' and ARGV[2] or kept
local compacted = tonumber(redis.call('HGET', info, 'compacted') or 0)
redis.call('ZCARD', of_user .. user)
local time = redis.call('TIME')
local now = string.format('%s.%06d', time[1], time[2])

local function begin(changed_at)
  if user ~= kept then redis.call('HSET', info, 'user', user) end
  if not known and length == 0 then
    redis.call('HSET', info, 'metadata', ARGV[3], 'created_at', now)
    known = now
  end
  known = changed_at or known or '0'
  redis.call('ZADD', all, known, id)
  if user ~= '' then redis.call('ZADD', of_user .. user, known, id) end
end
"""

# ARGV[4] says how many of the next but one are expected at the end of the list, ARGV[5] how many of those go; the others take
# their place.
REPLACE = Script(
    _BEGIN
    + """
local count, gone = tonumber(ARGV[4]), tonumber(ARGV[5])
if count > 0 then
  local latest = redis.call('LRANGE', items, -count, -1)
  for at = 1, count do
    if latest[at] ~= ARGV[5 + at] then return 0 end
  end
end
if gone > 0 then
  redis.call('LTRIM', items, 0, -gone - 1)
  if compacted > length - gone then redis.call('HSET', info, 'compacted', length - gone) end
end
for first = count + 6, #ARGV, 1000 do
  redis.call('RPUSH', items, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
begin(now)
return 1
"""
)

# ARGV[4] says how many of the next are expected at the beginning of the list; the others take their place.
COMPACT = Script(
    _BEGIN
    + """
local count = tonumber(ARGV[4])
local first = redis.call('LRANGE', items, 0, count - 1)
for at = 1, count do
  if first[at] ~= ARGV[4 + at] then return 0 end
end
redis.call('LLEN', archive)
for at = compacted + 1, count, 1000 do
  redis.call('RPUSH', archive, unpack(first, at, math.min(at + 999, count)))
end
redis.call('LTRIM', items, count, -1)
for at = #ARGV, count + 5, -1 do redis.call('LPUSH', items, ARGV[at]) end
redis.call('HSET', info, 'compacted', #ARGV - count - 4 + math.max(0, compacted - count))
begin()
return 1
"""
)

FIRST = Script("return redis.call('LRANGE', KEYS[1], 0, ARGV[1])")

ORIGINALS = Script(_BEGIN + "return {redis.call('LRANGE', archive, 0, -1), redis.call('LRANGE', items, compacted, -1)}")

# ARGV 4 and 5: the new user and metadata, `''` where they stay.
UPDATE = Script(
    _BEGIN
    + """
redis.call('ZCARD', of_user .. ARGV[4])
begin()
if ARGV[4] ~= '' and ARGV[4] ~= user then
  redis.call('HSET', info, 'user', ARGV[4])
  redis.call('ZREM', of_user .. user, id)
  redis.call('ZADD', of_user .. ARGV[4], known, id)
end
if ARGV[5] ~= '' then redis.call('HSET', info, 'metadata', ARGV[5]) end
"""
)

# KEYS 6 and 7: the new items and hash. ARGV 4 and 5: the new id, and the last position to copy.
BRANCH = Script(
    _BEGIN
    + """
local copy, branch, last = KEYS[6], ARGV[4], tonumber(ARGV[5])
if redis.call('EXISTS', copy, KEYS[7]) > 0 or redis.call('ZSCORE', all, branch) then return 0 end
local metadata = redis.call('HGET', info, 'metadata') or ARGV[3]
redis.call('HSET', KEYS[7], 'user', user, 'metadata', metadata, 'created_at', now, 'branched_from', id)
redis.call('ZADD', all, now, branch)
if user ~= '' then redis.call('ZADD', of_user .. user, now, branch) end
for first = 0, math.min(last, length - 1), 1000 do
  redis.call('RPUSH', copy, unpack(redis.call('LRANGE', items, first, math.min(first + 999, last))))
end
return 1
"""
)

CLEAR = Script(
    _BEGIN
    + """
redis.call('UNLINK', items, info, archive)
redis.call('ZREM', all, id)
redis.call('ZREM', of_user .. user, id)
"""
)

SUMMARY = Script(
    _BEGIN
    + """
if not known and length == 0 then return false end
return {id, known or '0', length, redis.call('HMGET', info, 'user', 'metadata', 'created_at', 'branched_from')}
"""
)

# A page of the ids in KEYS[1], behind the one of ARGV 2 and 3 (when it changed, and its id), or from the latest on. KEYS 2 and
# 3: what the keys of hashes and of items begin with.
LIST = Script(
    """
local ids, size, score, last = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]

local function is_before(one, other)
  for at = 1, math.min(#one, #other) do
    local a, b = string.byte(one, at), string.byte(other, at)
    if a ~= b then return a < b end
  end
  return #one < #other
end

local start = 0
if score then
  local now = redis.call('ZSCORE', ids, last)
  if now and tonumber(now) == tonumber(score) then
    start = redis.call('ZREVRANK', ids, last) + 1
  else
    start = redis.call('ZCOUNT', ids, '(' .. score, '+inf')
    while true do
      local one = redis.call('ZREVRANGE', ids, start, start, 'WITHSCORES')
      if not one[1] or tonumber(one[2]) ~= tonumber(score) or is_before(one[1], last) then break end
      start = start + 1
    end
  end
end
local page, found = redis.call('ZREVRANGE', ids, start, start + size - 1, 'WITHSCORES'), {}
for one = 1, #page, 2 do
  local info = redis.call('HMGET', KEYS[2] .. page[one], 'user', 'metadata', 'created_at', 'branched_from')
  found[#found + 1] = {page[one], page[one + 1], redis.call('LLEN', KEYS[3] .. page[one]), info}
end
return found
"""
)

# The sessions that versions without such a list have left: some keys at a time, until the cursor is 0 again.
ADOPT = Script(
    """
if ARGV[1] == '0' and redis.call('EXISTS', KEYS[2]) == 1 then return '0' end
local page = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', 1000)
for _, key in ipairs(page[2]) do redis.call('ZADD', KEYS[1], 'NX', 0, string.sub(key, #KEYS[3] + 1)) end
if page[1] == '0' then redis.call('SET', KEYS[2], '1') end
return page[1]
"""
)
