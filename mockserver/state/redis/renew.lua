-- Renew a member's lease, or give it a slot: the one it had if that is free, else the least free one.
-- KEYS: fleet, slots, numbers, rev, changed, acks, reloads, files, schema, epoch; what namespaces in use have of their own.
-- ARGV: slot (-1: none), token, lease in ms, known rev, last number, files, epoch.
-- Returns: the slot; if it is new, the number before its first one, else -1; reloads; rev; if that is not the known one,
-- what changed when; all slots, each with its files. Nothing, if the epoch is another.
if redis.call('GET', KEYS[10]) ~= ARGV[7] then return {} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. now)
local slot, number, known = tonumber(ARGV[1]), ARGV[5], ARGV[4]
local joined = slot < 0 or redis.call('HGET', KEYS[2], slot) ~= ARGV[2]
if joined then
  if slot < 0 or redis.call('ZSCORE', KEYS[1], slot) then
    slot = 0
    while redis.call('ZSCORE', KEYS[1], slot) do slot = slot + 1 end
  end
  local last = redis.call('HGET', KEYS[3], slot) -- of the member before, which may have used many more since
  number, known = last and (math.floor(last / 100000) + 1) * 100000 or 0, 0
  redis.call('HSET', KEYS[2], slot, ARGV[2])
end
redis.call('ZADD', KEYS[1], now + ARGV[3], slot)
redis.call('HSET', KEYS[3], slot, number)
redis.call('HSET', KEYS[6], slot, known) -- an acknowledgement may have been lost
redis.call('HSET', KEYS[8], slot, ARGV[6])
for _, key in ipairs(KEYS) do redis.call('EXPIRE', key, 86400) end
local rev, slots = math.max(tonumber(redis.call('GET', KEYS[4]) or 0), 0), redis.call('ZRANGE', KEYS[1], 0, -1)
return {slot, joined and number or -1, tonumber(redis.call('GET', KEYS[7]) or 0), rev,
  rev ~= tonumber(ARGV[4]) and redis.call('HGETALL', KEYS[5]) or {}, slots, redis.call('HMGET', KEYS[8], unpack(slots))}
