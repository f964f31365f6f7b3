"""What several test families share: servers in this process and in processes of their own."""
