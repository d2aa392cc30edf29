"""Looking inside a running program: times by operator, memory, traces, the log, and advice on what could be in place."""
from python_api.profiler.advisor import Advice, Harm, inplace_advisor
from python_api.profiler.averages import Averages, Row
from python_api.profiler.profile import Event, RecordEvent, profile

__all__ = ["Advice", "Averages", "Event", "Harm", "RecordEvent", "Row", "inplace_advisor", "profile"]
