-- Take part in a state: write its schema (KEYS[1]) and its epoch (KEYS[2]) if it is empty, return what is there.
redis.call('SET', KEYS[1], ARGV[1], 'NX')
redis.call('SET', KEYS[2], ARGV[2], 'NX')
return {redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])}
