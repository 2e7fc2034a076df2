"""Many builds: remote cache and execution, shards, watch."""
