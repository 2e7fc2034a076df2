"""The units that streams run through, one file each."""
