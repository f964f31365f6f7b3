"""How an answer is sent: a reply becomes actions, faults change them, one driver performs them."""
