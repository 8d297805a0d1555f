"""What a worker says to its keeper, a byte each, and how the keeper answers."""

from __future__ import annotations

import struct

LOOK_AT_DEADLINE = b"d"  # the call in flight ends sooner than the keeper would look; not answered
TAKE_OUTPUT = b"o"  # take all output there is
SWEEP = b"s"  # end what the call in flight left running, then take all output

ANSWER = struct.Struct("<QQI")  # bytes of out and err of the call, processes that could not be ended
