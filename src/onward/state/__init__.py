"""`fold`: events → state. `decide`: plan + state → actions. Pure: no clock, no files, no processes."""
