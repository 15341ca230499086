"""The Lua scripts of `RedisRunStore`: what one call does in the server, with nothing in between.

A store is a hash of summaries as they were appended, one of how many signals were posted, and for each run a list of events and
one of signals. How a run stands with its signals (`RunSummary.beside`) is worked out whenever it is read. The other keys are
sorted sets to find runs by, which `put` alone writes:

- for each status, run ids by when they began, and for those in work by when their lease passes;
- `due`, in the order in which workers take: priority, first agent, `due_at`, run id;
- `metadata`, for queries by metadata: name, value, status, when the run began, run id.

The last two have one score for all and are in the order of their bytes; `sortable` writes a number so that its bytes are in
the order of numbers. Numbers of a summary go from JSON to a score or to bytes without loss, as doubles.

Programs of earlier versions may work on the same runs. They keep what has stopped in `stopped` (they did not tell what can go
on from what has failed), leases in `held` or nowhere, and nothing else of this. `settled` sees what they have left there,
`ADOPT` puts it where it belongs, and where they took a run elsewhere, its old entry is passed over. A run that they began may
not be found due or abandoned before the lease of another has passed that they ended; one that they leave waiting with signals,
which they do not know, not ready before the next signal.

Longer than most modules, as it is a list: each script is read by itself, after the lines that all begin with.
"""

from __future__ import annotations

from agentsdk.databases.redis import Script
from agentsdk.stores.waiters import DUE, REVISION, SIGNALS

HEAD = ("version", "runs", "signals")
"""The keys of every script, in order. Those that follow are 4 and on."""

INDEXES = ("running", "waiting", "ready", "finished", "failed", "cancelled", "stopped", "held", "leases", "due", "metadata")
"""The keys of scripts that find runs or write, in order. Those that follow are 15 and on."""

_HEAD = """
local version = redis.call('GET', KEYS[1])
if version and version ~= '1' then return redis.error_reply('NEWERVERSION') end
local runs, signals = KEYS[2], KEYS[3]
redis.call('HLEN', runs)
redis.call('HLEN', signals)

local function posted(run)
  return tonumber(redis.call('HGET', signals, run) or 0)
end
"""

# `standing`: a summary as it is with the signals posted; of what an earlier version wrote, as it would be written today.
# `put`: has a run found as `now` says, and no more as `was` said.
_INDEXES = (
    _HEAD
    + """
for at = 4, 14 do redis.call('ZCARD', KEYS[at]) end
local of_status = {
  running = KEYS[4], waiting = KEYS[5], ready = KEYS[6], finished = KEYS[7], failed = KEYS[8], cancelled = KEYS[9],
}
local stopped, held, leases, due, metadata = KEYS[10], KEYS[11], KEYS[12], KEYS[13], KEYS[14]
local NOWHERE = {earlier = true, due_at = 0, metadata = {}}

local function standing(text, count)
  local one = cjson.decode(text)
  if not one.due_at then
    if one.status == 'stopped' then
      one.status = (one.reason == '' or one.reason == 'CancelledError') and 'ready' or 'failed'
    end
    one.due_at = one.status == 'running' and one.held_until or one.status == 'ready' and one.updated_at or 0
    one.earlier, one.priority, one.taken, one.metadata, one.first_agent = true, 0, 0, {}, one.first_agent or ''
  end
  if count > one.taken and (one.status == 'waiting' or one.status == 'failed') then
    one.status, one.due_at = 'ready', one.updated_at
  end
  return one
end

local function sortable(number)
  local bytes = struct.pack('>d', number + 0)
  if number < 0 then
    return (string.gsub(bytes, '.', function(byte) return string.char(255 - string.byte(byte)) end))
  end
  return string.char(string.byte(bytes) + 128) .. string.sub(bytes, 2)
end

local function sized(text)
  return struct.pack('>I4', #text) .. text
end

local function due_entry(run, one)
  return one.due_at > 0 and sortable(-one.priority) .. sized(one.first_agent) .. sortable(one.due_at) .. run
end

local function metadata_entries(run, one)
  local found = {}
  for name, value in pairs(one.metadata) do
    found[sized(name) .. sized(value) .. sized(one.status) .. sortable(one.started_at) .. run] = true
  end
  return found
end

local function put(run, was, now)
  if was.earlier or was.status ~= now.status or was.started_at ~= now.started_at then
    for status, key in pairs(of_status) do
      if status == now.status then redis.call('ZADD', key, now.started_at, run) else redis.call('ZREM', key, run) end
    end
    redis.call('ZREM', stopped, run)
    redis.call('ZREM', held, run)
  end
  if now.status == 'running' then redis.call('ZADD', leases, now.held_until, run) else redis.call('ZREM', leases, run) end
  local old, new = due_entry(run, was), due_entry(run, now)
  if old and old ~= new then redis.call('ZREM', due, old) end
  if new and (was.earlier or old ~= new) then redis.call('ZADD', due, 0, new) end
  if next(was.metadata) or next(now.metadata) then
    local before, after = metadata_entries(run, was), metadata_entries(run, now)
    for entry in pairs(before) do
      if not after[entry] then redis.call('ZREM', metadata, entry) end
    end
    for entry in pairs(after) do
      if not before[entry] then redis.call('ZADD', metadata, 0, entry) end
    end
  end
end

"""
)

