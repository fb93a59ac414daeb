"""Two reports side by side: what differs, the most telling first, and what of it a finding rests on. Pure."""
