-- Return the slots of the members with a lease that have not acknowledged a rev. KEYS: fleet, acks. ARGV: rev.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local behind = {}
for _, slot in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], now, '+inf')) do
  if tonumber(redis.call('HGET', KEYS[2], slot) or 0) < tonumber(ARGV[1]) then behind[#behind + 1] = tonumber(slot) end
end
return behind
