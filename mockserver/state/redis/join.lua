-- Take part in a state: write its schema (KEYS[1]) and its epoch (KEYS[2]) if it is empty, return what is there.
for at = 1, 2 do -- a full Redis refuses any SET, even one that changes nothing
  if redis.call('EXISTS', KEYS[at]) == 0 then redis.call('SET', KEYS[at], ARGV[at]) end
end
return {redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])}
