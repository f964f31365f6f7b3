-- Keep a value as the newest, or replace it in its place if it still has this version; evict the oldest beyond bounds.
-- KEYS: values, their order, their sizes. ARGV: key, value, version (empty: the newest), size, most values, most bytes.
-- A value is written with its version in front. Returns 1, or 0 where the version is another by now.
local values, order, sizes = KEYS[1], KEYS[2], KEYS[3]
local key, version, size = ARGV[1], ARGV[3], tonumber(ARGV[4])

local function drop(key)
  local size = redis.call('HGET', sizes, key)
  if size then
    redis.call('HINCRBY', sizes, ' all', 0 - size) -- not -size: Redis reads no -0
    redis.call('HDEL', sizes, key)
    redis.call('HDEL', values, key)
    redis.call('ZREM', order, key)
  end
end

local place = false
if version ~= '' then
  local old = redis.call('HGET', values, key)
  if not old or string.match(old, '^%d+') ~= version then return 0 end
  place = redis.call('ZSCORE', order, key)
end
drop(key)
if place or size <= tonumber(ARGV[6]) then
  local latest = redis.call('HINCRBY', sizes, ' latest', 1)
  redis.call('HSET', values, key, latest .. ' ' .. ARGV[2])
  redis.call('HSET', sizes, key, size)
  redis.call('HINCRBY', sizes, ' all', size)
  redis.call('ZADD', order, place or latest, key)
end
while redis.call('ZCARD', order) > tonumber(ARGV[5])
  or tonumber(redis.call('HGET', sizes, ' all') or 0) > tonumber(ARGV[6]) do
  drop(redis.call('ZRANGE', order, 0, 0)[1])
end
for _, each in ipairs(KEYS) do redis.call('EXPIRE', each, 86400) end
return 1
