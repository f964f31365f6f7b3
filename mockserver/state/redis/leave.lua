-- End a member's lease, if it still has its slot. KEYS: fleet, slots. ARGV: slot, token.
if redis.call('HGET', KEYS[2], ARGV[1]) == ARGV[2] then redis.call('ZREM', KEYS[1], ARGV[1]) end
