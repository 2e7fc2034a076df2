"""The validation protocol: how the vendor's host programs and validation firmware talk, from the host's side."""
