int right(void) { return 4; }
