-- Renew a member's lease, or give it a slot: its own if nobody has it, else the least free one.
-- KEYS: fleet, slots, numbers, rev, changed, acks, reloads. ARGV: slot (-1: none), token, lease in ms, known rev, last number.
-- Returns: slot, whether it is new, its last number, reloads, rev, and if that is not the known one, what changed when.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. now)
local slot, joined = tonumber(ARGV[1]), 0
if slot < 0 or redis.call('HGET', KEYS[2], slot) ~= ARGV[2] then
  slot, joined = 0, 1
  while redis.call('ZSCORE', KEYS[1], slot) do slot = slot + 1 end
  redis.call('HSET', KEYS[2], slot, ARGV[2])
  redis.call('HSET', KEYS[6], slot, 0)
end
redis.call('ZADD', KEYS[1], now + ARGV[3], slot)
local last = tonumber(redis.call('HGET', KEYS[3], slot) or 0)
if joined == 0 then
  redis.call('HSET', KEYS[3], slot, ARGV[5])
  redis.call('HSET', KEYS[6], slot, ARGV[4]) -- the acknowledgement of it may have been lost
end
local rev = tonumber(redis.call('GET', KEYS[4]) or 0)
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, 86400) end
return {slot, joined, last, tonumber(redis.call('GET', KEYS[7]) or 0), rev, rev ~= tonumber(ARGV[4]) and redis.call('HGETALL', KEYS[5]) or {}}
