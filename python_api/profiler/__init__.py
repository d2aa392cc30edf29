"""Looking inside a running program: times by operator, memory, traces, the log, and advice on what could be in place."""
from python_api.profiler.averages import Averages, Row
from python_api.profiler.profile import Event, RecordEvent, profile

__all__ = ["Averages", "Event", "RecordEvent", "Row", "profile"]