# `settled`: whether all is found as this version finds it. `adopt` sees to that for one run. `rows`: for each run its summary
# and how many signals were posted, one after the other; false for what is not there.
_QUERY = (
    _INDEXES
    + """
local function adopt(run)
  local text = redis.call('HGET', runs, run)
  put(run, NOWHERE, text and standing(text, posted(run)) or NOWHERE)
end

local function settled()
  return redis.call('ZCARD', stopped) == 0 and redis.call('ZCARD', held) == 0
    and redis.call('ZCARD', leases) == redis.call('ZCARD', of_status.running)
end

local function rows(found)
  local answer = {}
  for first = 1, #found, 1000 do
    local last = math.min(first + 999, #found)
    local summaries = redis.call('HMGET', runs, unpack(found, first, last))
    local counts = redis.call('HMGET', signals, unpack(found, first, last))
    for at, text in ipairs(summaries) do
      answer[#answer + 1] = text
      answer[#answer + 1] = counts[at]
    end
  end
  return answer
end
"""
)

# The work is done when a script publishes: a user who may not must not be told that it has failed.
_PUBLISH = f"""
local REVISION, SIGNALS, DUE = '{REVISION}', '{SIGNALS}', '{DUE}'

local function publish(channel, message)
  redis.pcall('PUBLISH', channel, message)
end
"""

APPEND = Script(
    _INDEXES
    + _PUBLISH
    + """
local log, mailbox = KEYS[15], KEYS[16]
local run, expected, text, channel = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local stored, length, count = redis.call('HGET', runs, run), redis.call('LLEN', log), posted(run)
local was = stored and standing(stored, count) or nil
local rev = was and was.rev or 0
if not was then count = 0 end
local now = standing(text, count)
if rev ~= expected or rev ~= length or (was and was.owner ~= now.owner and was.held_until > now.updated_at) then
  return {stored, length}
end
redis.call('SETNX', KEYS[1], '1')
if not was then
  redis.call('UNLINK', mailbox)
  redis.call('HDEL', signals, run)
end
redis.call('HSET', runs, run, text)
put(run, was or NOWHERE, now)
for first = 5, #ARGV, 1000 do
  redis.call('RPUSH', log, unpack(ARGV, first, math.min(first + 999, #ARGV)))
end
if #ARGV > 4 then publish(channel, rev + #ARGV - 4 .. ' ' .. REVISION .. run) end
if now.status == 'ready' then publish(channel, DUE) end
return count
"""
)

POST = Script(
    _INDEXES
    + _PUBLISH
    + """
local mailbox, run, signal, channel = KEYS[15], ARGV[1], ARGV[2], ARGV[3]
local stored, length, count = redis.call('HGET', runs, run), redis.call('LLEN', mailbox), posted(run)
if not stored then return false end
local was, now = standing(stored, count), standing(stored, count + 1)
if was.status == 'finished' or was.status == 'cancelled' or length ~= count then return {stored, length, count} end
redis.call('RPUSH', mailbox, signal)
redis.call('HINCRBY', signals, run, 1)
if was.earlier or was.status ~= now.status then put(run, was, now) end
publish(channel, count + 1 .. ' ' .. SIGNALS .. run)
if now.status == 'ready' then publish(channel, DUE) end
return count + 1
"""
)

