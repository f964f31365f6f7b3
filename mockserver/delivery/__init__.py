"""How it goes out: a reply becomes actions, faults bend them, one driver performs them."""
