-- Change what a namespace has of its own, unless it has changed since it was read; forget counters; tell all members.
-- KEYS: own, counters, recent counters, those before them, rev, changed.
-- ARGV: namespace, rev at which it was read, content, channel, prefix, most namespaces, counters to forget ...
-- Returns the new rev; 0 if it has changed.
if (tonumber(redis.call('HGET', KEYS[1], 'rev') or 0) or 0) ~= tonumber(ARGV[2]) then return 0 end
local rev = redis.call('INCR', KEYS[5])
redis.call('HSET', KEYS[1], 'rev', rev, 'content', ARGV[3])
redis.call('HSET', KEYS[6], ARGV[1], rev)
for at = 7, #ARGV do
  for hash = 2, 4 do redis.call('HDEL', KEYS[hash], ARGV[at]) end
end
for _, key in ipairs({KEYS[1], KEYS[5], KEYS[6]}) do redis.call('EXPIRE', key, 86400) end
if redis.call('HLEN', KEYS[6]) > tonumber(ARGV[6]) then -- a tenth is forgotten: those that were used longest ago
  local spaces = {}
  for _, space in ipairs(redis.call('HKEYS', KEYS[6])) do
    local left = redis.call('PTTL', ARGV[5] .. ':own:' .. space)
    if space ~= 'default' and space ~= ARGV[1] then spaces[#spaces + 1] = {left, space} end
  end
  table.sort(spaces, function(one, other) return one[1] < other[1] end)
  for at = 1, math.ceil(#spaces / 10) do
    redis.call('HDEL', KEYS[6], spaces[at][2])
    for name in string.gmatch('own a b c m n o z', '%a+') do
      redis.call('DEL', ARGV[5] .. ':' .. name .. ':' .. spaces[at][2])
    end
  end
  rev = redis.call('INCR', KEYS[5]) -- members miss a rev, so they read again what has changed
end
redis.call('PUBLISH', ARGV[4], rev .. ' ' .. ARGV[1])
return rev
