-- Return all values, oldest first. KEYS: values, their order.
local found = {}
for _, key in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  found[#found + 1] = redis.call('HGET', KEYS[1], key)
end
return found
