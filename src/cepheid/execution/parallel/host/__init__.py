"""Operator instances as processes; what is said between them and the splitter travels through shared memory."""
