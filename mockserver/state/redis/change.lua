-- Change what a namespace has of its own, unless it has changed since it was read; forget counters; tell all members.
-- KEYS: own, counters, recent counters, those before them, rev, changed.
-- ARGV: namespace, rev at which it was read, content, channel, counters to forget ...
-- Returns the new rev; 0 if it has changed.
if tonumber(redis.call('HGET', KEYS[1], 'rev') or 0) ~= tonumber(ARGV[2]) then return 0 end
local rev = redis.call('INCR', KEYS[5]) -- a full Redis refuses it, before anything is changed
redis.call('HSET', KEYS[1], 'rev', rev, 'content', ARGV[3])
redis.call('HSET', KEYS[6], ARGV[1], rev)
for at = 5, #ARGV do
  for hash = 2, 4 do redis.call('HDEL', KEYS[hash], ARGV[at]) end
end
for _, key in ipairs({KEYS[1], KEYS[5], KEYS[6]}) do redis.call('EXPIRE', key, 86400) end
redis.call('PUBLISH', ARGV[4], rev .. ' ' .. ARGV[1])
return rev
