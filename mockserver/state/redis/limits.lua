-- Buckets and slots. KEYS: buckets (when each is full), slots (when each ends), queue (in order of arrival).
-- ARGV: what to do (enter, take, look, leave, renew), most slots (-1: any number), most waiting, seconds that a slot
-- lasts without renewal, most buckets, place; then places to renew, or of each draw: bucket, window, amount.
local buckets, slots, queue = KEYS[1], KEYS[2], KEYS[3]
local order, most, waiting, lasts = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local place, HAIR = ARGV[6], 1e-6
local time = redis.call('TIME')
local now = time[1] + time[2] / 1e6

local function precise(number) return string.format('%.17g', number) end

local function fill() -- free slots go to those that have waited longest
  redis.call('ZREMRANGEBYSCORE', slots, '-inf', now)
  local free = redis.call('ZCARD', queue)
  if most >= 0 then free = math.min(free, most - redis.call('ZCARD', slots)) end
  if free > 0 then
    local first = redis.call('ZPOPMIN', queue, free)
    for at = 1, #first, 2 do redis.call('ZADD', slots, precise(now + lasts), first[at]) end
  end
end

local function draw() -- all or nothing, and what is taken may leave a debt; of each bucket the seconds until it is full
  local full, waits, refused = {}, {}, false
  for at = 7, #ARGV, 3 do
    local window, amount = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local when = math.max(tonumber(redis.call('ZSCORE', buckets, ARGV[at]) or now), now)
    refused = refused or order == 'enter' and when + amount > now + HAIR + window
    full[#full + 1] = when
    waits[#waits + 1] = math.max(when - now + amount, 0)
  end
  for at = 1, #full do
    if refused then
      waits[at] = full[at] - now
    else
      redis.call('ZADD', buckets, precise(now + waits[at]), ARGV[4 + 3 * at])
    end
    waits[at] = precise(waits[at])
  end
  if redis.call('ZCARD', buckets) > tonumber(ARGV[5]) then
    redis.call('ZREMRANGEBYSCORE', buckets, '-inf', precise(now))
    redis.call('ZPOPMIN', buckets, math.max(redis.call('ZCARD', buckets) - tonumber(ARGV[5]), 0))
  end
  return not refused, waits
end

local result, waits = 'entered', {}
if order == 'renew' then
  for at = 7, #ARGV do redis.call('ZADD', slots, precise(now + lasts), ARGV[at]) end
elseif order == 'leave' then
  redis.call('ZREM', slots, place)
  redis.call('ZREM', queue, place)
  fill()
elseif order == 'look' then
  fill()
  if redis.call('ZSCORE', slots, place) then
    redis.call('ZADD', slots, precise(now + lasts), place)
  else
    result = redis.call('ZSCORE', queue, place) and 'queued' or 'no_room'
  end
else
  if place ~= '' then
    fill()
    if redis.call('ZCARD', slots) >= most or redis.call('ZCARD', queue) > 0 then
      result = redis.call('ZCARD', queue) < waiting and 'queued' or 'no_room'
    end
  end
  if result ~= 'no_room' then
    local drawn
    drawn, waits = draw()
    if not drawn then
      result = 'empty'
    elseif result == 'queued' then
      local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2] or 0
      redis.call('ZADD', queue, last + 1, place)
    elseif place ~= '' then
      redis.call('ZADD', slots, precise(now + lasts), place)
    end
  end
end
for _, each in ipairs(KEYS) do redis.call('EXPIRE', each, 86400) end
table.insert(waits, 1, result)
return waits
