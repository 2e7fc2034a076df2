int left(void) { return 3; }