READ = Script(
    _HEAD
    + """
local stored = redis.call('HGET', runs, ARGV[1])
return stored and {stored, redis.call('LRANGE', KEYS[4], ARGV[2], -1)}
"""
)

READ_SIGNALS = Script(
    _HEAD
    + """
return redis.call('HEXISTS', runs, ARGV[1]) == 1 and {posted(ARGV[1]), redis.call('LRANGE', KEYS[4], ARGV[2], -1)}
"""
)

SUMMARY = Script(_HEAD + "return {redis.call('HGET', runs, ARGV[1]), redis.call('HGET', signals, ARGV[1])}")

ADOPT = Script(
    _QUERY
    + """
for _, key in ipairs({stopped, held}) do
  for _, run in ipairs(redis.call('ZRANGE', key, 0, 999)) do adopt(run) end
end
if redis.call('ZCARD', leases) ~= redis.call('ZCARD', of_status.running) then
  for _, run in ipairs(redis.call('ZRANGE', leases, 0, -1)) do
    if not redis.call('ZSCORE', of_status.running, run) then adopt(run) end
  end
  for _, run in ipairs(redis.call('ZRANGE', of_status.running, 0, -1)) do
    if not redis.call('ZSCORE', leases, run) then adopt(run) end
  end
end
return settled() and 1 or 0
"""
)

# From each status its first runs, and all that began at the same time as the last of those. Those of one status that began
# before the last of another are not all there yet: `floor` is where the answer is complete down to.
LIST = Script(
    _QUERY
    + """
local top, bottom, size = ARGV[1], ARGV[2], tonumber(ARGV[3])
local floor, found = false, {}
for at = 4, #ARGV do
  local key = of_status[ARGV[at]]
  local page = redis.call('ZREVRANGEBYSCORE', key, top, bottom, 'WITHSCORES', 'LIMIT', 0, size)
  if #page == 2 * size then
    local last = page[#page]
    page = redis.call('ZREVRANGEBYSCORE', key, top, last, 'WITHSCORES')
    if not floor or tonumber(last) > tonumber(floor) then floor = last end
  end
  for one = 1, #page, 2 do found[#found + 1] = page[one] end
end
return settled() and {floor, rows(found)}
"""
)

# The same for the runs in work whose lease has passed.
ABANDONED = Script(
    _QUERY
    + """
local top, bottom, size, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local is_open = string.sub(top, 1, 1) == '('
local high, low = tonumber(is_open and string.sub(top, 2) or top) or math.huge, tonumber(bottom) or -math.huge
local passed = {}
for _, run in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', now)) do
  local text = redis.call('ZSCORE', of_status.running, run)
  local started = tonumber(text)
  if not text then
    adopt(run)
  elseif started >= low and (started < high or (started == high and not is_open)) then
    passed[#passed + 1] = {run = run, started = started, text = text}
  end
end
table.sort(passed, function(one, other) return one.started > other.started end)
local floor, found = false, {}
for place, one in ipairs(passed) do
  if place > size and one.started < passed[size].started then
    floor = passed[size].text
    break
  end
  found[place] = one.run
end
return settled() and {floor, rows(found)}
"""
)

# Of the pair of name and value that the fewest runs have, the first entries of each status below `top`: what follows the status
# in an entry, so that those of all statuses can be put in one order, and the run.
BY_METADATA = Script(
    _QUERY
    + """
local top, before, run, after, size, statuses = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
if top == '' then top = before == '' and '\\255\\255' or sortable(tonumber(before)) .. run end
local bottom = after == '' and '' or sortable(tonumber(after))
local fewest, ranges
for at = 7 + statuses, #ARGV, 2 do
  local count, found = 0, {}
  for status = 7, 6 + statuses do
    local start = sized(ARGV[at]) .. sized(ARGV[at + 1]) .. sized(ARGV[status])
    found[#found + 1] = start
    count = count + redis.call('ZLEXCOUNT', metadata, '[' .. start .. bottom, '(' .. start .. top)
  end
  if not fewest or count < fewest then fewest, ranges = count, found end
end
local pages = {}
for _, start in ipairs(ranges) do
  local page = redis.call('ZREVRANGEBYLEX', metadata, '(' .. start .. top, '[' .. start .. bottom, 'LIMIT', 0, size)
  local places, found = {}, {}
  for at, entry in ipairs(page) do
    places[at] = string.sub(entry, #start + 1)
    found[at] = string.sub(places[at], 9)
  end
  pages[#pages + 1] = {places, rows(found)}
end
return settled() and pages
"""
)

