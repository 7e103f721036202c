"""Processes that work for this one on the same machine: messages over a socket, what is large in shared memory."""
