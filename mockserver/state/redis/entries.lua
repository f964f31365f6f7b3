-- Return all fields of some hashes and their values, later hashes behind earlier ones.
local found = {}
for _, key in ipairs(KEYS) do
  for _, each in ipairs(redis.call('HGETALL', key)) do found[#found + 1] = each end
end
return found
