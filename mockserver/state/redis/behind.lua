-- Return the slots of the members with a lease that have not acknowledged a rev. KEYS: fleet, acks, rev. ARGV: rev.
-- A member that has acknowledged more than there is does not know yet that a failover lost the latest changes.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local latest, behind = tonumber(redis.call('GET', KEYS[3]) or 0), {}
for _, slot in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], now, '+inf')) do
  local known = tonumber(redis.call('HGET', KEYS[2], slot) or 0)
  if known < tonumber(ARGV[1]) or known > latest then behind[#behind + 1] = tonumber(slot) end
end
return behind