# Goes from one priority to the next, and in each from one agent's queue to the next, until there are enough. Those of one
# priority that came due at the same time as the last one are all in the answer.
FIND_DUE = Script(
    _QUERY
    + """
local at, size, chosen = sortable(tonumber(ARGV[1])), tonumber(ARGV[2]), ARGV[3] == 'chosen'
local last = '\\255\\255'

local function first(from)
  return redis.call('ZRANGEBYLEX', due, from, '+', 'LIMIT', 0, 1)[1]
end

local function queues(priority)
  local found = {}
  if chosen then
    for agent = 4, #ARGV do found[#found + 1] = priority .. sized(ARGV[agent]) end
    return found
  end
  local entry = first('[' .. priority)
  while entry and string.sub(entry, 1, 8) == priority do
    found[#found + 1] = string.sub(entry, 1, 12 + struct.unpack('>I4', entry, 9))
    entry = first('[' .. found[#found] .. last)
  end
  return found
end

local function candidates(priority, most)
  local found = {}
  for _, queue in ipairs(queues(priority)) do
    local range = redis.call('ZRANGEBYLEX', due, '[' .. queue, '[' .. queue .. at .. last, 'LIMIT', 0, most)
    for _, entry in ipairs(range) do
      local start = #queue + 1
      local bytes = string.char(string.byte(entry, start) - 128) .. string.sub(entry, start + 1, start + 7)
      found[#found + 1] = {entry = entry, run = string.sub(entry, start + 8), due_at = struct.unpack('>d', bytes)}
    end
  end
  table.sort(found, function(one, other) return one.due_at < other.due_at end)
  while #found > most and found[#found].due_at > found[most].due_at do found[#found] = nil end
  return found
end

-- The rows of `found`; nil where an entry was not of a run that is due so: programs of earlier versions do not take them away.
local function confirmed(found)
  local ids = {}
  for place, one in ipairs(found) do ids[place] = one.run end
  local answer, wrong = rows(ids), false
  for place, one in ipairs(found) do
    local text, count = answer[2 * place - 1], tonumber(answer[2 * place] or 0)
    if not text or due_entry(one.run, standing(text, count)) ~= one.entry then
      redis.call('ZREM', due, one.entry)
      adopt(one.run)
      wrong = true
    end
  end
  return not wrong and answer or nil
end

local answer, entry = {}, first('-')
while entry and #answer < 2 * size do
  local priority = string.sub(entry, 1, 8)
  local page
  repeat page = confirmed(candidates(priority, size - #answer / 2)) until page
  for _, value in ipairs(page) do answer[#answer + 1] = value end
  entry = first('[' .. priority .. last)
end
return settled() and answer
"""
)

ATTACH = Script(
    _HEAD
    + """
if redis.call('HEXISTS', runs, ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[4], ARGV[2], ARGV[3])
return 1
"""
)

ATTACHMENT = Script(_HEAD + "return redis.call('HGET', KEYS[4], ARGV[1])")

# Without a time, whatever the runs are; else those that still have the status, last updated before it.
DELETE = Script(
    _INDEXES
    + """
local before, status, deleted = tonumber(ARGV[1]), ARGV[2], 0
for at = 3, #ARGV do
  local run = ARGV[at]
  local stored = redis.call('HGET', runs, run)
  local was = stored and standing(stored, posted(run)) or nil
  if not before or (was and was.updated_at < before and was.status == status) then
    put(run, was or NOWHERE, NOWHERE)
    redis.call('HDEL', runs, run)
    redis.call('HDEL', signals, run)
    redis.call('UNLINK', KEYS[3 * at + 6], KEYS[3 * at + 7], KEYS[3 * at + 8])
    deleted = deleted + 1
  end
end
return deleted
"""
)
