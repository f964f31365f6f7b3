-- Add one to a counter and return it. KEYS: counters in use, those before them. ARGV: the counter, how many are in use.
-- When so many are in use they become those before, so the latest are always there, at constant cost.
local count = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or redis.call('HGET', KEYS[2], ARGV[1]) or 0) + 1
if redis.call('HSET', KEYS[1], ARGV[1], count) == 1 and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[2]) then
  redis.call('RENAME', KEYS[1], KEYS[2])
end
redis.call('EXPIRE', KEYS[1], 86400)
redis.call('EXPIRE', KEYS[2], 86400)
return count
