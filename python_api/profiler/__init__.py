"""Looking inside a running program: times by operator, memory, traces, the log, and advice on what could be in place."""
from python_api.profiler.advisor import Advice, Harm, inplace_advisor
from python_api.profiler.averages import Averages, Row
from python_api.profiler.profile import Event, RecordEvent, profile
from python_api.vlog import get_vlog_level, set_vlog_level

__all__ = ["Advice", "Averages", "Event", "Harm", "RecordEvent", "Row", "get_vlog_level", "inplace_advisor", "profile", "set_vlog_level"]
