-- Try the gates of rules in order; return the index of the first that opens, or -1.
-- KEYS: counters and state. ARGV: the state to go by, then of each gate: counter, times, state, new state.
-- A state is written with = in front; an empty text stands for none.
local state = ARGV[1]
redis.call('EXPIRE', KEYS[1], 86400)
for at = 2, #ARGV, 4 do
  local counter, times, wanted, becomes = unpack(ARGV, at, at + 3)
  local opens = true
  if wanted ~= '' then
    if state == '' then state = '=' .. (redis.call('HGET', KEYS[1], 'state') or 'start') end
    opens = state == wanted
  end
  if opens and times ~= '' then
    opens = redis.call('HINCRBY', KEYS[1], counter, 1) <= tonumber(times)
    redis.call('EXPIRE', KEYS[1], 86400)
  end
  if opens then
    if becomes ~= '' then
      redis.call('HSET', KEYS[1], 'state', string.sub(becomes, 2))
      redis.call('EXPIRE', KEYS[1], 86400)
    end
    return (at - 2) / 4
  end
end
return -1
